/**
 * Deflates a stream of bytes on several threads: pieces are deflated each for itself and put one
 * behind the other, which is one valid deflate stream.
 *
 * A piece that is not the last ends at a byte, without the mark of the end (Z_SYNC_FLUSH). It
 * cannot refer to what is in the pieces before; with pieces of a megabyte that costs some tenths
 * of a percent. The threads are those of the platform's own pool.
 * Source: docs/design/0052-deflate.md.
 */
import {constants, deflateRaw, type ZlibOptions} from 'node:zlib';
import {promisify} from 'node:util';

const deflate: (bytes: Uint8Array, options: ZlibOptions) => Promise<Buffer> = promisify(deflateRaw);

export class DeflatedPieces {
  readonly #level: number;
  readonly #threads: number;
  readonly #write: (bytes: Buffer) => Promise<void>;
  readonly #underWay: Promise<Buffer>[] = [];
  #bytes = 0;

  /** @param level - From 1 to 9. */
  constructor(level: number, threads: number, write: (bytes: Buffer) => Promise<void>) {
    this.#level = level;
    this.#threads = threads;
    this.#write = write;
  }

  /**
   * Takes the next piece, which is not to be changed until `finish`, and waits while all threads
   * are busy. A stream of no pieces is one of an empty last piece.
   */
  async add(piece: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#underWay.length >= this.#threads) await this.#writeNext();
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const deflating = deflate(piece, {level: this.#level, finishFlush});
    deflating.catch(() => {});
    this.#underWay.push(deflating);
  }

  /** Writes what is still under way. @returns How many bytes it became. */
  async finish(): Promise<number> {
    while (this.#underWay.length > 0) await this.#writeNext();
    return this.#bytes;
  }

  async #writeNext(): Promise<void> {
    const bytes = await this.#underWay.shift();
    if (bytes === undefined) return;
    this.#bytes += bytes.length;
    await this.#write(bytes);
  }
}
