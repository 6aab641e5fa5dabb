/**
 * How a TCP connection between peers is protected: not at all, or by TLS with certificates on both
 * sides. Whoever dials holds the certificate against the host that it dialled, whatever that was
 * resolved to; whoever is dialled asks for a certificate of the same authority.
 *
 * Source: docs/cluster-connections.md.
 */
import {connect, createServer as createPlainServer, isIP, type Socket} from 'node:net';
import {
  checkServerIdentity,
  connect as connectSecurely,
  createSecureContext,
  createServer,
  type SecureContextOptions,
} from 'node:tls';

export interface Destination {
  /** The host by which the peer is known; its certificate has to name it. */
  readonly host: string;
  /** What the host resolved to. */
  readonly address: string;
  readonly port: number;
}

/** A port at which others knock. */
export interface PeerPort {
  /** Listens everywhere without a host. Resolves with the port. @throws {Error} Of the system. */
  listenOn(host: string | undefined, port: number): Promise<number>;
  /** Resolves when nobody is taken any more and every connection has ended. */
  close(): Promise<void>;
}

export interface SocketSecurity {
  /** Words can be said to whoever arrives, before anything else. */
  readonly isClear: boolean;
  /** Calls `arrived` with each connection, before anything is said over it. */
  serve(arrived: (socket: Socket) => void): PeerPort;
  /** A socket that can be written to at once; what fails, fails later, as an event. */
  dial(destination: Destination): Socket;
  /**
   * Calls `done` once, with what to speak over; an objection is why the other side is not taken,
   * and without a socket there is nobody to tell.
   */
  receive(
    socket: Socket,
    handshakeMs: number,
    done: (received: Socket | undefined, objection: string | undefined) => void,
  ): void;
  /** Nothing is dialled or received any more. */
  close(): void;
}

/** Bytes travel as they are. */
export const plainSockets: SocketSecurity = {
  isClear: true,
  serve: portOfSystem,
  dial: ({address, port}) => connect({host: address, port}),
  receive: (socket, _, done) => done(socket, undefined),
  close: () => undefined,
};

export interface PeerKeys {
  readonly key: Buffer;
  /** The node's certificate and those between it and the authority. */
  readonly cert: Buffer;
  /** The authorities. */
  readonly ca: Buffer;
  /** Whether a dialler needs a certificate too. */
  readonly isMutual: boolean;
}

/** TLS with keys that may be renewed: later connections use the new ones. */
export class SecureSockets implements SocketSecurity {
  readonly isClear = false;
  #keys: PeerKeys;
  readonly #endWatch: () => void;

  /** @param watch - Looks for other keys, and answers how to end that. */
  constructor(keys: PeerKeys, watch?: (renew: (keys: PeerKeys) => void) => () => void) {
    this.#keys = keys;
    this.renew(keys);
    this.#endWatch = watch?.(renewed => this.renew(renewed)) ?? ((): void => undefined);
  }

  close(): void {
    this.#endWatch();
  }

  serve(arrived: (socket: Socket) => void): PeerPort {
    return portOfSystem(arrived);
  }

  /** @throws {Error} Keys that do not fit together; the old ones stay. */
  renew(keys: PeerKeys): void {
    createSecureContext(contextOf(keys));
    this.#keys = keys;
  }

  dial({host, address, port}: Destination): Socket {
    return connectSecurely({
      ...contextOf(this.#keys),
      host: address,
      port,
      servername: isIP(host) === 0 ? host : '',
      checkServerIdentity: (_, certificate) => checkServerIdentity(host, certificate),
    });
  }

  receive(...[socket, handshakeMs, done]: Parameters<SocketSecurity['receive']>): void {
    const keys = this.#keys;
    // A server of one connection: so the keys are those of now, and the outcome is this socket's.
    const server = createServer({
      ...contextOf(keys),
      handshakeTimeout: handshakeMs,
      requestCert: keys.isMutual,
      // Judged below, where the reason can be told.
      rejectUnauthorized: false,
    });
    server.once('secureConnection', secured => {
      const {authorized, authorizationError} = secured;
      const isTaken = authorized || !keys.isMutual;
      done(secured, isTaken ? undefined : `its certificate is not taken: ${authorizationError}`);
    });
    server.once('tlsClientError', ({message, code}: NodeJS.ErrnoException) => {
      socket.destroy();
      done(undefined, code === 'ECONNRESET' ? undefined : `no TLS handshake: ${message}`);
    });
    server.emit('connection', socket);
  }
}

function portOfSystem(arrived: (socket: Socket) => void): PeerPort {
  const server = createPlainServer(arrived);
  return {
    listenOn: (host, port) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen({host, port}, () => {
          server.off('error', reject);
          const address = server.address();
          resolve(typeof address === 'object' && address !== null ? address.port : port);
        });
      }),
    close: () => new Promise(resolve => void server.close(() => resolve())),
  };
}

function contextOf({key, cert, ca}: PeerKeys): SecureContextOptions {
  return {key, cert, ca, minVersion: 'TLSv1.3'};
}
