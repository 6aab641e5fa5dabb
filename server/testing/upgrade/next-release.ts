/**
 * Another release of this source, for tests of upgrades until there are two: the same files with
 * another version and, of a minor release, one more format level. It runs from a bundle of its own.
 */
import {execFileSync} from 'node:child_process';
import {cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {formatLevels} from '#server/engine/formats/levels.ts';
import {version} from '#server/node/version.ts';

const repository = resolve(import.meta.dirname, '../../..');
const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);

/** The release after this one that brings a format level. */
export const nextMinor = `${major}.${minor + 1}.1`;
/** A patch of this one, which writes the same format. */
export const nextPatch = `${major}.${minor}.${patch + 1}`;

const bundle = `import {buildBundle} from './bin/build-bundle.mjs';
  await buildBundle(process.cwd());`;

/**
 * Makes it in `directory`, which must not exist; about two seconds.
 *
 * @returns The path of its `bin/svc`.
 */
export function makeRelease(directory: string, release: string): string {
  mkdirSync(directory, {recursive: true});
  cpSync(join(repository, 'server'), join(directory, 'server'), {
    recursive: true,
    filter: path => !/\/(testing|simulation)(\/|$)|\.test\.ts$/.test(path),
  });
  cpSync(join(repository, 'bin'), join(directory, 'bin'), {recursive: true});
  for (const shared of ['node_modules', 'build']) {
    symlinkSync(join(repository, shared), join(directory, shared));
  }
  change(join(repository, 'package.json'), join(directory, 'package.json'), text =>
    text.replace(`"version": "${version}"`, `"version": "${release}"`),
  );
  const versionFile = join(directory, 'server/node/version.ts');
  change(versionFile, versionFile, text => text.replace(`'${version}'`, `'${release}'`));
  if (release === nextMinor) addLevel(join(directory, 'server/engine/formats/levels.ts'));
  execFileSync(process.execPath, ['--input-type=module', '--eval', bundle], {cwd: directory});
  return join(directory, 'bin/svc');
}

function addLevel(levels: string): void {
  const next = {level: formatLevels.length + 1, since: `${major}.${minor + 1}`};
  change(levels, levels, text =>
    text.replace(
      /(export const formatLevels: readonly FormatLevel\[\] = \[[^\]]*?),?\s*\];/,
      (_, before: string) => `${before}, ${JSON.stringify(next)}];`,
    ),
  );
}

function change(from: string, to: string, edit: (text: string) => string): void {
  const text = readFileSync(from, 'utf8');
  const edited = edit(text);
  if (edited === text) throw new Error(`${from} does not have what is to be changed in it`);
  writeFileSync(to, edited);
}
