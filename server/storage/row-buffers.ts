/**
 * Buffers of scans that wait for the next scan: a short one would spend more on the making of its
 * buffer, and on the garbage that is left, than on its rows.
 *
 * Whoever takes a buffer owns it until he gives it back, once, and reads none of it afterwards; one
 * that is never given back is garbage like any other. Invariant: a buffer that is held is not in
 * here, so nobody else is handed it. Each thread has its own: a buffer never leaves its thread.
 */
import {assert} from '#server/base/assert.ts';

/** Sizes are powers of two; smaller ones are not worth keeping, larger ones not the memory. */
const keptBytesMin = 4 << 10;
const keptBytesMax = 256 << 10;
/** Scans at once that find a buffer: 2 MB of all sizes together. */
const eachMax = 4;

export interface RowBuffer {
  readonly bytes: Buffer;
  /** A view of the same bytes: numbers are read with one step each. */
  readonly view: DataView;
}

export class RowBuffers {
  /** The buffers that wait, keyed by their size. */
  readonly #waiting = new Map<number, RowBuffer[]>();

  /** A buffer of `bytes` or somewhat more; what is in it is not defined. */
  take(bytes: number): RowBuffer {
    if (bytes > keptBytesMax) return rowBuffer(bytes);
    const size = bytes <= keptBytesMin ? bytes : 2 ** Math.ceil(Math.log2(bytes));
    return this.#waiting.get(size)?.pop() ?? rowBuffer(size);
  }

  /** Takes back what `take` gave. */
  give(buffer: RowBuffer): void {
    const size = buffer.bytes.length;
    if (size < keptBytesMin || size > keptBytesMax) return;
    const alike = this.#waiting.get(size);
    assert(alike?.includes(buffer) !== true, 'a buffer is given back once');
    if (alike === undefined) this.#waiting.set(size, [buffer]);
    else if (alike.length < eachMax) alike.push(buffer);
  }
}

/** A buffer that nobody has had. */
export function rowBuffer(size: number): RowBuffer {
  const bytes = Buffer.allocUnsafeSlow(size);
  return {bytes, view: new DataView(bytes.buffer, bytes.byteOffset, size)};
}
