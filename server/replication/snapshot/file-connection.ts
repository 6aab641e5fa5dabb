/**
 * A connection to another member over which files come, one after the other.
 *
 * It speaks just as much HTTP as that takes, on the socket itself: bytes land in one buffer of a
 * megabyte that is used again and again, and go from there to whoever takes them. Through Node's
 * client they would come in many small new pieces, at more processor time (note 20).
 *
 * Invariant: one request at a time; after a failure the connection is of no use any more.
 */
import {connect, isIP, type OnReadOpts, type Socket} from 'node:net';
import {connect as connectSecurely, type ConnectionOptions} from 'node:tls';
import {PeerFailure, type PeerEndpoint} from './peer-requests.ts';

export interface FileRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What becomes of an answer. Neither function keeps a piece: its memory is used again. */
export interface FileTaker {
  /** Called before the first piece. What it throws ends the request. */
  begin(status: number, bodyBytes: number): void;
  take(piece: Buffer): void;
}

interface Running {
  readonly taker: FileTaker;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
  /** Undefined while the head is not complete. */
  bodyBytesLeft: number | undefined;
}

const bufferBytes = 1 << 20;
const headBytesMax = 16 << 10;
const headEnd = Buffer.from('\r\n\r\n');

export class FileConnection {
  readonly #endpoint: PeerEndpoint;
  readonly #socket: Socket;
  #head: Buffer = Buffer.alloc(0);
  #running: Running | undefined;
  #failure: unknown;

  /** @param idleMs - For the connection to come about, and between two pieces. */
  constructor(endpoint: PeerEndpoint, idleMs: number) {
    this.#endpoint = endpoint;
    const {host, port, tls} = endpoint;
    const onread: OnReadOpts = {
      buffer: Buffer.allocUnsafeSlow(bufferBytes),
      callback: (count, buffer) => {
        this.#hear(Buffer.from(buffer.buffer, buffer.byteOffset, count));
        return true;
      },
    };
    // Known to `tls.connect` as to `net.connect`, and missing in its types.
    const common = {host, port, onread};
    const trusted = tls === undefined || tls.ca.length === 0 ? {} : {ca: [...tls.ca]};
    const named = isIP(host) === 0 ? {servername: host} : {};
    const secure: ConnectionOptions = {...common, ...trusted, ...named};
    this.#socket = tls === undefined ? connect(common) : connectSecurely(secure);
    this.#socket.setTimeout(idleMs, () => this.#fail(`silent for ${idleMs} ms`));
    this.#socket.on('error', error => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('the connection was closed'));
  }

  /**
   * Resolves when all of the answer was taken.
   *
   * @throws {PeerFailure} when the connection breaks, or brings no answer that can be one; and
   *   whatever the taker throws.
   */
  get({path, headers}: FileRequest, taker: FileTaker): Promise<void> {
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    this.#running = {taker, resolve, reject, bodyBytesLeft: undefined};
    const {host, port, token} = this.#endpoint;
    const given = {Host: `${host}:${port}`, 'X-Svc-Cluster-Token': token, ...headers};
    const lines = Object.entries(given).map(([name, value]) => `${name}: ${value}\r\n`);
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
    return promise;
  }

  close(): void {
    this.#socket.destroy();
  }

  #hear(piece: Buffer): void {
    try {
      this.#take(piece);
    } catch (error) {
      this.#end(error);
    }
  }

  #take(piece: Buffer): void {
    const running = this.#running;
    if (running === undefined) throw new PeerFailure('bytes came that nobody asked for');
    const body = running.bodyBytesLeft === undefined ? this.#begin(piece, running) : piece;
    const left = running.bodyBytesLeft;
    if (left === undefined) return;
    if (body.length > left) throw new PeerFailure('more bytes came than were announced');
    if (body.length > 0) running.taker.take(body);
    running.bodyBytesLeft = left - body.length;
    if (running.bodyBytesLeft > 0) return;
    this.#running = undefined;
    running.resolve();
  }

  /** Reads the head where it is complete; answers what of the body came with it. */
  #begin(piece: Buffer, running: Running): Buffer {
    this.#head = Buffer.concat([this.#head, piece]);
    const at = this.#head.indexOf(headEnd);
    if (at < 0 && this.#head.length <= headBytesMax) return this.#head;
    const text = this.#head.toString('latin1', 0, at < 0 ? headBytesMax : at);
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1]);
    const length =
      status === 304 ? '0' : /\r\ncontent-length: *(\d{1,15})(?:\r|$)/i.exec(text)?.[1];
    if (at < 0 || Number.isNaN(status) || length === undefined) {
      throw new PeerFailure(`an answer that cannot be one: ${text.slice(0, 100)}`);
    }
    const body = this.#head.subarray(at + headEnd.length);
    this.#head = Buffer.alloc(0);
    running.bodyBytesLeft = Number(length);
    running.taker.begin(status, Number(length));
    return body;
  }

  #fail(reason: string): void {
    const {host, port} = this.#endpoint;
    this.#end(new PeerFailure(`${host}:${port} broke off: ${reason}`));
  }

  #end(error: unknown): void {
    this.#failure ??= error;
    this.#running?.reject(this.#failure);
    this.#running = undefined;
    this.#socket.destroy();
  }
}
