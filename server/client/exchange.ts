/**
 * One HTTP exchange on a keep-alive connection, buffered or streamed.
 *
 * Why not `fetch`: a write whose answer is lost must be told apart from one that never left
 * (`UnknownOutcome`, `NotConnected`), and the client must never send a write twice on its own.
 * Only a request on a reused connection that the server had already closed, of which not one
 * byte was answered, is sent again, and only when the caller says that it is harmless (`again`).
 */
import http from 'node:http';
import https from 'node:https';
import type {Readable} from 'node:stream';
import {NotConnected, UnknownOutcome} from './server-error.ts';

/** Where a server listens and how its connections are kept. Close it to end the connections. */
export interface Endpoint {
  readonly url: URL;
  readonly agent: http.Agent;
  readonly timeoutMillis: number;
  /** A complete answer that is larger is not read to its end. Undefined: no limit. */
  readonly answerBytesMax?: number | undefined;
}

/** What is sent. `body` is borrowed until the exchange settles. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string | AsyncIterable<Uint8Array | string>;
  /** True when a second copy of the request changes nothing (reads). */
  readonly again: boolean;
  /** Gives up: what was sent has then an unknown outcome. */
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose body is still arriving. The caller reads it to its end or destroys it. */
export interface StreamedAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Readable;
}

/** A complete answer. */
export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** Makes an endpoint with at most `connectionsMax` connections, each kept alive. */
export function endpoint(
  url: string,
  options: {connectionsMax: number; timeoutMillis: number; answerBytesMax?: number},
): Endpoint {
  const parsed = new URL(url);
  const agentOptions = {keepAlive: true, maxSockets: options.connectionsMax};
  const agent =
    parsed.protocol === 'https:' ? new https.Agent(agentOptions) : new http.Agent(agentOptions);
  const {timeoutMillis, answerBytesMax} = options;
  return {url: parsed, agent, timeoutMillis, answerBytesMax};
}

/**
 * Sends and reads the whole answer into memory.
 *
 * @throws {NotConnected | UnknownOutcome} as `exchangeStream`, and where the answer breaks off or
 *   is larger than the endpoint allows.
 */
export async function exchange(to: Endpoint, outgoing: Outgoing): Promise<Answer> {
  const answer = await exchangeStream(to, outgoing);
  try {
    const text = await readAll(answer.body, to.answerBytesMax);
    return {status: answer.status, headers: answer.headers, text};
  } catch (error) {
    const why = error instanceof TooLarge ? error.message : 'broke off';
    throw new UnknownOutcome(`the answer of ${to.url.host} ${why}`, {cause: error});
  }
}

/**
 * Sends and resolves at the head of the answer.
 *
 * @throws {NotConnected} nothing was sent.
 * @throws {UnknownOutcome} something was sent and no head came back, or not in time.
 */
export async function exchangeStream(to: Endpoint, outgoing: Outgoing): Promise<StreamedAnswer> {
  try {
    return await attempt(to, outgoing);
  } catch (error) {
    const stale = error instanceof UnknownOutcome && error.cause instanceof StaleConnection;
    if (!stale || !outgoing.again) throw error;
    return await attempt(to, outgoing);
  }
}

class TooLarge extends Error {}

/** A kept connection was found closed by the server when the next request was put on it. */
class StaleConnection extends Error {}

function attempt(to: Endpoint, outgoing: Outgoing): Promise<StreamedAnswer> {
  const {url} = to;
  const {promise, resolve, reject} = Promise.withResolvers<StreamedAnswer>();
  const body = outgoing.body;
  const headers: Record<string, string | number> = {...outgoing.headers};
  if (typeof body === 'string') headers['Content-Length'] = Buffer.byteLength(body);
  else if (body instanceof Uint8Array) headers['Content-Length'] = body.byteLength;
  const send = url.protocol === 'https:' ? https.request : http.request;
  const request = send({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? undefined : Number(url.port),
    method: outgoing.method,
    path: outgoing.path,
    headers,
    agent: to.agent,
    timeout: to.timeoutMillis,
    ...(outgoing.signal === undefined ? {} : {signal: outgoing.signal}),
  });
  let connected = false;
  request.on('socket', socket => {
    if (!socket.connecting) connected = true;
    else socket.once('connect', () => (connected = true));
  });
  request.on('timeout', () => {
    request.destroy(new Error(`no answer within ${to.timeoutMillis} ms`));
  });
  request.on('error', error => {
    const code = (error as NodeJS.ErrnoException).code;
    if (!connected) {
      reject(new NotConnected(`cannot reach ${url.host} (${error.message})`, {cause: error}));
    } else {
      const stale = request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
      const cause = stale ? new StaleConnection(error.message) : error;
      const what = `the connection to ${url.host} failed before the answer: ${error.message}`;
      reject(new UnknownOutcome(what, {cause}));
    }
  });
  request.on('response', response => {
    resolve({status: response.statusCode ?? 0, headers: response.headers, body: response});
  });
  if (body === undefined || typeof body === 'string' || body instanceof Uint8Array) {
    request.end(body);
  } else {
    pour(body, request).catch((error: unknown) => {
      request.destroy(error instanceof Error ? error : new Error(String(error)));
      reject(error);
    });
  }
  return promise;
}

/** Writes the chunks with back-pressure; stops quietly when the server has ended the exchange. */
async function pour(
  chunks: AsyncIterable<Uint8Array | string>,
  request: http.ClientRequest,
): Promise<void> {
  for await (const chunk of chunks) {
    if (request.destroyed) return;
    if (!request.write(chunk)) await drained(request);
  }
  request.end();
}

function drained(request: http.ClientRequest): Promise<void> {
  const {promise, resolve} = Promise.withResolvers<void>();
  const settle = (): void => {
    request.off('drain', settle);
    request.off('close', settle);
    resolve();
  };
  request.on('drain', settle);
  request.on('close', settle);
  return promise;
}

/** Collects a body as UTF-8 text. */
export async function readAll(body: Readable, bytesMax = Infinity): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new TooLarge(`is larger than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Yields the lines of a streamed body, without their ends; the last may lack one. */
export async function* linesOf(body: Readable): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body as AsyncIterable<Buffer>) {
    const lines = (rest + decoder.decode(chunk, {stream: true})).split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter(line => line !== '');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}
