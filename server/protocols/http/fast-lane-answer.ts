/**
 * Heads of the fast lane's answers, the same bytes that node would write for ours.
 *
 * What is the same for every answer of a server, or of a second, is kept as text.
 */
import {STATUS_CODES} from 'node:http';
import type {HttpContext} from './context.ts';
import {jsonType, sessionHeader} from './exchange.ts';

/** What differs between answers. */
export interface AnswerHead {
  readonly status: number;
  readonly contentType: string;
  readonly requestId: string;
  readonly sessionId: string | undefined;
  /** Flat names and values. */
  readonly headers: readonly string[];
  /** Bytes of the body; undefined for chunks. */
  readonly length: number | undefined;
}

export class AnswerHeads {
  readonly #context: HttpContext;
  readonly #keepAlive: string;
  readonly #constant: string;
  #second = -1;
  #end = '';

  constructor(context: HttpContext, keepAliveMs: number) {
    this.#context = context;
    const timeout =
      keepAliveMs > 0 ? `Keep-Alive: timeout=${Math.floor(keepAliveMs / 1_000)}\r\n` : '';
    this.#keepAlive = `Connection: keep-alive\r\n${timeout}`;
    this.#constant =
      `\r\nX-Svc-Replay-Protection: ${context.replayProtection}\r\n` +
      `Content-Type: ${jsonType}\r\n`;
  }

  /** The usual head: 200, JSON, its length. Text of one byte a character. */
  plain(length: number, sessionId: string | undefined): string {
    const context = this.#context;
    if (context.isStopping) {
      const head = {status: 200, contentType: jsonType, sessionId, headers: [], length};
      return this.any({...head, requestId: context.nextRequestId()});
    }
    const session = sessionId === undefined ? '' : `${sessionHeader}: ${sessionId}\r\n`;
    return (
      `HTTP/1.1 200 OK\r\nX-Request-Id: ${context.nextRequestId()}\r\n` +
      `X-Svc-Commit-Index: ${context.service.appliedIndex}${this.#constant}${session}` +
      `Content-Length: ${length}\r\n${this.#dated()}\r\n`
    );
  }

  any(head: AnswerHead): string {
    const {status, contentType, requestId, sessionId, headers, length} = head;
    const {service, replayProtection, isStopping} = this.#context;
    let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n`;
    text += `X-Request-Id: ${requestId}\r\nX-Svc-Commit-Index: ${service.appliedIndex}\r\n`;
    text += `X-Svc-Replay-Protection: ${replayProtection}\r\nContent-Type: ${contentType}\r\n`;
    if (sessionId !== undefined) text += `${sessionHeader}: ${sessionId}\r\n`;
    for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`;
    if (isStopping) text += 'Connection: close\r\n';
    if (length !== undefined && status !== 204) text += `Content-Length: ${length}\r\n`;
    text += this.#dated(isStopping);
    if (length === undefined) text += 'Transfer-Encoding: chunked\r\n';
    return `${text}\r\n`;
  }

  #dated(closes = false): string {
    const now = this.#context.options.clock.now();
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#end = `Date: ${new Date(now).toUTCString()}\r\n`;
    }
    return closes ? this.#end : this.#end + this.#keepAlive;
  }
}
