/**
 * One kept connection to the leader for requests of the raw HTTP path: bytes out and bytes back,
 * one request at a time.
 *
 * It reads only the head of an answer and where its body ends; the body goes on as it lies on the
 * wire, no faster than the client reads it. A connection on which anything is odd is ended, and
 * nothing is sent over it again.
 */
import {connect, type Socket} from 'node:net';
import {assert} from '#server/base/assert.ts';
import type {HttpAddress} from '#server/cluster/cluster.ts';
import {BodyEnd} from '../raw-http/body-end.ts';
import {isRelayed, lateMark} from './forwarded-headers.ts';
import type {Relayed} from './relayed-response.ts';

/** The head of an answer, without what belongs to one connection. */
export interface ResponseHead {
  readonly status: number;
  /** The first line and headers, without an end of the last one. */
  readonly text: string;
  /** Whether the leader has marked it as a refusal to be told late. */
  readonly isLate: boolean;
}

/** Who passes an answer on to the client. */
export interface ResponseSink {
  /** A short answer, all of it. */
  full(head: ResponseHead, body: Buffer): void;
  /** The head of a longer one. */
  start(head: ResponseHead): void;
  /** Bytes of a body as they lie on the wire; a promise when the client does not keep up. */
  chunk(bytes: Buffer): Promise<void> | undefined;
  /** A longer answer broke off: the client must not take the half for the whole. */
  aborted(): void;
}

export interface RelayedRequest {
  readonly head: Buffer;
  readonly body: Buffer;
  readonly taker: ResponseSink;
  /** Milliseconds for which the leader may be silent. */
  readonly silenceMs: number;
}

interface Answer extends ResponseHead {
  readonly commitIndex: number | undefined;
  readonly isRefused: boolean;
  readonly isShort: boolean;
  readonly end: BodyEnd;
}

const headEnd = '\r\n\r\n';
const headBytesMax = 16 * 1024;
const shortBytes = 64 * 1024;
const none = Buffer.alloc(0);

export class LeaderConnection {
  readonly #socket: Socket;
  readonly #closed: (line: LeaderConnection) => void;
  #request: RelayedRequest | undefined;
  #resolve: (outcome: Relayed) => void = () => undefined;
  /** The request may have been read by the leader. */
  #hasLeft = false;
  #answer: Answer | undefined;
  /** Bytes of a head, or of a short body. */
  #held: Buffer = none;
  #idleMs = Number.POSITIVE_INFINITY;
  #closes = false;

