/**
 * A writer that is used again and again, for bytes that are copied to their place at once.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';

const bytesUsual = 1 << 10;
const bytesKept = 64 << 10;

export class Scratch {
  #writer = newWriter();

  /** Empty; what was written before is gone. What was huge is not kept. */
  get empty(): ByteWriter {
    if (this.#writer.bytes.length > bytesKept) this.#writer = newWriter();
    this.#writer.clear();
    return this.#writer;
  }
}

/** Writes into a Buffer of its own: the store takes keys from it, and text is made in one call. */
function newWriter(): ByteWriter {
  return new ByteWriter(Buffer.allocUnsafeSlow(bytesUsual));
}
