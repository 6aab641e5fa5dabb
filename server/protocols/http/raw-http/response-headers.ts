/**
 * Heads of the raw HTTP path's answers, the same bytes that node would write for ours.
 *
 * What is the same for every answer of a server, or of a second, is kept. The usual head is put
 * in front of its body from its last byte to its first, as bytes: joining, flattening and encoding
 * a text for it would cost more than the rest of the answer.
 */
import {sessionHeader} from '../protocol-names.ts';
import {STATUS_CODES} from 'node:http';
import type {ResponseBuffer} from './response-buffer.ts';
import type {HttpContext} from '../context.ts';
import {jsonType} from '../message/exchange.ts';

const commitIndexName = Buffer.from('\r\nX-Svc-Commit-Index: ');

/** What differs between answers. */
export interface ResponseHeaderFields {
  readonly status: number;
  readonly contentType: string;
  readonly requestId: string;
  readonly sessionId: string | undefined;
  /** Flat names and values. */
  readonly headers: readonly string[];
  /** Bytes of the body; undefined for chunks. */
  readonly length: number | undefined;
}

export class ResponseHeaders {
  readonly #context: HttpContext;
  readonly #keepAlive: string;
  /** The bytes from the status to the number in the request's id. */
  readonly #start: Buffer;
  /** The bytes from the commit index to the length of the body. */
  readonly #middle: Buffer;
  #second = -1;
  #date = '';
  /** The bytes from the length of the body to its first byte. */
  #end: Buffer = Buffer.alloc(0);

  constructor(context: HttpContext, keepAliveMs: number) {
    this.#context = context;
    const timeout =
      keepAliveMs > 0 ? `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n` : '';
    this.#keepAlive = `Connection: keep-alive\r\n${timeout}`;
    this.#start = Buffer.from(`HTTP/1.1 200 OK\r\nX-Request-Id: ${context.requestIdPrefix}`);
    this.#middle = Buffer.from(
      `\r\nX-Svc-Replay-Protection: ${context.replayProtection}\r\n` +
        `Content-Type: ${jsonType}\r\nContent-Length: `,
    );
  }

  /** A JSON answer with status 200: its head, its length and `body`. Takes the bytes. */
  whole(body: ResponseBuffer, sessionId: string | undefined): Buffer {
    const context = this.#context;
    const {length} = body;
    if (context.isStopping || sessionId !== undefined) {
      const head = {status: 200, contentType: jsonType, sessionId, headers: [], length};
      return body.takeWith(this.any({...head, requestId: context.nextRequestId()}));
    }
    body.prepend(this.#datedBytes());
    body.prependNumber(length, 10);
    body.prepend(this.#middle);
    body.prependNumber(context.service.readableIndex, 10);
    body.prepend(commitIndexName);
    body.prependNumber(context.nextRequestNumber(), 16);
    body.prepend(this.#start);
    return body.takeWhole();
  }

  any(head: ResponseHeaderFields): string {
    const {status, contentType, requestId, sessionId, headers, length} = head;
    const {service, replayProtection, isStopping} = this.#context;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    text += `X-Request-Id: ${requestId}\r\nX-Svc-Commit-Index: ${service.readableIndex}\r\n`;
    text += `X-Svc-Replay-Protection: ${replayProtection}\r\nContent-Type: ${contentType}\r\n`;
    if (sessionId !== undefined) text += `${sessionHeader}: ${sessionId}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    if (isStopping) text += 'Connection: close\r\n';
    if (length !== undefined && status !== 204) text += `Content-Length: ${length}\r\n`;
    text += this.#dated(isStopping);
    if (length === undefined) text += 'Transfer-Encoding: chunked\r\n';
    return `${text}\r\n`;
  }

  /** A head as another member answered, with what is this server's own. */
  relayed(text: string): Buffer {
    const {replayProtection, isStopping} = this.#context;
    const own = `X-Svc-Replay-Protection: ${replayProtection}\r\n`;
    const closes = isStopping ? 'Connection: close\r\n' : '';
    return Buffer.from(`${text}\r\n${own}${closes}${this.#dated(isStopping)}\r\n`, 'latin1');
  }

  #dated(closes: boolean): string {
    this.#look();
    return closes ? this.#date : this.#date + this.#keepAlive;
  }

  #datedBytes(): Buffer {
    this.#look();
    return this.#end;
  }

  /** Looks at the clock: the date is made once a second. */
  #look(): void {
    const now = this.#context.options.clock.now();
    const second = Math.floor(now / 1_000);
    if (second === this.#second) return;
    this.#second = second;
    this.#date = `Date: ${new Date(now).toUTCString()}\r\n`;
    this.#end = Buffer.from(`\r\n${this.#date}${this.#keepAlive}\r\n`);
  }
}
