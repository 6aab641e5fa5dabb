/**
 * Another release of this source, for tests of upgrades until there are two: the same bundle with
 * another version in it and, of a minor release, one more format level.
 */
import {execFileSync} from 'node:child_process';
import {cpSync, globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {formatLevels} from '#server/engine/formats/levels.ts';
import {version} from '#server/node/version.ts';

const repository = resolve(import.meta.dirname, '../../..');
const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);

/** The release after this one that brings a format level. */
export const nextMinor = `${major}.${minor + 1}.1`;
/** A patch of this one, which writes the same format. */
export const nextPatch = `${major}.${minor}.${patch + 1}`;

/**
 * Makes it in `directory`, which must not exist, as an installation has it: without sources.
 *
 * @returns The path of its `bin/svc`.
 */
export function makeRelease(directory: string, release: string): string {
  // What this release is: that of its sources as they are now.
  execFileSync(process.execPath, ['bin/prepare.mjs', '--strict', '--quiet'], {cwd: repository});
  mkdirSync(directory, {recursive: true});
  for (const copied of ['bin', 'dist', 'package.json']) {
    cpSync(join(repository, copied), join(directory, copied), {recursive: true});
  }
  for (const shared of ['node_modules', 'build']) {
    symlinkSync(join(repository, shared), join(directory, shared));
  }
  change(directory, `"${version}"`, `"${release}"`);
  if (release !== nextMinor) return join(directory, 'bin/svc');
  const level = {level: formatLevels.length + 1, since: `${major}.${minor + 1}`};
  change(directory, /(?<=\bformatLevels = \[[^\]]*)\]/, `, ${JSON.stringify(level)}]`);
  return join(directory, 'bin/svc');
}

/** Edits the files of a release; at least one must have what is replaced. */
function change(directory: string, from: string | RegExp, to: string): void {
  const files = globSync(['package.json', 'dist/*.mjs'], {cwd: directory});
  const edited = files.filter(file => {
    const path = join(directory, file);
    const before = readFileSync(path, 'utf8');
    const after = before.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to);
    if (after !== before) writeFileSync(path, after);
    return after !== before;
  });
  if (edited.length === 0) throw new Error(`no file has ${String(from)}`);
}