  /** Begins to connect. @param closed - Told when nothing can be sent any more. */
  constructor(target: HttpAddress, connectMs: number, closed: (line: LeaderConnection) => void) {
    const {host, port} = target;
    this.#closed = closed;
    this.#socket = connect({host, port, noDelay: true});
    this.#socket.setTimeout(connectMs, () => this.end('the leader is silent'));
    this.#socket.on('connect', () => {
      this.#hasLeft = true;
      this.#socket.setTimeout(this.#request?.silenceMs ?? 0);
    });
    this.#socket.on('data', bytes => this.#take(bytes));
    this.#socket.on('end', () => this.end('the leader closed the connection'));
    this.#socket.on('error', error => this.end(error.message));
    this.#socket.on('close', () => this.end('the connection to the leader broke'));
  }

  /** Whether another request may be sent. */
  get isUsable(): boolean {
    return this.#request === undefined && !this.#closes && this.#socket.writable;
  }

  get isBusy(): boolean {
    return this.#request !== undefined;
  }

  /** Sends a request; resolves with what became of it. Never rejects. */
  send(request: RelayedRequest): Promise<Relayed> {
    assert(this.#request === undefined, 'one request at a time');
    const socket = this.#socket;
    this.#request = request;
    this.#hasLeft = !socket.connecting;
    if (this.#hasLeft) socket.setTimeout(request.silenceMs);
    const {promise, resolve} = Promise.withResolvers<Relayed>();
    this.#resolve = resolve;
    const {head, body} = request;
    socket.write(body.length === 0 ? head : Buffer.concat([head, body]));
    return promise;
  }

  /** Ends the connection, and with it the request that is under way. */
  end(reason: string): void {
    const request = this.#request;
    const answer = this.#answer;
    this.#request = undefined;
    this.#closes = true;
    this.#socket.destroy();
    this.#closed(this);
    if (request === undefined) return;
    const hasBegun = answer !== undefined && !answer.isRefused && !answer.isShort;
    if (hasBegun) {
      request.taker.aborted();
      this.#resolve({kind: 'answered', commitIndex: undefined});
    } else if (answer?.isRefused === true) this.#resolve(refused);
    else this.#resolve({kind: this.#hasLeft ? 'broken' : 'unsent', reason});
  }

  #take(bytes: Buffer): void {
    if (this.#request === undefined) return this.end('the leader spoke without being asked');
    if (this.#answer !== undefined) return this.#takeBody(bytes);
    this.#held = this.#held.length === 0 ? bytes : Buffer.concat([this.#held, bytes]);
    const at = this.#held.indexOf(headEnd);
    if (at < 0) {
      if (this.#held.length > headBytesMax) this.end('the head of its answer is too long');
      return;
    }
    const answer = this.#read(this.#held.toString('latin1', 0, at));
    if (answer === undefined) return this.end('its answer cannot be read');
    const body = this.#held.subarray(at + headEnd.length);
    this.#held = none;
    this.#answer = answer;
    if (!answer.isRefused && !answer.isShort) this.#request.taker.start(answer);
    this.#takeBody(body);
  }

  #takeBody(bytes: Buffer): void {
    const answer = this.#answer;
    const request = this.#request;
    if (answer === undefined || request === undefined) return;
    const count = answer.end.take(bytes);
    if (count === undefined || count < bytes.length) this.#closes = true;
    if (count === undefined) return this.end('its answer cannot be read');
    const piece = bytes.subarray(0, count);
    if (answer.isShort) {
      this.#held = this.#held.length === 0 ? piece : Buffer.concat([this.#held, piece]);
    } else if (!answer.isRefused && piece.length > 0) this.#pass(request, piece);
    if (answer.end.isReached) this.#finish(request, answer);
  }

  #pass({taker, silenceMs}: RelayedRequest, piece: Buffer): void {
    const drained = taker.chunk(piece);
    if (drained === undefined) return;
    // While the client reads, the silence is ours.
    this.#socket.pause();
    this.#socket.setTimeout(0);
    void drained.then(() => {
      this.#socket.setTimeout(this.isBusy ? silenceMs : this.#idleTimeout);
      this.#socket.resume();
    });
  }

  #finish({taker}: RelayedRequest, answer: Answer): void {
    const body = this.#held;
    this.#held = none;
    this.#answer = undefined;
    this.#request = undefined;
    if (this.#closes) this.end('');
    else this.#socket.setTimeout(this.#idleTimeout);
    if (answer.isRefused) return this.#resolve(refused);
    if (answer.isShort) taker.full(answer, body);
    this.#resolve({kind: 'answered', commitIndex: answer.commitIndex});
  }

  get #idleTimeout(): number {
    return Number.isFinite(this.#idleMs) ? this.#idleMs : 0;
  }

  /** Undefined for what is no answer of ours. */
  #read(text: string): Answer | undefined {
    const [first = '', ...lines] = text.split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1] ?? 0);
    if (status < 200) return undefined;
    let length: number | undefined = status === 204 ? 0 : undefined;
    let isChunked = false;
    let commitIndex: number | undefined;
    let isRefused = false;
    let isLate = false;
    const kept = [first];
    for (const line of lines) {
      const colon = line.indexOf(':');
      const name = line.slice(0, colon).toLowerCase();
      const value = line.slice(colon + 1).trim();
      if (name === 'content-length') length = Number(value);
      else if (name === 'transfer-encoding') isChunked = value.toLowerCase() === 'chunked';
      else if (name === 'connection') this.#closes ||= value.toLowerCase() === 'close';
      else if (name === 'keep-alive') this.#idleMs = idleMsOf(value);
      else if (name === 'x-svc-commit-index') commitIndex = Number(value);
      else if (name === 'x-svc-leader') isRefused = true;
      else if (name === lateMark) isLate = true;
      if (isRelayed(name)) kept.push(line);
    }
    const end = isChunked ? BodyEnd.ofChunks() : BodyEnd.after(length);
    if (end === undefined) return undefined;
    if (isChunked) kept.push('Transfer-Encoding: chunked');
    else if (status !== 204) kept.push(`Content-Length: ${length}`);
    const isShort = !isChunked && !isRefused && (length ?? 0) <= shortBytes;
    const head = kept.join('\r\n');
    return {status, text: head, isLate, commitIndex, isRefused, isShort, end};
  }
}

const refused: Relayed = {
  kind: 'not-leader',
  reason: 'the server that was asked does not lead',
};

/** A connection is given up before the leader does so, lest a request cross with its end. */
function idleMsOf(keepAlive: string): number {
  const seconds = Number(/timeout=(\d{1,6})/.exec(keepAlive)?.[1] ?? Number.NaN);
  return Number.isNaN(seconds) ? Number.POSITIVE_INFINITY : Math.max(1, seconds * 1_000 - 1_000);
}
