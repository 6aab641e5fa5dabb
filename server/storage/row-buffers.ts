/**
 * Buffers of scans that wait for the next scan: a short one would spend more on the making of its
 * buffer, and on the garbage that is left, than on its rows.
 *
 * Whoever takes a buffer owns it until he gives it back, once, and reads none of it afterwards; one
 * that is never given back is garbage like any other. Invariant: a buffer that is held is not in
 * here, so nobody else is handed it. Each thread has its own: a buffer never leaves its thread.
 */
import {assert} from '#server/base/assert.ts';

/** Sizes are powers of two. Smaller ones are not worth keeping, larger ones not worth the memory. */
const keptBytesMin = 4 << 10;
const keptBytesMax = 256 << 10;
/** So many scans at once: 2 MB of all sizes together. */
const eachMax = 4;

export class RowBuffers {
  /** By their size. */
  readonly #waiting = new Map<number, Buffer[]>();

  /** A buffer of `bytes` or somewhat more; what is in it is not defined. */
  take(bytes: number): Buffer {
    if (bytes > keptBytesMax) return Buffer.allocUnsafeSlow(bytes);
    const size = bytes <= keptBytesMin ? bytes : 2 ** Math.ceil(Math.log2(bytes));
    return this.#waiting.get(size)?.pop() ?? Buffer.allocUnsafeSlow(size);
  }

  /** Takes back what `take` gave. */
  give(buffer: Buffer): void {
    const size = buffer.length;
    if (size < keptBytesMin || size > keptBytesMax) return;
    const alike = this.#waiting.get(size);
    assert(alike?.includes(buffer) !== true, 'a buffer is given back once');
    if (alike === undefined) this.#waiting.set(size, [buffer]);
    else if (alike.length < eachMax) alike.push(buffer);
  }
}
