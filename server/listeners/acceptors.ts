/**
 * The sockets on which a server listens: several of them on one port. One address never has all of
 * the connections: the last tenth is for others.
 *
 * The event loop takes one connection from each listening socket in a turn, and then does what the
 * connections before have to do. With one socket the clients that come to a new leader all at once
 * would wait for as many turns as there are clients.
 *
 * A connection is a stranger until somebody has shown over it who he is. Strangers are few: the
 * oldest one is closed for the next, so that whoever only connects keeps nobody out.
 */
import {
  type AddressInfo,
  createServer,
  type ListenOptions,
  type Server,
  type Socket,
} from 'node:net';
import type {Ports} from '#server/base/setting-row.ts';

const socketsDefault = 8;
/** One connection of so many is for another address than that which has all others. */
const shareOfOthers = 10;
/** Errors of systems where sockets cannot share a port. */
const unsupported: ReadonlySet<unknown> = new Set(['ENOTSUP', 'EINVAL', 'ENOPROTOOPT']);

export interface AcceptorsOptions {
  /** Further connections are closed. */
  readonly connectionsMax: number;
  /** Strangers among them; absent: as many as there are connections. */
  readonly strangersMax?: number;
  /** How many listen; default 8. */
  readonly sockets?: number;
}

export class Acceptors {
  readonly #server: Server;
  readonly #options: AcceptorsOptions;
  /** They give what they take to the server. */
  readonly #others: Server[] = [];
  /** Connections of strangers by their other end, the oldest first. */
  readonly #strangers = new Map<string, Socket>();
  readonly #byAddress = new Map<string, number>();
  #connections = 0;
  #accepted = 0;
  #refused = 0;

  constructor(server: Server, options: AcceptorsOptions) {
    this.#server = server;
    this.#options = options;
    // What the others take comes by here as well.
    server.prependListener('connection', (socket: Socket) => {
      const end = endOf(socket);
      const leave = this.#enter(end, socket);
      this.#count(1);
      socket.once('close', () => {
        this.#strangers.delete(end);
        this.#count(-1);
        leave();
      });
    });
    this.#countRefused(server);
  }

  /** Somebody has shown over it who he is; a `TLSSocket` stands for the connection below it. */
  admit(socket: Socket): void {
    if (this.#strangers.size > 0) this.#strangers.delete(endOf(socket));
  }

  /** Somebody shows who he is: the connection is the newest of those of strangers. */
  renew(socket: Socket): void {
    const end = endOf(socket);
    const stranger = this.#strangers.get(end);
    if (stranger === undefined) return;
    this.#strangers.delete(end);
    this.#strangers.set(end, stranger);
  }

  /** Connections that are open; since the start those that were taken, and closed for others. */
  get counts(): Readonly<Record<'open' | 'accepted' | 'refused', number>> {
    return {open: this.#connections, accepted: this.#accepted, refused: this.#refused};
  }

  /**
   * Listens on the first free port of a range and returns it; 0 lets the system choose.
   *
   * @throws {Error} `EADDRINUSE` and the like when no port of the range can be had.
   */
  async listen(host: string, ports: Ports): Promise<number> {
    for (let port = ports.from; ; port++) {
      try {
        return await this.#listen(host, port);
      } catch (error) {
        if (codeOf(error) !== 'EADDRINUSE' || port >= ports.to) throw error;
      }
    }
  }

  /**
   * Listens on a port that other sockets of this process listen on already, with `reusePort`.
   *
   * @throws {Error} `EADDRINUSE` where sockets do not share a port.
   */
  async listenBeside(host: string, port: number): Promise<void> {
    await this.#open(host, port);
  }

  /** Takes no more connections; resolves when those that are open have ended. */
  async close(): Promise<void> {
    await Promise.all([this.#server, ...this.#others].map(closed));
  }

  async #listen(host: string, wanted: number): Promise<number> {
    // Alone first: sockets that share a port do not see that somebody else has it.
    const first = createServer();
    const port = await listening(first, {host, port: wanted});
    await closed(first);
    await this.#open(host, port);
    return port;
  }

  async #open(host: string, port: number): Promise<void> {
    const {sockets = socketsDefault} = this.#options;
    try {
      await listening(this.#server, {host, port, reusePort: true});
    } catch (error) {
      if (!unsupported.has(codeOf(error))) throw error;
      await listening(this.#server, {host, port});
      return;
    }
    while (this.#others.length < sockets - 1) {
      // As node's server takes connections.
      const other = createServer({allowHalfOpen: true, noDelay: true}, socket =>
        this.#server.emit('connection', socket),
      );
      this.#countRefused(other);
      this.#others.push(other);
      await listening(other, {host, port, reusePort: true});
    }
  }

  /** Counts a connection of its address, and ends one too many; answers how to count it no more. */
  #enter(end: string, socket: Socket): () => void {
    const {connectionsMax} = this.#options;
    const address = socket.remoteAddress ?? '';
    const count = this.#byAddress.get(address) ?? 0;
    this.#byAddress.set(address, count + 1);
    if (count < connectionsMax - Math.floor(connectionsMax / shareOfOthers)) {
      this.#accepted += 1;
      this.#greet(end, socket);
    } else {
      this.#refused += 1;
      // Behind whoever else is told of it now.
      process.nextTick(() => socket.destroy());
    }
    return () => {
      const left = (this.#byAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#byAddress.set(address, left);
      else this.#byAddress.delete(address);
    };
  }

  #countRefused(acceptor: Server): void {
    acceptor.on('drop', () => {
      this.#refused += 1;
    });
  }

  #greet(end: string, socket: Socket): void {
    const {strangersMax = Number.POSITIVE_INFINITY} = this.#options;
    this.#strangers.set(end, socket);
    if (this.#strangers.size <= strangersMax) return;
    for (const [longest, oldest] of this.#strangers) {
      this.#strangers.delete(longest);
      this.#refused += 1;
      oldest.destroy();
      return;
    }
  }

  #count(change: number): void {
    this.#connections += change;
    const isFull = this.#connections >= this.#options.connectionsMax;
    for (const acceptor of [this.#server, ...this.#others]) {
      acceptor.maxConnections = isFull ? 0 : Number.MAX_SAFE_INTEGER;
    }
  }
}

/** The other end of a connection, which no second one has at the same time. */
function endOf({remoteAddress, remotePort}: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function listening(server: Server, options: ListenOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(options, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve());
  });
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}
