/**
 * Finds which installed packages a program needs at run time, from the lockfile alone: the closure
 * of some names over `dependencies`, resolved as Node.js does, from the inside outwards.
 */
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {copiedTree, type ImageFile} from './image-file.ts';

export interface NpmPackage {
  /** `node_modules/express`, from the root of the checkout. */
  readonly path: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | undefined;
  /** The checksum of the archive that npm installed: `sha512-` and base64. */
  readonly integrity: string | undefined;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export type Lockfile = Readonly<Record<string, LockedPackage>>;

export function readLockfile(root: string): Lockfile {
  const {packages} = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Lockfile;
  };
  return packages;
}

/** Everything that `names` need, themselves included, in the order of the paths. */
export function packageClosure(lockfile: Lockfile, names: readonly string[]): NpmPackage[] {
  const found = new Map<string, NpmPackage>();
  const visit = (name: string, from: string): void => {
    const path = resolved(lockfile, name, from);
    if (found.has(path)) return;
    const {version = '', license, integrity, dependencies = {}} = lockfile[path] ?? {};
    const real = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    found.set(path, {path, name: real, version, license, integrity});
    for (const dependency of Object.keys(dependencies)) visit(dependency, path);
  };
  for (const name of names) visit(name, '');
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** What the packages hold, but for what only people and compilers read. */
export function packageFiles(
  root: string,
  packages: readonly NpmPackage[],
  to: string,
): ImageFile[] {
  const accepts = (name: string): boolean =>
    name !== 'node_modules' &&
    (/licen[cs]e/i.test(name) || !/\.(?:md|markdown|map|[cm]?ts)$/i.test(name)) &&
    !/^test(s)?$/.test(name);
  return packages.flatMap(({path}) => copiedTree(join(root, path), join(to, path), accepts));
}

function resolved(lockfile: Lockfile, name: string, from: string): string {
  for (let folder = from; ; ) {
    const path = `${folder === '' ? '' : `${folder}/`}node_modules/${name}`;
    if (path in lockfile) return path;
    if (folder === '') throw new Error(`package-lock.json has no ${name}, which ${from} needs`);
    const end = folder.lastIndexOf('/node_modules/');
    folder = end < 0 ? '' : folder.slice(0, end);
  }
}
