/**
 * A file system of few bytes (tmpfs with a limit) that somebody else fills up and empties again.
 */
import {execFileSync} from 'node:child_process';
import {appendFileSync, mkdirSync, rmSync, statfsSync} from 'node:fs';
import {join} from 'node:path';

const chunkBytes = 1 << 20;

export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** Undefined where this machine lets us make none. */
  static mount(path: string, bytes: number): SmallDisk | undefined {
    mkdirSync(path, {recursive: true});
    const words = ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', path];
    try {
      execFileSync('mount', words, {stdio: 'ignore'});
    } catch {
      return undefined;
    }
    return new SmallDisk(path);
  }

  get freeBytes(): number {
    const {bavail, bsize} = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Another user of the disk takes everything but `left` bytes. */
  fill(left: number): void {
    const chunk = Buffer.alloc(chunkBytes, 1);
    for (let free = this.freeBytes; free > left; free = this.freeBytes) {
      appendFileSync(this.#ballast, chunk.subarray(0, Math.min(chunkBytes, free - left)));
    }
  }

  /** Gives back what `fill` took. */
  empty(): void {
    rmSync(this.#ballast, {force: true});
  }

  unmount(): void {
    execFileSync('umount', [this.path]);
  }

  get #ballast(): string {
    return join(this.path, 'ballast');
  }
}
