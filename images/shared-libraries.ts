/**
 * Finds the shared libraries that programs need, with the loader's own answer (`ldd`), and which
 * Debian packages they come from.
 *
 * An image gets these files and no other part of a distribution: neither a shell nor a package
 * database, and nothing to patch that is not run.
 */
import {execFileSync} from 'node:child_process';
import {realpathSync} from 'node:fs';
import {copied, type ImageFile} from './image-file.ts';

export interface SharedLibrary {
  /** Where the loader looks for it; the same in the image. */
  readonly path: string;
  readonly from: DebianPackage;
}

export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
}

/** The closure over all of `programs`, in the order of the paths. */
export function sharedLibraries(programs: readonly string[]): SharedLibrary[] {
  const paths = new Set(programs.flatMap(librariesOf));
  return [...paths].sort().map(path => ({path, from: packageOf(path)}));
}

export function libraryFiles(libraries: readonly SharedLibrary[]): ImageFile[] {
  return libraries.map(({path}) => copied(path, path));
}

/** The terms under which Debian hands each package on. */
export function licenseFiles(libraries: readonly SharedLibrary[]): ImageFile[] {
  const names = [...new Set(libraries.map(({from}) => from.name))];
  return names.map(name => {
    const path = `/usr/share/doc/${name}/copyright`;
    return copied(path, path);
  });
}

function librariesOf(program: string): string[] {
  const listed = execFileSync('ldd', [program], {encoding: 'utf8'});
  const missing = /^\s*(\S+) => not found$/m.exec(listed)?.[1];
  if (missing !== undefined) throw new Error(`${program} needs ${missing}, which is not there`);
  return [...listed.matchAll(/^\s*(?:\S+ => )?(\/\S+) \(0x/gm)].map(([, path = '']) => path);
}

/** Debian's database knows a library by the path behind the links `/lib` and `/lib64`. */
function packageOf(library: string): DebianPackage {
  const known = [library, realpathSync(library), `/usr${library}`, library.replace(/^\/usr/, '')];
  for (const path of known) {
    const owner = asked(['-S', path])?.split(': ')[0];
    if (owner === undefined) continue;
    const format = ['-f', '${Package} ${Version} ${Architecture}'];
    const [name = '', version = '', architecture = ''] = (
      asked(['-W', ...format, owner]) ?? ''
    ).split(' ');
    return {name, version, architecture};
  }
  throw new Error(`no Debian package holds ${library}: images are built on Debian or Ubuntu`);
}

function asked(args: readonly string[]): string | undefined {
  try {
    return execFileSync('dpkg-query', args, {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return undefined;
  }
}
