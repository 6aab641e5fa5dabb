/**
 * How often and for how long a log waited for its disk: a disk that counts the syncs of its files
 * into memory that the threads of a log share.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Disk, File} from '#server/platform/disk.ts';

const countAt = 0;
const microsAt = 1;

export class LogSyncs {
  readonly memory: SharedArrayBuffer;
  readonly #words: BigInt64Array;

  /** @param memory - Of another thread's, whose syncs are counted together with these. */
  constructor(memory: SharedArrayBuffer = new SharedArrayBuffer(16)) {
    this.memory = memory;
    this.#words = new BigInt64Array(memory);
  }

  get count(): number {
    return Number(Atomics.load(this.#words, countAt));
  }

  get seconds(): number {
    return Number(Atomics.load(this.#words, microsAt)) / 1e6;
  }

  add(milliseconds: number): void {
    Atomics.add(this.#words, countAt, 1n);
    Atomics.add(this.#words, microsAt, BigInt(Math.round(milliseconds * 1_000)));
  }

  /** The same disk; what is synced through it is counted here. */
  counting(disk: Disk, clock: Clock): Disk {
    return {
      open: (path, mode) => new CountedFile(disk.open(path, mode), clock, this),
      exists: path => disk.exists(path),
      list: directory => disk.list(directory),
      rename: (from, to) => disk.rename(from, to),
      link: (from, to) => disk.link(from, to),
      unlink: path => disk.unlink(path),
      makeDirectory: path => disk.makeDirectory(path),
      removeTree: path => disk.removeTree(path),
      syncDirectory: path => disk.syncDirectory(path),
      freeBytes: path => disk.freeBytes(path),
    };
  }
}

class CountedFile implements File {
  readonly path: string;
  readonly #file: File;
  readonly #clock: Clock;
  readonly #syncs: LogSyncs;

  constructor(file: File, clock: Clock, syncs: LogSyncs) {
    this.path = file.path;
    this.#file = file;
    this.#clock = clock;
    this.#syncs = syncs;
  }

  readAt(target: Uint8Array, offset: number): number {
    return this.#file.readAt(target, offset);
  }

  writeAt(source: Uint8Array, offset: number): void {
    this.#file.writeAt(source, offset);
  }

  sync(): void {
    const begunAt = this.#clock.monotonic();
    this.#file.sync();
    this.#syncs.add(this.#clock.monotonic() - begunAt);
  }

  preallocate(size: number): void {
    this.#file.preallocate(size);
  }

  truncate(size: number): void {
    this.#file.truncate(size);
  }

  size(): number {
    return this.#file.size();
  }

  close(): void {
    this.#file.close();
  }
}
