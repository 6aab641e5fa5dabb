/**
 * The bytes of one answer while it is put together, and what takes them when they are whole.
 *
 * One growing buffer with room in front for a head, so that head and body can leave in one write
 * without another copy. Large ones are counted against what all answers together may hold.
 */
import {assert} from '#server/base/assert.ts';
import type {HttpContext} from '../context.ts';

/** Where an answer goes: node's response (exchange.ts), or a socket (raw-http-connection.ts). */
export interface ResponseWriter {
  readonly context: HttpContext;
  /** Empty bytes to put an answer into. */
  bytes(): ResponseBuffer;
  /** Writes a complete JSON answer with status 200; a promise only where it is compressed. */
  answerBytes(bytes: ResponseBuffer): Promise<void> | void;
  /** Begins a chunked answer with status 200, compressed where the client asks for it. */
  startRows(contentType: string): void;
  /** Writes a piece and waits for the reader. @throws {PlainFailure} when the client is gone. */
  write(piece: Buffer): Promise<void>;
  endStream(lastPiece: Buffer): Promise<void> | void;
}

const bufferedMax = 16 * 1024 * 1024;
const heldBytesMax = 256 * 1024 * 1024;
const firstBytes = 1_536;
const spareBytes = 256;
const keptBytesMax = 16 * 1024;

export class ResponseBuffer {
  readonly #context: HttpContext;
  readonly #headBytes: number;
  #buffer: Buffer;
  /** Where what was put in front begins. */
  #start: number;
  #end: number;
  #held = 0;

  constructor(context: HttpContext, headBytes: number) {
    this.#context = context;
    this.#headBytes = headBytes;
    this.#buffer = Buffer.allocUnsafe(headBytes + firstBytes);
    this.#start = headBytes;
    this.#end = headBytes;
  }

  get length(): number {
    return this.#end - this.#headBytes;
  }

  get mayGrow(): boolean {
    return this.length <= bufferedMax && this.#context.heldBytes <= heldBytesMax;
  }

  text(text: string): void {
    // 3 bytes a unit suffice for UTF-8.
    this.#reserve(text.length * 3);
    this.#end += this.#buffer.write(text, this.#end, 'utf8');
  }

  bytes(piece: Buffer): void {
    this.#reserve(piece.length + spareBytes);
    piece.copy(this.#buffer, this.#end);
    this.#end += piece.length;
  }

  /** What was written since the last take; the caller's. */
  take(): Buffer {
    const taken = this.#buffer.subarray(this.#headBytes, this.#end);
    this.#buffer = Buffer.allocUnsafe(this.#headBytes + spareBytes);
    this.#end = this.#headBytes;
    this.release();
    return taken;
  }

  /** The whole with `head` (one byte a character) in front; nothing may follow. */
  takeWith(head: string): Buffer {
    if (head.length > this.#start) {
      return Buffer.concat([Buffer.from(head, 'latin1'), this.take()]);
    }
    this.prepend(Buffer.from(head, 'latin1'));
    return this.takeWhole();
  }

  /** Puts `piece` in front of all there is. The room for it was asked for by `headBytes`. */
  prepend(piece: Buffer): void {
    this.#start -= piece.length;
    assert(this.#start >= 0, 'a head fits into the room that was left for it');
    this.#buffer.set(piece, this.#start);
  }

  /** Puts the digits of a whole number that is not negative in front of all there is. */
  prependNumber(number: number, radix: 10 | 16): void {
    let rest = number;
    do {
      const digit = rest % radix;
      rest = (rest - digit) / radix;
      this.#start -= 1;
      this.#buffer[this.#start] = digit < 10 ? 0x30 + digit : 0x57 + digit;
    } while (rest > 0);
    assert(this.#start >= 0, 'a head fits into the room that was left for it');
  }

  /** Everything, with what was put in front; nothing may follow. */
  takeWhole(): Buffer {
    this.release();
    return this.#buffer.subarray(this.#start, this.#end);
  }

  /** Makes it empty, to be used again; false when it has grown too large to be kept. */
  reset(): boolean {
    this.release();
    this.#start = this.#headBytes;
    this.#end = this.#headBytes;
    return this.#buffer.length <= keptBytesMax;
  }

  /** Gives back what was counted. */
  release(): void {
    this.#context.heldBytes -= this.#held;
    this.#held = 0;
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#end);
    this.#buffer = grown;
    this.#context.heldBytes += grown.length - this.#held;
    this.#held = grown.length;
  }
}
