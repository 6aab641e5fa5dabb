/**
 * Deflates a stream of bytes on several threads: pieces are deflated each for itself and put one
 * behind the other, which is one valid deflate stream.
 *
 * A piece that is not the last ends at a byte, without the mark of the end (Z_SYNC_FLUSH). It
 * cannot refer to what is in the pieces before; with pieces of a megabyte that costs some tenths
 * of a percent. The threads are the caller's, and the memory of pieces is theirs too: it is taken
 * once, and used for one piece after the other.
 * Source: docs/design/0052-deflate.md.
 */
import {constants, deflateRawSync} from 'node:zlib';

export const pieceBytes = 1 << 20;
/** The memory that zlib takes at once for what a piece becomes: most become no more than that. */
const chunkSize = 512 << 10;

/** One piece; a plain value, which is given to a thread. */
export interface Piece {
  /** They lie in memory that threads share, and are not to be changed until they are deflated. */
  readonly bytes: Uint8Array;
  /** A level of zlib, from 1 to 9. */
  readonly level: number;
  readonly isLast: boolean;
}

export type Deflate = (piece: Piece) => Promise<Uint8Array>;

/** Takes all of a thread meanwhile. What it returns has its memory for itself. */
export function deflatePiece({bytes, level, isLast}: Piece): Uint8Array<ArrayBuffer> {
  const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
  return deflateRawSync(bytes, {level, finishFlush, chunkSize});
}

/** The memory of the pieces that are under way, and of the one that is read meanwhile. */
export class PieceMemory {
  readonly #places: readonly Buffer[];
  #next = 0;

  constructor(threads: number) {
    this.#places = Array.from({length: threads + 1}, () =>
      Buffer.from(new SharedArrayBuffer(pieceBytes)),
    );
  }

  /** The place that was in use longest ago. */
  next(): Buffer {
    const place = this.#places[this.#next % this.#places.length];
    this.#next += 1;
    if (place === undefined) throw new Error('there is no memory for pieces');
    return place;
  }
}

export class DeflatedPieces {
  readonly #level: number;
  readonly #threads: number;
  readonly #deflate: Deflate;
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  readonly #underWay: Promise<Uint8Array>[] = [];
  #bytes = 0;

  /** @param threads - How many pieces are under way at most. */
  constructor(
    {level, threads}: {readonly level: number; readonly threads: number},
    deflate: Deflate,
    write: (bytes: Uint8Array) => Promise<void>,
  ) {
    this.#level = level;
    this.#threads = threads;
    this.#deflate = deflate;
    this.#write = write;
  }

  /**
   * Takes the next piece, whose memory is free when so many more were added as there are threads,
   * and waits while all threads are busy. A stream of no pieces is one of an empty last piece.
   */
  async add(bytes: Uint8Array, isLast: boolean): Promise<void> {
    if (this.#underWay.length >= this.#threads) await this.#writeNext();
    const deflating = this.#deflate({bytes, level: this.#level, isLast});
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
