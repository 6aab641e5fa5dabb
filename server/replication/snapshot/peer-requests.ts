/**
 * Requests to another member's HTTP listener, for snapshots: with the token, kept alive, and never
 * without an end: a connection that does not come about, or brings nothing, is given up.
 */
import {Agent as HttpAgent, type IncomingMessage, request as httpRequest} from 'node:http';
import {Agent as HttpsAgent, request as httpsRequest} from 'node:https';
import {reasonOf} from '#server/base/errors.ts';

/** Where a member answers HTTP, and what it takes us for. */
export interface PeerEndpoint {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** Undefined: plain HTTP. */
  readonly tls?: {readonly ca: readonly string[]};
}

export interface PeerRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The peer could not be asked, or said no. */
export class PeerFailure extends Error {
  override readonly name = 'PeerFailure';
}

export class PeerRequests {
  readonly endpoint: PeerEndpoint;
  readonly idleMs: number;
  readonly #agent: HttpAgent;

  /** @param idleMs - For a connection to come about, and between two pieces of an answer. */
  constructor(endpoint: PeerEndpoint, idleMs: number) {
    this.endpoint = endpoint;
    this.idleMs = idleMs;
    const options = {keepAlive: true, maxSockets: 8};
    const {tls} = endpoint;
    const trusted = tls === undefined || tls.ca.length === 0 ? {} : {ca: [...tls.ca]};
    this.#agent =
      tls === undefined ? new HttpAgent(options) : new HttpsAgent({...options, ...trusted});
  }

  /** The head of the answer, whose body is to be read. @throws {PeerFailure} */
  send(request: PeerRequest): Promise<IncomingMessage> {
    const {host, port, token, tls} = this.endpoint;
    const {method, path, body} = request;
    const headers = {'X-Svc-Cluster-Token': token, ...request.headers};
    const options = {host, port, method, path, headers, agent: this.#agent, timeout: this.idleMs};
    return new Promise((resolve, reject) => {
      const failed = (error: Error): void =>
        reject(new PeerFailure(`${host}:${port} cannot be asked: ${error.message}`));
      const outgoing = (tls === undefined ? httpRequest : httpsRequest)(options, resolve);
      outgoing.on('timeout', () => outgoing.destroy(new Error(`silent for ${this.idleMs} ms`)));
      outgoing.on('error', failed);
      outgoing.end(body);
    });
  }

  /** The whole body of an answer of 200. @throws {PeerFailure} */
  async text(
    request: PeerRequest,
    bytesMax: number,
  ): Promise<{head: IncomingMessage; text: string}> {
    const head = await this.send(request);
    const pieces: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const piece of head as AsyncIterable<Buffer>) {
        bytes += piece.length;
        if (bytes > bytesMax) throw new PeerFailure(`an answer of more than ${bytesMax} bytes`);
        pieces.push(piece);
      }
    } catch (error) {
      throw asPeerFailure(error);
    }
    const text = Buffer.concat(pieces).toString('utf8');
    if (head.statusCode === 200) return {head, text};
    throw new PeerFailure(`${request.path} was answered ${head.statusCode}: ${text.slice(0, 300)}`);
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** What broke a connection in the middle of an answer, as the failure of the peer that it is. */
export function asPeerFailure(error: unknown): PeerFailure {
  if (error instanceof PeerFailure) return error;
  return new PeerFailure(reasonOf(error), {cause: error});
}
