/**
 * Where the body of an answer ends in the bytes of a connection: after a length, or after the last
 * chunk and its trailers (RFC 9112, section 7.1). The bytes themselves are left as they are.
 */

/** A line of sizes or of a trailer. */
const lineBytesMax = 1_024;
const lineFeed = 10;

export class BodyEnd {
  readonly #isChunked: boolean;
  /** Bytes until the end, or until the next line of a chunked body. */
  #left: number;
  #line = '';
  #isTrailer = false;
  #isReached = false;

  private constructor(isChunked: boolean, left: number) {
    this.#isChunked = isChunked;
    this.#left = left;
    this.#isReached = !isChunked && left === 0;
  }

  static ofChunks(): BodyEnd {
    return new BodyEnd(true, 0);
  }

  /** Undefined for what is no length. */
  static after(length: number | undefined): BodyEnd | undefined {
    if (length === undefined || !Number.isSafeInteger(length) || length < 0) return undefined;
    return new BodyEnd(false, length);
  }

  get isReached(): boolean {
    return this.#isReached;
  }

  /** How many of the next bytes belong to the body; undefined when they are no chunks. */
  take(bytes: Buffer): number | undefined {
    let at = 0;
    while (at < bytes.length && !this.#isReached) {
      if (this.#left > 0) {
        const count = Math.min(this.#left, bytes.length - at);
        this.#left -= count;
        at += count;
        this.#isReached = !this.#isChunked && this.#left === 0;
      } else {
        const end = bytes.indexOf(lineFeed, at);
        this.#line += bytes.toString('latin1', at, end < 0 ? bytes.length : end);
        at = end < 0 ? bytes.length : end + 1;
        if (this.#line.length > lineBytesMax) return undefined;
        if (end >= 0 && !this.#takeLine()) return undefined;
      }
    }
    return at;
  }

  /** False when it is none of a chunked body. */
  #takeLine(): boolean {
    const line = this.#line.trimEnd();
    this.#line = '';
    if (this.#isTrailer) {
      this.#isReached = line === '';
      return true;
    }
    const size = /^([0-9a-f]{1,12})(?:;.*)?$/i.exec(line)?.[1];
    if (size === undefined) return false;
    const length = Number.parseInt(size, 16);
    if (length === 0) this.#isTrailer = true;
    // With the end of line behind it.
    else this.#left = length + 2;
    return true;
  }
}
