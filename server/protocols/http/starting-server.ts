/**
 * What a server answers while it starts: it recovers its databases, waits for its cluster to form,
 * or waits to be let in. All of that may take minutes, and a probe, a person or an operator wants
 * to know that the process runs and what it waits for.
 *
 * `/health` is 204, `/ready` 503 with the reason as text, `/cluster` 503 with who this server is;
 * everything else is 503 and may be sent again. Nobody is asked for credentials, since users are
 * not known yet; so nothing is told but the names of servers, which `/ready` tells to everybody.
 *
 * The port is the one of the server that starts: its own sockets are opened beside these before
 * these are closed, so that no connection is refused in between.
 */
import {createServer, type IncomingMessage, type Server, type ServerResponse} from 'node:http';
import {createServer as createSecureServer} from 'node:https';
import type {SecureContextOptions} from 'node:tls';
import type {Ports} from '#server/base/setting-row.ts';
import {Acceptors} from '#server/listeners/acceptors.ts';

/** Who starts, and what it waits for at the moment. */
export interface StartState {
  readonly serverName: string;
  readonly version: string;
  /** A whole sentence without a full stop. */
  readonly reason: string;
  /** Undefined: the server belongs to no cluster. */
  readonly cluster?: {
    readonly clusterName: string;
    readonly localPeerId: string;
    /** Ids of those that it has not heard of yet. */
    readonly waitsFor: readonly string[];
  };
}

const connectionsMax = 1_000;
const headersTimeoutMs = 10_000;
const retryAfterSeconds = '1';

export class StartingServer {
  readonly #state: () => StartState;
  readonly #listening: {readonly server: Server; readonly acceptors: Acceptors}[] = [];

  constructor(state: () => StartState) {
    this.#state = state;
  }

  /** Works like `HttpServer.listen`; `keys` make it HTTPS. @throws {Error} `EADDRINUSE`. */
  async listen(host: string, ports: Ports, keys?: SecureContextOptions): Promise<number> {
    const options = {headersTimeout: headersTimeoutMs, requestTimeout: headersTimeoutMs};
    const server = keys ? createSecureServer({...options, ...keys}) : createServer(options);
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      this.#answer(request, response);
    });
    const acceptors = new Acceptors(server, {connectionsMax, sockets: 1});
    const port = await acceptors.listen(host, ports);
    this.#listening.push({server, acceptors});
    return port;
  }

  /** Takes no more connections; those that are open end with their answer (idempotent). */
  close(): void {
    for (const {server, acceptors} of this.#listening.splice(0)) {
      void acceptors.close();
      server.closeIdleConnections();
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    // The next request is for the server that will have started by then.
    response.setHeader('Connection', 'close');
    const [path = ''] = (request.url ?? '').split('?');
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (isRead && path === '/api/v1/health') {
      response.writeHead(204).end();
      return;
    }
    const {reason, ...who} = this.#state();
    response.setHeader('Retry-After', retryAfterSeconds);
    if (isRead && path === '/api/v1/ready') {
      response.writeHead(503, {'Content-Type': 'text/plain'}).end(reason);
      return;
    }
    const {cluster, serverName, version} = who;
    const status =
      isRead && path === '/api/v1/cluster'
        ? {implementation: 'raft', raftState: 'STARTING', serverName, version, ...cluster}
        : {};
    const body = {error: 'Server is starting', detail: reason, ...status};
    response.writeHead(503, {'Content-Type': 'application/json'}).end(JSON.stringify(body));
  }
}
