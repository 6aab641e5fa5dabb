/**
 * One request and its answer: what handlers read from, and the only place that writes heads.
 *
 * Every answer carries `X-Request-Id`, `X-Svc-Commit-Index` and `X-Svc-Replay-Protection`. A
 * complete answer is one write with its length; a streamed one is chunked and waits for its
 * reader. Invariant H1: exactly one head is written, and nothing after the end.
 */
import type {IncomingMessage, ServerResponse} from 'node:http';
import {AssertionFailure, assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import type {KeptHolder} from '#server/session/kept-memory.ts';
import {ResponseBuffer, type ResponseWriter} from '../raw-http/response-buffer.ts';
import {
  acceptedCoding,
  codedBody,
  codingHeaders,
  type Coding,
  CompressedPieces,
  isCompressed,
} from './compression.ts';
import {originHeaders} from './cross-origin.ts';
import {checkDeclaredLength, declaredLength, readBody} from './body.ts';
import type {HttpContext} from '../context.ts';
import {clientGone, type FailureAnswer, failureAnswer} from './failure.ts';
import type {StoredAnswer} from './idempotency.ts';
import {parseBody, parseLargeBody} from './json-body.ts';
import {heldBack, lateHeader} from './late-refusal.ts';
import {basePath, sessionHeader} from '../protocol-names.ts';

export const jsonType = 'application/json';
export const htmlType = 'text/html; charset=utf-8';
export const ndjsonType = 'application/x-ndjson';

/** What of an answer's head is known before its coding. */
interface CompressedHead {
  readonly status: number;
  readonly contentType: string;
  readonly headers: readonly string[];
}

const lingerMs = 500;
const oneWriteBytesMax = 64 * 1024;

export class Exchange implements ResponseWriter {
  readonly context: HttpContext;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** When its head had come, of the monotonic clock. */
  readonly begunAt: number;
  /** Decoded path below `/api/v1`, by segment. */
  segments: readonly string[] = [];
  /** The path of the route, with names in braces. */
  routePath = 'unmatched';
  /** Text behind `?`, undecoded. */
  query = '';
  /** Echoed as the session header when it names a session that exists. */
  sessionId: string | undefined;
  /** Told of a complete answer just before it is written. */
  onAnswer: ((answer: StoredAnswer) => void) | undefined;
  /** Told when the body will never be complete though the client still reads. */
  onBodyLost: (() => void) | undefined;
  /** Set when the request carries an id under which it must happen only once. */
  idempotencyKey: string | undefined;
  /** Another member relayed it: it is not relayed again. */
  isForwarded = false;
  /** The handler takes the body as it comes, whatever its size. */
  streamsBody = false;
  /** The client waits for a word before it sends its body. */
  awaitsContinue = false;
  /** The origin of the page that sent it, where it is one that may; told in the answer. */
  allowedOrigin: string | undefined;
  /** Whose request it is; undefined: nobody has shown who asks. */
  caller: Principal | undefined;
  #body: Buffer | undefined;
  /** What compresses a streamed answer. */
  #compressor: CompressedPieces | undefined;
  #lastPiece: Promise<unknown> = Promise.resolve();

  constructor(context: HttpContext, request: IncomingMessage, response: ServerResponse) {
    this.context = context;
    this.request = request;
    this.response = response;
    this.requestId = context.requestIdFor(request);
    this.begunAt = context.options.clock.monotonic();
  }

  /** The one that the path names; empty where it names none. */
  get database(): string {
    const at = this.routePath.slice(basePath.length).split('/').indexOf('{database}');
    return this.segments[at] ?? '';
  }

  header(name: string): string | undefined {
    const value = this.request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  /** One parameter of the query string, decoded; the last of several. */
  parameter(name: string): string | undefined {
    if (this.query === '') return undefined;
    return new URLSearchParams(this.query).getAll(name).at(-1);
  }

  /** Aborted when the client's connection ends. */
  get signal(): AbortSignal {
    return this.context.connectionSignal(this.request.socket);
  }

  /** The whole body, read once. @throws {PlainFailure} 413, 408. */
  async body(): Promise<Buffer> {
    if (this.#body !== undefined) return this.#body;
    checkDeclaredLength(this.request, this.context);
    this.allowBody();
    this.#body = await readBody(this.request, this.context, () => this.#keep());
    return this.#body;
  }

  /** Counts what the body takes until the response ends. */
  #keep(): KeptHolder {
    const kept = this.context.options.service.keep(this.caller);
    this.response.once('close', () => kept.close());
    return kept;
  }

  /** Tells a client that asked first to send its body. */
  allowBody(): void {
    if (!this.awaitsContinue) return;
    this.awaitsContinue = false;
    this.response.writeContinue();
  }

  /** The body as a JSON object; undefined when there is none. @throws {PlainFailure} 400. */
  async jsonBody(): Promise<MapValue | undefined> {
    const bytes = await this.body();
    if (bytes.length === 0) return undefined;
    const {json, options} = this.context;
    if (bytes.length <= oneWriteBytesMax) return parseBody(json, bytes);
    return parseLargeBody(json, bytes, () => options.timers.yield());
  }

  /** Writes a complete answer. `headers`: flat names and values. */
  answer(
    status: number,
    body: string | Buffer,
    contentType: string = jsonType,
    headers: readonly string[] = [],
  ): void {
    this.onAnswer?.({status, body, contentType});
    const coding = this.#codingFor(body.length);
    if (coding !== undefined) {
      void this.#answerCompressed({status, contentType, headers}, Buffer.from(body), coding);
      return;
    }
    this.#answerPlain(status, body, contentType, headers);
  }

  #answerPlain(
    status: number,
    body: string | Buffer,
    contentType: string,
    headers: readonly string[],
  ): void {
    const head = this.#head(contentType, headers);
    if (status !== 204) {
      const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length;
      head.push('Content-Length', String(length));
    }
    if (this.#isUnread) {
      void this.#answerUnread(status, head, body);
      return;
    }
    this.response.writeHead(status, head);
    if (typeof body === 'string') this.response.end(body);
    else this.#end(body);
  }

  /** Undefined for what is sent as it is. */
  #codingFor(length: number): Coding | undefined {
    if (!isCompressed(this.context.settings, length)) return undefined;
    return this.request.method === 'HEAD' ? undefined : acceptedCoding(this.#acceptEncoding);
  }

  get #acceptEncoding(): string | undefined {
    return this.header('accept-encoding');
  }

  async #answerCompressed(
    {status, contentType, headers}: CompressedHead,
    body: Buffer,
    coding: Coding,
  ): Promise<void> {
    const {requestId} = this;
    const coded = await codedBody(coding, body, error => {
      this.context.options.logger.log('warn', 'answer.not-compressed', {requestId, error});
    });
    this.#answerPlain(status, coded.bytes, contentType, [...headers, ...coded.headers]);
  }

  #end(body: Buffer): void {
    // As text of one byte a character, head and body leave in one write instead of two.
    if (body.length <= oneWriteBytesMax) this.response.end(body.toString('latin1'), 'latin1');
    else this.response.end(body);
  }

  bytes(): ResponseBuffer {
    return new ResponseBuffer(this.context, 0);
  }

  /** Writes a complete answer of 200. */
  answerBytes(bytes: ResponseBuffer): void {
    this.answer(200, bytes.take());
  }

  answerJson(status: number, value: unknown): void {
    this.answer(status, JSON.stringify(value));
  }

  /** An answer without a body. */
  answerEmpty(status: number): void {
    this.answer(status, '');
  }

  /** Answers a failure, or breaks the connection when the answer has begun. */
  fail(error: unknown): void {
    if (error instanceof AssertionFailure) throw error;
    const answer = loggedFailure(this.context, this, error);
    if (this.response.headersSent) {
      this.response.destroy();
      return;
    }
    if (endsSession(error)) this.sessionId = undefined;
    const mark = this.isForwarded ? lateHeader(error) : [];
    const headers = [...answer.headers, ...mark];
    this.answer(answer.status, JSON.stringify(answer.body), jsonType, headers);
  }

  /** Begins a chunked answer. */
  startStream(status: number, contentType: string, headers: readonly string[] = []): void {
    this.response.writeHead(status, this.#head(contentType, headers));
  }

  /** Begins a chunked answer with status 200, compressed where the client asks for it. */
  startRows(contentType: string, headers: readonly string[] = []): void {
    const isWanted = isCompressed(this.context.settings, Number.POSITIVE_INFINITY);
    const coding = isWanted ? acceptedCoding(this.#acceptEncoding) : undefined;
    if (coding === undefined) return this.startStream(200, contentType, headers);
    const compressor = new CompressedPieces(coding);
    this.#compressor = compressor;
    this.response.once('close', () => compressor.destroy());
    this.startStream(200, contentType, [...headers, ...codingHeaders(coding)]);
  }

  /** Begins to answer as another server answers: `headers` are all of its own. */
  relayHead(status: number, headers: readonly string[]): void {
    const {context} = this;
    const head = [...headers, 'X-Svc-Replay-Protection', context.replayProtection];
    if (this.allowedOrigin !== undefined) head.push(...originHeaders(this.allowedOrigin));
    if (context.isStopping || this.#isUnread) head.push('Connection', 'close');
    this.response.writeHead(status, head);
  }

  /** When a refusal that the leader has marked may be told. */
  heldBack(): Promise<void> | undefined {
    return heldBack(this.context, this.caller);
  }

  /** Works like `relayHead`, with all of the body. */
  relayWhole(status: number, headers: readonly string[], body: Buffer): void {
    this.relayHead(status, headers);
    this.#end(body);
  }

  /**
   * Writes a piece of a chunked answer and waits until the reader keeps up.
   *
   * @throws {PlainFailure} when the client is gone, or reads nothing for too long.
   */
  async write(piece: Buffer | string): Promise<void> {
    const {response} = this;
    if (response.destroyed) throw clientGone();
    const coded = this.#coded(piece);
    if (response.write(coded instanceof Promise ? await coded : coded)) return;
    const stallMs = this.context.settings.get('svc.network.socketTimeout') * 2;
    await new Promise<void>((resolve, reject) => {
      const cancel = this.context.options.timers.after(stallMs, () => response.destroy());
      const onDrain = (): void => finish(resolve);
      const onClose = (): void => finish(() => reject(clientGone()));
      const finish = (then: () => void): void => {
        cancel();
        response.off('drain', onDrain);
        response.off('close', onClose);
        then();
      };
      response.on('drain', onDrain);
      response.on('close', onClose);
    });
  }

  /** Writes a piece of a chunked answer and waits for nobody. */
  push(piece: Buffer): void {
    const {response} = this;
    const coded = this.#coded(piece);
    if (!(coded instanceof Promise)) response.write(coded);
    else coded.then(bytes => response.write(bytes)).catch(() => response.destroy());
  }

  endStream(lastPiece: Buffer | string = ''): Promise<void> | void {
    const {response} = this;
    const compressor = this.#compressor;
    if (compressor !== undefined) {
      return this.#inTurn(() => compressor.end(Buffer.from(lastPiece))).then(bytes => {
        response.end(bytes);
      });
    }
    if (lastPiece.length > 0) response.end(lastPiece);
    else response.end();
  }

  /** A piece as it is sent. */
  #coded(piece: Buffer | string): Buffer | string | Promise<Buffer> {
    const compressor = this.#compressor;
    return compressor === undefined
      ? piece
      : this.#inTurn(() => compressor.add(Buffer.from(piece)));
  }

  /** Pieces come out in the order in which they went in. */
  #inTurn(code: () => Promise<Buffer>): Promise<Buffer> {
    const coded = this.#lastPiece.then(code);
    this.#lastPiece = coded.catch(() => undefined);
    return coded;
  }

  #head(contentType: string, headers: readonly string[]): string[] {
    const {context} = this;
    const head = ['X-Request-Id', this.requestId];
    head.push('X-Svc-Commit-Index', String(context.service.readableIndex));
    head.push('X-Svc-Replay-Protection', context.replayProtection);
    if (contentType !== '') head.push('Content-Type', contentType);
    if (this.sessionId !== undefined) head.push(sessionHeader, this.sessionId);
    if (headers.length > 0) head.push(...headers);
    if (this.allowedOrigin !== undefined) head.push(...originHeaders(this.allowedOrigin));
    if (context.isStopping) head.push('Connection', 'close');
    return head;
  }

  get #isUnread(): boolean {
    return !this.request.complete && declaredLength(this.request) !== 0;
  }

  /**
   * Answers while the client may still be sending: the whole answer goes out, then the connection
   * stays open for a moment so that the client can read it, and takes in nothing more.
   */
  async #answerUnread(status: number, head: string[], body: string | Buffer): Promise<void> {
    const {request, response, context} = this;
    // A small body that came with its head is complete one turn later.
    request.resume();
    await context.options.timers.yield();
    assert(!response.headersSent, 'an answer is written once');
    if (request.complete) {
      response.writeHead(status, head);
      response.end(body);
      return;
    }
    if (!context.isStopping) head.push('Connection', 'close');
    response.writeHead(status, head);
    if (body.length > 0) response.write(body);
    else response.flushHeaders();
    const cancel = context.options.timers.after(lingerMs, () => response.end());
    request.once('end', () => {
      cancel();
      response.end();
    });
  }
}

/** What the log says of a request; `database`: empty where it is of none. */
export interface FailedRequest {
  readonly requestId: string;
  readonly database: string;
}

/** What to answer for whatever was thrown; a defect of ours is written into the log. */
export function loggedFailure(
  context: HttpContext,
  {requestId, database}: FailedRequest,
  error: unknown,
): FailureAnswer {
  const answer = failureAnswer(error, {requestId, hidesDetail: context.hidesDetail});
  if (answer.unexpected) {
    const stack = error instanceof Error ? error.stack : String(error);
    const db = database === '' ? undefined : database;
    context.options.logger.log('error', 'request failed', {requestId, db, error: stack});
  }
  return answer;
}

const withoutSession: ReadonlySet<string> = new Set(['transaction.gone', 'transaction.expired']);

/** Whether the session that the request named is no session of the server after this failure. */
export function endsSession(error: unknown): boolean {
  return error instanceof Refusal && withoutSession.has(error.code);
}
