/**
 * The HTTP server: node's parser and sockets, our router, bounds on both (docs/http.md).
 *
 * Path of a request: dispatch.ts (size, route, credentials, repeated ids) → one handler of the
 * route tables below → session → exchange.ts, which alone writes answers. Slow senders are bounded
 * by time at every stage: headers by node, bodies by body.ts, readers of answers by exchange.ts.
 */
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import {createServer as createSecureServer, type Server as SecureServer} from 'node:https';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {SecureContextOptions} from 'node:tls';
import {assert} from '#server/base/assert.ts';
import type {Ports} from '#server/base/setting-row.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import {uuidOf} from '#server/base/uuid.ts';
import type {Principal} from '#server/security/principal.ts';
import {Acceptors} from '#server/listeners/acceptors.ts';
import {endIfSilent} from '#server/listeners/end-if-silent.ts';
import type {ListenAddress, ProtocolServer} from '#server/listeners/stream-listener.ts';
import {agentRoutes} from './routes/agents.ts';
import {apiTokenRoutes} from './routes/api-tokens.ts';
import {answerBroken} from './raw-http/broken-request.ts';
import {clusterCallRoutes} from './cluster/cluster-calls.ts';
import {clusterRoutes} from './cluster/cluster.ts';
import {HttpContext, type HttpOptions} from './context.ts';
import {databaseRoutes} from './routes/databases.ts';
import {dispatch} from './dispatch.ts';
import {documentationRoutes} from './documentation/documentation.ts';
import type {Exchange} from './message/exchange.ts';
import {RawHttpListener} from './raw-http/raw-http-listener.ts';
import {exchangeRoutes} from './routes/exchange.ts';
import {groupRoutes} from './routes/groups.ts';
import {loginRoutes} from './message/logins.ts';
import {type Route, Router} from './router.ts';
import {clusterLoginRoutes} from './cluster/cluster-logins.ts';
import {clusterVerifyRoutes} from './cluster/cluster-verify.ts';
import {snapshotArchiveRoutes} from './cluster/snapshot-archive.ts';
import {snapshotRoutes} from './cluster/snapshots.ts';
import {allFigures} from './routes/prometheus.ts';
import {serverRoutes} from './routes/server-info.ts';
import {searchRoutes} from './routes/searches.ts';
import {statementRoutes} from './routes/statements.ts';
import {transactionRoutes} from './routes/transactions.ts';
import {userRoutes} from './routes/users.ts';
import {isForWebSockets, WebSockets} from './websocket/websockets.ts';

/**
 * Takes the body of a batch as it arrives. It answers through the exchange, or throws a Refusal
 * before the first byte of its answer.
 */
export type BatchHandler = (
  exchange: Exchange,
  principal: Principal,
  database: string,
) => Promise<void>;

export interface HttpServer extends ProtocolServer {
  /**
   * Listens on the first free port of a range and returns it; 0 lets the system choose.
   *
   * @throws {Error} `EADDRINUSE` and the like when no port of the range can be had.
   */
  listen(host: string, ports: Ports, beside?: number): Promise<number>;
  /**
   * Works like `listen` for HTTPS with the given key and certificates.
   *
   * @param beside - Port of a server of this process that still listens and gives way
   *   (starting-server.ts); it is taken instead of the range.
   */
  listenSecurely(
    host: string,
    ports: Ports,
    keys: SecureContextOptions,
    beside?: number,
  ): Promise<number>;
  /** Requests that the raw HTTP path has answered. */
  readonly laneAnswers: number;
  /** The metric families of every part of the server at this moment. */
  figures(): Figures;
}

/** Every route, in the order of the manual. */
export function routeTable(batch: BatchHandler): readonly Route[] {
  return [
    ...databaseRoutes,
    ...loginRoutes,
    ...statementRoutes,
    ...transactionRoutes,
    ...searchRoutes,
    {
      path: '/batch/{database}',
      streamsBody: true,
      operations: {
        POST: {
          access: 'user',
          at: 'leader',
          run: (exchange, principal) => {
            exchange.allowBody();
            return batch(exchange, principal, exchange.segments[1] ?? '');
          },
        },
      },
    },
    ...exchangeRoutes,
    ...serverRoutes,
    ...userRoutes,
    ...groupRoutes,
    ...apiTokenRoutes,
    ...agentRoutes,
    ...snapshotRoutes,
    ...snapshotArchiveRoutes,
    ...clusterVerifyRoutes,
    ...clusterLoginRoutes,
    ...clusterRoutes,
    ...clusterCallRoutes,
    ...documentationRoutes(),
  ];
}

