/**
 * What one connection of the raw HTTP path writes: an answer in one write, rows in chunks, or what
 * the leader answered; and whether the reader keeps up with it.
 */
import type {Socket} from 'node:net';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import {
  codedBody,
  codingHeaders,
  type Coding,
  CompressedPieces,
  isCompressed,
} from '../message/compression.ts';
import {jsonType} from '../message/exchange.ts';
import {clientGone} from '../message/failure.ts';
import {heldBack} from '../message/late-refusal.ts';
import type {ResponseHead, ResponseSink} from '../relay/leader-connection.ts';
import type {RawHttpShared} from './raw-http-shared.ts';
import type {ResponseBuffer, ResponseWriter} from './response-buffer.ts';

const lineEnd = Buffer.from('\r\n', 'latin1');
const lastChunk = Buffer.from('0\r\n\r\n', 'latin1');
const none = Buffer.alloc(0);
const ok = 200;

export class RawHttpResponse implements ResponseWriter, ResponseSink {
  readonly context: HttpContext;
  /** The session to name in the answer. */
  sessionId: string | undefined;
  /** Whose work was begun. */
  caller: Principal | undefined;
  /** A relayed refusal that is told late. */
  held: Promise<void> | undefined;
  readonly #shared: RawHttpShared;
  readonly #socket: Socket;
  /** The status of the response that was begun last. */
  #status = ok;
  #isChunked = false;
  #isBlocked = false;
  /** Whoever waits for the reader. */
  #resume: (() => void) | undefined;
  /** The tick at which the reader last took something. */
  #since = 0;
  #unsentBytes = 0;
  /** How the answer is compressed, if it is large. */
  #coding: Coding | undefined;
  #compressor: CompressedPieces | undefined;

  constructor(shared: RawHttpShared, socket: Socket) {
    this.context = shared.context;
    this.#shared = shared;
    this.#socket = socket;
  }

  get status(): number {
    return this.#status;
  }

  /** Part of an answer is on its way. */
  get isChunked(): boolean {
    return this.#isChunked;
  }

  /** The reader does not keep up. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Begins the answer to another request. */
  begin(coding: Coding | undefined): void {
    this.#coding = coding;
    this.retry();
  }

  /** Begins it anew: nothing of it was written. */
  retry(): void {
    this.sessionId = undefined;
    this.caller = undefined;
    this.held = undefined;
  }

  /** The reader goes on. */
  drained(): void {
    this.#isBlocked = false;
    this.#resume?.();
    this.#resume = undefined;
  }

  closed(): void {
    this.#resume?.();
    this.#compressor?.destroy();
  }

  /** Ends the connection of a reader who takes nothing for long. */
  watchReader(): void {
    const unsent = this.#socket.writableLength;
    const {tick, stallTicks} = this.#shared;
    if (unsent !== this.#unsentBytes) {
      this.#unsentBytes = unsent;
      this.#since = tick;
    } else if (tick - this.#since >= stallTicks) this.#socket.destroy();
  }

  answer(
    status: number,
    headers: readonly string[],
    body: Buffer,
    requestId = this.context.nextRequestId(),
  ): void {
    this.#status = status;
    const head = this.#shared.answers.any({
      status,
      contentType: jsonType,
      requestId,
      sessionId: this.sessionId,
      headers,
      length: body.length,
    });
    this.#send(Buffer.concat([Buffer.from(head, 'latin1'), body]));
  }

  bytes(): ResponseBuffer {
    return this.#shared.bytes();
  }

  answerBytes(bytes: ResponseBuffer): Promise<void> | void {
    this.#status = ok;
    const coding = this.#coding;
    if (coding !== undefined && isCompressed(this.context.settings, bytes.length)) {
      return this.#answerCompressed(bytes.take(), coding);
    }
    this.#send(this.#shared.answers.whole(bytes, this.sessionId));
    // What the kernel has taken may be written over.
    if (this.#socket.writableLength === 0) this.#shared.takeBack(bytes);
  }

  async #answerCompressed(body: Buffer, coding: Coding): Promise<void> {
    const coded = await codedBody(coding, body, error => {
      this.context.options.logger.log('warn', 'answer.not-compressed', {error});
    });
    this.answer(ok, coded.headers, coded.bytes);
  }

  startRows(contentType: string): void {
    this.#isChunked = true;
    this.#status = ok;
    const isWanted = isCompressed(this.context.settings, Number.POSITIVE_INFINITY);
    const coding = isWanted ? this.#coding : undefined;
    this.#compressor = coding && new CompressedPieces(coding);
    const head = this.#shared.answers.any({
      status: ok,
      contentType,
      requestId: this.context.nextRequestId(),
      sessionId: this.sessionId,
      headers: coding === undefined ? [] : codingHeaders(coding),
      length: undefined,
    });
    this.#send(Buffer.from(head, 'latin1'));
  }

  /** Writes a chunk and waits until the reader keeps up. */
  async write(piece: Buffer): Promise<void> {
    if (!this.#socket.writable) throw clientGone();
    const coded = this.#compressor === undefined ? piece : await this.#compressor.add(piece);
    if (coded.length > 0) this.#send(chunk(coded));
    if (!this.#isBlocked) return;
    await new Promise<void>(resolve => {
      this.#resume = resolve;
    });
    if (!this.#socket.writable) throw clientGone();
  }

  endStream(lastPiece: Buffer): Promise<void> | void {
    const compressor = this.#compressor;
    if (compressor === undefined) return this.#endChunks(lastPiece);
    return compressor.end(lastPiece).then(bytes => this.#endChunks(bytes));
  }

  #endChunks(lastPiece: Buffer): void {
    const last = lastPiece.length === 0 ? none : chunk(lastPiece);
    this.#send(Buffer.concat([last, lastChunk]));
    this.#isChunked = false;
    this.#compressor = undefined;
  }

  full({status, text, isLate}: ResponseHead, body: Buffer): void {
    this.#status = status;
    const send = (): void => {
      const head = this.#shared.answers.relayed(text);
      this.#send(body.length === 0 ? head : Buffer.concat([head, body]));
    };
    this.held = isLate ? heldBack(this.context, this.caller)?.then(send) : undefined;
    if (this.held === undefined) send();
  }

  start({status, text}: ResponseHead): void {
    this.#status = status;
    this.#send(this.#shared.answers.relayed(text));
  }

  chunk(bytes: Buffer): Promise<void> | undefined {
    this.#send(bytes);
    if (!this.#isBlocked) return undefined;
    return new Promise<void>(resolve => {
      this.#resume = resolve;
    });
  }

  aborted(): void {
    this.#socket.destroy();
  }

  #send(bytes: Buffer): void {
    const socket = this.#socket;
    if (!socket.writable || socket.write(bytes)) return;
    this.#isBlocked = true;
    this.#since = this.#shared.tick;
  }
}

function chunk(piece: Buffer): Buffer {
  const size = Buffer.from(`${piece.length.toString(16)}\r\n`, 'latin1');
  return Buffer.concat([size, piece, lineEnd]);
}
