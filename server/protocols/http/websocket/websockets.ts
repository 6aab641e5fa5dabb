/**
 * The door of `/ws`: who may open a WebSocket is decided before there is one.
 *
 * Whoever shows no credentials, wrong ones, or comes from a page of another host is answered like
 * any request (docs/http.md). Other requests to change the protocol are answered as if they had not
 * asked.
 */
import {type IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {WebSocketServer} from 'ws';
import {Refusal} from '#server/base/errors.ts';
import type {RequestContext} from '#server/session/session.ts';
import type {HttpContext} from '../context.ts';
import {authenticate} from '../message/authentication.ts';
import {Exchange} from '../message/exchange.ts';
import {hostOf} from '../message/cross-origin.ts';
import {PlainFailure} from '../message/failure.ts';
import {checkHead} from '../message/request-checks.ts';
import {contextOf} from '../routes/statement.ts';
import {ChangeConnection} from './change-connection.ts';

export const webSocketPath = '/ws';

/** Tells node's server whether the request is for this door; others are requests like any. */
export function isForWebSockets({url = '', headers}: IncomingMessage): boolean {
  const path = url.split('?', 1)[0];
  return path === webSocketPath && headers.upgrade?.toLowerCase() === 'websocket';
}

export class WebSockets {
  readonly #context: HttpContext;
  /** Made with the first one: most servers never need it. */
  #server: WebSocketServer | undefined;
  readonly #connections = new Set<ChangeConnection>();
  readonly #requestIds = new WeakMap<IncomingMessage, string>();

  constructor(context: HttpContext) {
    this.#context = context;
  }

  /** Handles the `upgrade` of node's server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Nobody else listens yet; what is broken off ends by itself.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Socket);
    const exchange = new Exchange(this.#context, request, response);
    exchange.routePath = webSocketPath;
    this.#context.timings?.watch(exchange);
    void this.#admit(exchange).then(
      client => {
        response.detachSocket(socket as Socket);
        this.#open(exchange, client, socket, head);
      },
      (error: unknown) => {
        response.once('finish', () => (socket as Socket).destroySoon());
        exchange.fail(error);
      },
    );
  }

  /** Asks all clients to leave. */
  close(): void {
    for (const connection of this.#connections) connection.close();
  }

  breakOff(): void {
    for (const connection of this.#connections) connection.destroy();
  }

  /** What the client says of itself. */
  async #admit(exchange: Exchange): Promise<RequestContext> {
    if (this.#context.isStopping) throw new Refusal('server.stopping', 'the server is stopping');
    checkHead(exchange);
    await authenticate(exchange);
    const origin = exchange.header('origin');
    const client = contextOf(exchange);
    if (this.#context.origins.of(exchange.request) !== undefined) return client;
    if (origin === undefined || hostOf(origin) === exchange.header('host')) return client;
    throw new PlainFailure(403, 'Security error', {
      detail: 'A page of another host may not open a WebSocket here',
    });
  }

  #open(exchange: Exchange, client: RequestContext, socket: Duplex, head: Buffer): void {
    const {request, requestId} = exchange;
    const context = this.#context;
    this.#requestIds.set(request, requestId);
    this.#server ??= this.#make();
    this.#server.handleUpgrade(request, socket, head, opened => {
      const owner = {requestId, client, authenticate: () => authenticate(exchange)};
      const connection = new ChangeConnection(context, opened, owner);
      this.#connections.add(connection);
      opened.once('close', () => this.#connections.delete(connection));
      if (context.isStopping) connection.close();
      const {timings, options} = context;
      const opening = {method: 'GET', path: webSocketPath, status: 101, database: ''};
      timings?.of(opening).add(options.clock.monotonic() - exchange.begunAt);
    });
  }

  #make(): WebSocketServer {
    const context = this.#context;
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      // Whoever reads no pongs gets none: change-connection.ts.
      autoPong: false,
      maxPayload: context.settings.get('svc.server.wsMaxControlFrameSize'),
    });
    server.on('headers', (headers, request) => {
      const requestId = this.#requestIds.get(request) ?? context.nextRequestId();
      headers.push(`X-Request-Id: ${requestId}`);
      headers.push(`X-Svc-Replay-Protection: ${context.replayProtection}`);
    });
    return server;
  }
}
