/**
 * The real disk: Node's synchronous file calls behind the contract of ../disk.ts.
 *
 * Errors are Node's (with `code`, such as ENOSPC); callers decide what they mean. A short write
 * is continued, a short read is a file's end. After a failed sync the kernel may have dropped the
 * dirty pages, so the same File refuses every later sync (F1: a failure is final).
 */
import {
  closeSync,
  constants,
  existsSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statfsSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import {assert} from '#server/base/assert.ts';
import type {Disk, File, OpenMode} from '../disk.ts';

const flags: Record<Exclude<OpenMode, 'read'>, string> = {
  write: 'r+',
  create: 'a+',
  'create-new': 'wx+',
};
/**
 * Written once, so that its pages are there: the system copies from memory that was never touched
 * many times more slowly. Small, so that it stays in the processor's cache.
 */
const zeros = Buffer.allocUnsafeSlow(64 << 10).fill(0);

export function createDisk(): Disk {
  return {
    open: (path, mode) => new RealFile(path, openFile(path, mode)),
    exists: path => existsSync(path),
    list: directory => listDirectory(directory),
    rename: (from, to) => renameSync(from, to),
    link: (from, to) => linkSync(from, to),
    unlink: path => unlinkSync(path),
    makeDirectory: path => {
      mkdirSync(path, {recursive: true});
    },
    removeTree: path => rmSync(path, {recursive: true, force: true}),
    syncDirectory: path => syncDirectory(path),
    freeBytes: path => {
      const filesystem = statfsSync(path);
      return filesystem.bavail * filesystem.bsize;
    },
  };
}

/** Append mode would ignore offsets, so `create` makes the file first and opens it as `write`. */
function openFile(path: string, mode: OpenMode): number {
  if (mode === 'read') return openToRead(path);
  if (mode === 'create') closeSync(openSync(path, flags.create));
  return openSync(path, mode === 'create' ? flags.write : flags[mode]);
}

/** A directory or a pipe in the place of a file is refused: to open a pipe would wait for ever. */
function openToRead(path: string): number {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Error(`${path} is no regular file`);
}

function listDirectory(directory: string): string[] {
  try {
    return readdirSync(directory).sort();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function syncDirectory(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

class RealFile implements File {
  readonly path: string;
  readonly #descriptor: number;
  #open = true;
  #syncFailed = false;

  constructor(path: string, descriptor: number) {
    this.path = path;
    this.#descriptor = descriptor;
  }

  readAt(target: Uint8Array, offset: number): number {
    let done = 0;
    while (done < target.length) {
      const count = readSync(this.#live(), target, done, target.length - done, offset + done);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  writeAt(source: Uint8Array, offset: number): void {
    let done = 0;
    while (done < source.length) {
      done += writeSync(this.#live(), source, done, source.length - done, offset + done);
    }
  }

  sync(): void {
    assert(!this.#syncFailed, 'a file whose sync failed is not synced again');
    this.#syncFailed = true;
    fdatasyncSync(this.#live());
    this.#syncFailed = false;
  }

  preallocate(size: number): void {
    for (let at = this.size(); at < size; at += zeros.length) {
      this.writeAt(zeros.subarray(0, Math.min(zeros.length, size - at)), at);
    }
  }

  truncate(size: number): void {
    ftruncateSync(this.#live(), size);
  }

  size(): number {
    return fstatSync(this.#live()).size;
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    closeSync(this.#descriptor);
  }

  #live(): number {
    assert(this.#open, `${this.path} is closed`);
    return this.#descriptor;
  }
}
