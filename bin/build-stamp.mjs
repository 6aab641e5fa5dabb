/**
 * Content stamps: a build step runs again when the bytes it reads have changed, not their times.
 *
 * A stamp is a hash over the paths and contents of all inputs and over whatever else shapes the
 * output (flags, versions). It lies beside the output and is written last, so that a step that was
 * broken off runs again.
 */
import {createHash} from 'node:crypto';
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';

/** Hashes `files` (paths, in their given order) and `extras` (strings). */
export function stampOf(files, extras) {
  const hash = createHash('sha256');
  for (const extra of extras) hash.update(`${extra}\0`);
  for (const file of files) hash.update(`${file}\0`).update(readFileSync(file));
  return hash.digest('hex');
}

/** Whether `stampPath` holds `stamp` and all of `outputs` are there. */
export function isCurrent(stampPath, stamp, outputs) {
  if (![stampPath, ...outputs].every(path => existsSync(path))) return false;
  return readFileSync(stampPath, 'utf8') === stamp;
}

/**
 * Paths of all files under `folder` that `accepts` says yes to, sorted; none where it is absent.
 */
export function filesUnder(folder, accepts) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, {recursive: true, withFileTypes: true})
    .filter(entry => entry.isFile() && accepts(entry.name))
    .map(entry => join(entry.parentPath ?? entry.path, entry.name))
    .sort();
}
