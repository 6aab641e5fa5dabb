/**
 * The bytes of one answer while it is put together, and what takes them when they are whole.
 *
 * One growing buffer with room in front for a head, so that head and body can leave in one write
 * without another copy. Large ones are counted against what all answers together may hold.
 */
import type {HttpContext} from './context.ts';

/** Where an answer goes: node's response (exchange.ts), or a socket (fast-lane-connection.ts). */
export interface AnswerWriter {
  readonly context: HttpContext;
  /** Empty bytes to put an answer into. */
  bytes(): AnswerBytes;
  /** Writes a complete JSON answer with status 200 and takes the bytes. */
  answerBytes(bytes: AnswerBytes): void;
  /** Begins a chunked answer. */
  startStream(status: number, contentType: string): void;
  /** Writes a piece and waits for the reader. @throws {PlainFailure} when the client is gone. */
  write(piece: Buffer): Promise<void>;
  endStream(lastPiece: Buffer): void;
}

const bufferedMax = 16 * 1024 * 1024;
const heldBytesMax = 256 * 1024 * 1024;
const firstBytes = 1_536;
const spareBytes = 256;
const keptBytesMax = 16 * 1024;

export class AnswerBytes {
  readonly #context: HttpContext;
  readonly #headBytes: number;
  #buffer: Buffer;
  #end: number;
  #held = 0;

  constructor(context: HttpContext, headBytes: number) {
    this.#context = context;
    this.#headBytes = headBytes;
    this.#buffer = Buffer.allocUnsafe(headBytes + firstBytes);
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
    this.release();
    const start = this.#headBytes - head.length;
    if (start < 0) return Buffer.concat([Buffer.from(head, 'latin1'), this.take()]);
    this.#buffer.write(head, start, 'latin1');
    return this.#buffer.subarray(start, this.#end);
  }

  /** Makes it empty, to be used again; false when it has grown too large to be kept. */
  reset(): boolean {
    this.release();
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
