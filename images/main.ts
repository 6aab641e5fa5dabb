/**
 * `make images`: writes dist/images/NAME.tar and its bill of materials, NAME.cdx.json, for every
 * image of the table, and prints name, size and digest of each.
 *
 * An image whose sources are not in this version is named and left out. Exit code 1 when one cannot
 * be built.
 */
import {spawnSync} from 'node:child_process';
import {existsSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {type BuiltImage, buildImage, type Release} from './build-image.ts';
import {imageTable} from './image-table.ts';
import type {Layer} from './layer.ts';
import type {Machine} from './runtime-files.ts';
import {writeImage} from './write-image.ts';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'dist/images');

async function main(): Promise<void> {
  const release = readRelease();
  const packed = new Map<string, Layer>();
  for (const row of imageTable) {
    const missing = row.sources.find(path => !existsSync(join(root, path)));
    if (missing !== undefined) {
      console.log(`svc/${row.name}: not in this version, which has no ${missing}`);
      continue;
    }
    const built = await buildImage(row, {root, architecture: architecture()}, release, packed);
    writeImage(folder, row.name, built);
    console.log(describe(built, `dist/images/${row.name}.tar`));
  }
}

function describe(image: BuiltImage, path: string): string {
  const sizes = `${megabytes(image.compressedBytes)} (${megabytes(image.unpackedBytes)} unpacked)`;
  return `${image.name}  ${sizes}  ${image.digest}  ${path}`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A source tree without its history says by SOURCE_DATE_EPOCH when it was made. */
function readRelease(): Release {
  const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    version: string;
  };
  const told = process.env['SOURCE_DATE_EPOCH'];
  const seconds = told ?? git(['log', '-1', '--format=%ct']) ?? '0';
  const revision = process.env['SVC_REVISION'] ?? git(['rev-parse', 'HEAD']) ?? 'unknown';
  return {version, revision, created: new Date(Number(seconds) * 1_000)};
}

function git(args: readonly string[]): string | undefined {
  const {status, stdout} = spawnSync('git', args, {cwd: root, encoding: 'utf8'});
  return status === 0 ? stdout.trim() : undefined;
}

function architecture(): Machine['architecture'] {
  if (process.arch === 'x64' || process.arch === 'arm64') return process.arch;
  throw new Error(`there is no image for processors of the kind ${process.arch}`);
}

await main();
