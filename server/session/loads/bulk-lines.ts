/**
 * Splits pieces of bytes into lines that end in LF, CR or CRLF; an empty last line is none.
 *
 * A line that lies in one piece is not copied. Its bytes are valid until the next `add`.
 */
import {Refusal} from '#server/base/errors.ts';

const lineFeed = 0x0a;
const carriageReturn = 0x0d;
const empty = Buffer.alloc(0);

export class LineSplitter {
  /** The line of the last `next` is bytes [start, stop). */
  bytes: Buffer = empty;
  start = 0;
  stop = 0;
  readonly #lineBytesMax: number;
  #piece: Buffer = empty;
  #at = 0;
  #hasReturns = false;
  /** The beginning of a line, from earlier pieces. */
  #begun: Buffer[] = [];
  #begunBytes = 0;
  /** The last line ended in CR: an LF right behind belongs to it. */
  #skipsFeed = false;
  #ended = false;

  constructor(lineBytesMax: number) {
    this.#lineBytesMax = lineBytesMax;
  }

  /** Call when `next` has answered false. */
  add(piece: Buffer): void {
    this.#piece = piece;
    this.#at = 0;
    this.#hasReturns = piece.includes(carriageReturn);
  }

  /** What was begun is the last line. */
  end(): void {
    this.#piece = empty;
    this.#at = 0;
    this.#ended = true;
  }

  /** Steps to the next line; false when more bytes are needed. @throws {Refusal} `batch.record`. */
  next(): boolean {
    const piece = this.#piece;
    if (this.#skipsFeed && this.#at < piece.length) {
      this.#skipsFeed = false;
      if (piece[this.#at] === lineFeed) this.#at++;
    }
    const start = this.#at;
    const end = this.#lineEnd(piece, start);
    if (end < 0) return this.#keep(piece, start);
    this.#skipsFeed = piece[end] === carriageReturn;
    this.#at = end + 1;
    if (this.#begun.length === 0) {
      this.bytes = piece;
      this.start = start;
      this.stop = end;
      if (end - start > this.#lineBytesMax) throw this.#tooLong();
      return true;
    }
    this.#begun.push(piece.subarray(start, end));
    this.#joinBegun();
    return true;
  }

  #lineEnd(piece: Buffer, start: number): number {
    const feed = piece.indexOf(lineFeed, start);
    if (!this.#hasReturns) return feed;
    const end = feed < 0 ? piece.length : feed;
    const at = piece.subarray(start, end).indexOf(carriageReturn);
    return at < 0 ? feed : start + at;
  }

  #keep(piece: Buffer, start: number): boolean {
    if (start < piece.length) {
      this.#begun.push(Buffer.from(piece.subarray(start)));
      this.#begunBytes += piece.length - start;
      this.#at = piece.length;
    }
    if (this.#begunBytes > this.#lineBytesMax) throw this.#tooLong();
    if (!this.#ended || this.#begunBytes === 0) return false;
    this.#joinBegun();
    return true;
  }

  #joinBegun(): void {
    this.bytes = Buffer.concat(this.#begun);
    this.start = 0;
    this.stop = this.bytes.length;
    this.#begun = [];
    this.#begunBytes = 0;
  }

  #tooLong(): Refusal {
    this.#begun = [];
    return new Refusal(
      'batch.record',
      `a line has more than ${this.#lineBytesMax} bytes: no record may be so large`,
    );
  }
}
