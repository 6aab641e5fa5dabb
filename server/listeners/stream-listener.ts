/**
 * Where a protocol of its own takes connections, in clear and over TLS: it is given each one that
 * came, and nothing of ports, limits, certificates and the end of the server is its matter.
 *
 * A connection is a stranger until its protocol says that somebody has shown who he is. Strangers
 * are few (acceptors.ts) and have little time.
 */
import {createServer, type Server, type Socket} from 'node:net';
import {createServer as createSecureServer, type SecureContextOptions} from 'node:tls';
import type {Ports} from '#server/base/setting-row.ts';
import type {Timers} from '#server/platform/clock.ts';
import {Acceptors} from './acceptors.ts';

/** A protocol that is served. */
export interface ProtocolServer {
  /** Where it listens. */
  readonly addresses: readonly ListenAddress[];
  /** Connections from now on get these certificates. */
  renew(keys: SecureContextOptions): void;
  /**
   * Takes no more connections, lets those that are open end for `graceMs`, then breaks them off.
   * Resolves when every connection is gone.
   */
  close(graceMs: number): Promise<void>;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}

/** A connection as its protocol gets it. */
export interface StreamConnection {
  /** The socket, or the `TLSSocket` behind its handshake. */
  readonly socket: Socket;
  /** Somebody has shown who he is: the connection may stay. */
  admit(): void;
  /** The server ends: what is under way may be finished, and nothing is begun. */
  onEnding(end: () => void): void;
}

export interface StreamListenerOptions {
  readonly serve: (connection: StreamConnection) => void;
  readonly timers: Pick<Timers, 'after'>;
  readonly connectionsMax: number;
  /** Strangers among them; the oldest one is closed for the next. */
  readonly strangersMax: number;
  /** How long one may stay a stranger, its handshake included. */
  readonly strangerMs: number;
}

interface OpenConnection {
  readonly socket: Socket;
  end: () => void;
}

export class StreamListener implements ProtocolServer {
  readonly #options: StreamListenerOptions;
  readonly #acceptors: Acceptors[] = [];
  readonly #addresses: ListenAddress[] = [];
  readonly #renewals: ((keys: SecureContextOptions) => void)[] = [];
  readonly #open = new Set<OpenConnection>();
  #isEnding = false;

  constructor(options: StreamListenerOptions) {
    this.#options = options;
  }

  get addresses(): readonly ListenAddress[] {
    return this.#addresses;
  }

  /**
   * Listens on the first free port of a range and returns it; 0 lets the system choose.
   *
   * @throws {Error} `EADDRINUSE` and the like when no port of the range can be had.
   */
  async listen(host: string, ports: Ports): Promise<number> {
    const server = createServer({noDelay: true});
    return await this.#listen(server, {host, ports, isSecure: false});
  }

  /** Works like `listen`, over TLS. */
  async listenSecurely(host: string, ports: Ports, keys: SecureContextOptions): Promise<number> {
    const {strangerMs: handshakeTimeout} = this.#options;
    const server = createSecureServer({...keys, handshakeTimeout});
    // What breaks in the handshake has no protocol that could tell anybody.
    server.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#renewals.push(renewed => server.setSecureContext(renewed));
    return await this.#listen(server, {host, ports, isSecure: true});
  }

  renew(keys: SecureContextOptions): void {
    for (const renewal of this.#renewals) renewal(keys);
  }

  async close(graceMs: number): Promise<void> {
    this.#isEnding = true;
    const closed = Promise.all(this.#acceptors.map(acceptors => acceptors.close()));
    for (const {end} of this.#open) end();
    const cancel = this.#options.timers.after(graceMs, () => {
      for (const {socket} of this.#open) socket.destroy();
    });
    await closed;
    cancel();
  }

  async #listen(
    server: Server,
    {host, ports, isSecure}: {host: string; ports: Ports; isSecure: boolean},
  ): Promise<number> {
    const {connectionsMax, strangersMax} = this.#options;
    const limits = {connectionsMax, strangersMax};
    // A handshake takes longer than a turn.
    const acceptors = new Acceptors(server, {...limits, ...(isSecure && {sockets: 1})});
    this.#acceptors.push(acceptors);
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => {
      this.#take(socket, acceptors);
    });
    const port = await acceptors.listen(host, ports);
    this.#addresses.push({host, port, isSecure});
    return port;
  }

  #take(socket: Socket, acceptors: Acceptors): void {
    const {serve, timers, strangerMs} = this.#options;
    socket.on('error', () => socket.destroy());
    if (this.#isEnding) {
      socket.destroy();
      return;
    }
    const open: OpenConnection = {socket, end: () => socket.destroy()};
    const cancel = timers.after(strangerMs, () => socket.destroy());
    const admit = (): void => {
      acceptors.admit(socket);
      cancel();
    };
    this.#open.add(open);
    socket.once('close', () => {
      cancel();
      this.#open.delete(open);
    });
    const onEnding = (end: () => void): void => {
      open.end = end;
    };
    serve({socket, admit, onEnding});
  }
}
