/**
 * The copying half of a checkpoint, for both RocksDB stores: a list of files becomes a new
 * directory.
 *
 * Immutable files are hard-linked (copied where the filesystem refuses), the rest copied up to the
 * length that belongs to the state and synced. The directory appears under its name by a rename,
 * after everything in it is durable, so a name that is there is a whole checkpoint.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import {dirname, join} from 'node:path';
import {StoreFailure} from '../store.ts';

/** One file of a consistent state of a database. */
export interface LiveFile {
  /** Relative to the database's directory. */
  readonly name: string;
  /** How much of it belongs to the state; it may have grown since. */
  readonly bytes: number;
  /** The file never changes once it is there, so a link is a copy. */
  readonly immutable: boolean;
  /** What the copy holds instead of the file's present contents. */
  readonly contents?: string;
}

const copyBytes = 1 << 20;

/** The files changed while they were copied; the copy is thrown away and may be tried again. */
export class CheckpointMoved extends Error {
  override readonly name = 'CheckpointMoved';
}

/**
 * Builds `target`, which must not exist, from `files` of `source`. `isStill` is asked before the
 * name appears; where it says no, CheckpointMoved is thrown and nothing is left.
 */
export function buildCheckpoint(
  source: string,
  target: string,
  files: readonly LiveFile[],
  isStill: () => boolean = () => true,
): void {
  if (existsSync(target)) throw new StoreFailure('other', `${target} exists`);
  const partial = `${target}.partial`;
  rmSync(partial, {recursive: true, force: true});
  mkdirSync(partial, {recursive: true});
  for (const file of files) placeFile(source, partial, file);
  syncPath(partial);
  if (!isStill()) {
    rmSync(partial, {recursive: true, force: true});
    throw new CheckpointMoved('the files changed while they were copied');
  }
  renameSync(partial, target);
  syncPath(dirname(target));
}

/** Makes the contents of a file, or the names in a directory, durable. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function placeFile(source: string, target: string, file: LiveFile): void {
  const from = join(source, file.name);
  const to = join(target, file.name);
  if (file.contents !== undefined) writeFileSync(to, file.contents);
  else if (file.immutable) return linkOrCopy(from, to);
  else copyPrefix(from, to, file.bytes);
  syncPath(to);
}

function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'EMLINK') throw error;
    copyFileSync(from, to);
    syncPath(to);
  }
}

function copyPrefix(from: string, to: string, bytes: number): void {
  const input = openSync(from, 'r');
  const output = openSync(to, 'wx');
  try {
    const buffer = Buffer.allocUnsafe(Math.min(copyBytes, bytes));
    for (let done = 0; done < bytes; ) {
      const count = readSync(input, buffer, 0, Math.min(buffer.length, bytes - done), done);
      if (count === 0) throw new StoreFailure('io', `${from} is shorter than ${bytes} bytes`);
      writeSync(output, buffer, 0, count);
      done += count;
    }
  } finally {
    closeSync(input);
    closeSync(output);
  }
}
