/**
 * Copies of short runs of bytes that live long, side by side in pieces of memory of their own.
 *
 * What arrives in a message, or is made in a pool, is a window on memory that others share: kept
 * for long, some hundred bytes hold many thousands. A piece goes when nothing in it is kept any
 * more, so what is kept is best let go in the order in which it came.
 */
const pieceBytes = 256 << 10;
/** Longer ones have memory of their own. */
const sharedBytesMax = pieceBytes / 8;

export class KeptBytes {
  #piece = Buffer.alloc(0);
  #used = 0;

  copy(bytes: Uint8Array): Uint8Array {
    const {length} = bytes;
    if (length > sharedBytesMax) {
      const own = Buffer.allocUnsafeSlow(length);
      own.set(bytes);
      return own;
    }
    if (this.#used + length > this.#piece.length) {
      this.#piece = Buffer.allocUnsafeSlow(pieceBytes);
      this.#used = 0;
    }
    const kept = this.#piece.subarray(this.#used, this.#used + length);
    kept.set(bytes);
    this.#used += length;
    return kept;
  }
}