/** A server that does not listen yet. */
export function createHttpServer(
  options: HttpOptions & {readonly batch: BatchHandler},
): HttpServer {
  const {clock, timers} = options;
  const context = new HttpContext(options, uuidOf(options.random));
  const routes = routeTable(options.batch);
  const router = new Router(
    options.agents === undefined ? routes.filter(route => !agentRoutes.includes(route)) : routes,
  );
  const sockets = new WebSockets(context);
  const parts = {context, router, sockets};
  const plain = new Listener(parts, createServer(serverOptions(context)));
  context.acceptors['http'] = plain.acceptors;
  let secure: Listener<SecureServer> | undefined;
  const addresses: ListenAddress[] = [];
  const listeners = (): readonly Listener[] => (secure === undefined ? [plain] : [plain, secure]);
  return {
    get laneAnswers() {
      return listeners().reduce((sum, {rawHttp}) => sum + rawHttp.answered, 0);
    },
    addresses,
    figures: () => allFigures(context),
    async listen(host, ports, beside) {
      const port = await listenOn(plain.acceptors, {host, ports, beside});
      context.ports['http'] = port;
      addresses.push({host, port, isSecure: false});
      return port;
    },
    async listenSecurely(host, ports, keys, beside) {
      // HTTP/2 is not offered: docs/design/0055-multiplexed-http.md.
      const handshakeTimeout = context.settings.get('svc.network.socketTimeout');
      const server = createSecureServer({...serverOptions(context), handshakeTimeout, ...keys});
      secure = new Listener(parts, server, 'secureConnection');
      context.acceptors['https'] = secure.acceptors;
      const port = await listenOn(secure.acceptors, {host, ports, beside});
      context.ports['https'] = port;
      addresses.push({host, port, isSecure: true});
      return port;
    },
    renew: keys => secure?.server.setSecureContext(keys),
    async close(graceMs) {
      context.isStopping = true;
      context.lateTurns.end();
      context.security.endDelays();
      context.meters.end();
      const closed = Promise.all(listeners().map(listener => listener.close()));
      sockets.close();
      const deadline = clock.monotonic() + graceMs;
      const cancel = timers.after(graceMs, () => {
        for (const listener of listeners()) listener.breakOff();
        sockets.breakOff();
      });
      await closed;
      cancel();
      context.gateway?.close();
      while (context.backgroundCount > 0 && clock.monotonic() < deadline) {
        await new Promise<void>(resolve => timers.after(backgroundPollMs, resolve));
      }
    },
  };
}

async function listenOn(
  acceptors: Acceptors,
  {
    host,
    ports,
    beside,
  }: {readonly host: string; readonly ports: Ports; readonly beside: number | undefined},
): Promise<number> {
  if (beside === undefined) return await acceptors.listen(host, ports);
  await acceptors.listenBeside(host, beside);
  return beside;
}

function serverOptions({settings}: HttpContext): ServerOptions {
  const headersTimeout = settings.get('svc.network.socketTimeout');
  return {
    headersTimeout,
    connectionsCheckingInterval: Math.max(50, Math.min(headersTimeout, 5_000)),
    keepAliveTimeout: settings.get('svc.network.keepAliveTimeout'),
    // Bodies are bounded where they are read, since a batch may rightly take hours.
    requestTimeout: 0,
    noDelay: true,
    shouldUpgradeCallback: isForWebSockets,
  };
}

/** What all listeners of a server share. */
interface ListenerParts {
  readonly context: HttpContext;
  readonly router: Router;
  readonly sockets: WebSockets;
}

/** One of node's servers with the raw HTTP path in front, over TCP or over TLS. */
class Listener<S extends Server | SecureServer = Server | SecureServer> {
  readonly server: S;
  readonly acceptors: Acceptors;
  readonly rawHttp: RawHttpListener;

  constructor(
    {context, router, sockets}: ListenerParts,
    server: S,
    connected: 'connection' | 'secureConnection' = 'connection',
  ) {
    this.server = server;
    this.rawHttp = openRawListener(server, context, connected);
    this.acceptors = new Acceptors(server, {
      connectionsMax: context.settings.get('svc.network.connectionsMax'),
      strangersMax: context.settings.get('svc.network.maxPreAuthConnections'),
      // A handshake takes longer than a turn.
      ...(connected === 'connection' ? {} : {sockets: 1}),
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void dispatch(context, router, request, response, false);
    });
    server.on('timeout', (socket: Socket) => {
      void endIfSilent(socket, context.options.timers);
    });
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      sockets.upgrade(request, socket, head);
    });
    server.on('clientError', (error, socket) => {
      answerBroken(context, error, socket as Socket);
    });
    server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
      void dispatch(context, router, request, response, true);
    });
  }

  /** Takes no more connections; resolves when those that are open have ended. */
  async close(): Promise<void> {
    const {server, rawHttp} = this;
    const closed = this.acceptors.close();
    server.closeIdleConnections();
    rawHttp.closeIdle();
    await closed;
  }

  breakOff(): void {
    this.server.closeAllConnections();
    this.rawHttp.closeAll();
  }
}

const backgroundPollMs = 10;

/**
 * Puts the raw HTTP path in front of node's own listener, which gets what the raw HTTP path does
 * not take.
 */
function openRawListener(
  server: Server | SecureServer,
  context: HttpContext,
  connected: 'connection' | 'secureConnection',
): RawHttpListener {
  const [listener] = server.listeners(connected);
  assert(listener !== undefined, "node's server listens for connections");
  server.removeAllListeners(connected);
  const rawHttp = new RawHttpListener(context, (socket, bytes) => {
    listener.call(server, socket);
    if (socket.isPaused()) socket.resume();
    if (bytes.length > 0) socket.unshift(bytes);
  });
  server.on(connected, (socket: Socket) => rawHttp.accept(socket));
  return rawHttp;
}
