/**
 * What one member asks another over HTTP: small questions, answered at once or not at all.
 *
 * The cluster's token vouches for the request. An answer that does not come in time, is too long
 * or is no JSON is an error that names the peer and never the token.
 */
import {hostAndPort, isLoopbackAddress} from '#server/base/addresses.ts';
import type {ClusterPeer} from '#server/cluster/cluster.ts';
import {traceParentText} from '#server/monitoring/telemetry.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {TraceScope} from '#server/platform/trace-scope.ts';
import {encodedUser} from './forwarded-headers.ts';
import {type HttpTarget, KeptConnections, targetOf} from './idle-connections.ts';

export interface PeerQuestion {
  readonly peer: Pick<ClusterPeer, 'id' | 'host' | 'httpPort' | 'httpsPort'>;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** A path below `/api/v1`. */
  readonly path: string;
  readonly token: string;
  /** Whom the request speaks for; absent for what members alone may ask. */
  readonly user?: string;
  readonly body?: unknown;
  readonly timeoutMs: number;
}

export interface PeerAnswer {
  readonly status: number;
  readonly json: unknown;
}

const answerBytesMax = 16 * 1024 * 1024;

export interface PeerClientOptions {
  /** Whether this server listens for HTTPS. */
  readonly isSecure: () => boolean;
  /** Whose certificates are believed of a peer; empty: those that the machine trusts. */
  readonly authorities: () => readonly string[];
  readonly logger: Logger;
  /** Absent where nothing is traced. */
  readonly scope?: Pick<TraceScope, 'getStore'>;
}

const socketsMax = 16;
const idleSocketsMax = 4;

export class PeerClient {
  readonly #options: PeerClientOptions;
  readonly #connections: KeptConnections;
  #hasWarned = false;

  constructor(options: PeerClientOptions) {
    const {authorities} = options;
    this.#options = options;
    this.#connections = new KeptConnections({socketsMax, idleSocketsMax, authorities});
  }

  /** Ends the kept connections. */
  close(): void {
    this.#connections.close();
  }

  /**
   * Tells, once in a process, that the token of the cluster goes to a member in clear: for whoever
   * sends it there, on whichever way. Between servers of one machine that is no news, unless they
   * are meant to speak HTTPS.
   */
  warnOfClear({host, port, isSecure}: HttpTarget): void {
    if (this.#hasWarned || isSecure) return;
    const isNear = host === 'localhost' || isLoopbackAddress(host);
    if (isNear && !this.#options.isSecure()) return;
    this.#hasWarned = true;
    this.#options.logger.log('warn', 'cluster.token-in-clear', {
      to: hostAndPort(host, port),
      advice:
        'requests between members go in clear, token of the cluster and all: set ' +
        'svc.ssl.enabled on all of them, and give their https ports in svc.ha.serverList',
    });
  }

  /**
   * What a request to a member says of the trace that it is sent for, on whichever way: the header
   * `traceparent`; undefined outside of every trace.
   */
  get traceParent(): string | undefined {
    const place = this.#options.scope?.getStore();
    return place && traceParentText(place);
  }

  /** Rejects with an Error whose message is for people: who did not answer, and why. */
  ask(question: PeerQuestion): Promise<PeerAnswer> {
    const {peer, method, path, timeoutMs, body} = question;
    const sent = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const fail = (reason: string): void =>
        reject(new Error(`${peer.id} did not answer: ${reason}`));
      const target = targetOf(peer, this.#options.isSecure());
      if (target === undefined) return fail('its HTTP address is not known');
      this.warnOfClear(target);
      const request = this.#connections.request(target, {
        path: `/api/v1${path}`,
        method,
        headers: headersOf(question, sent, this.traceParent),
        // Of the whole question: a peer that trickles its answer is as silent as a dead one.
        signal: AbortSignal.timeout(timeoutMs),
      });
      request.on('error', error => {
        fail(error.name === 'AbortError' ? `silent for ${timeoutMs} ms` : error.message);
      });
      request.on('response', response => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > answerBytesMax) response.destroy(new Error('its answer is too long'));
          else pieces.push(piece);
        });
        response.on('error', error => fail(error.message));
        response.on('end', () => {
          const json = parsed(Buffer.concat(pieces));
          if (json === undefined) fail('its answer is no JSON');
          else resolve({status: response.statusCode ?? 0, json: json.value});
        });
      });
      request.end(sent);
    });
  }
}

function headersOf(
  {token, user}: PeerQuestion,
  sent: Buffer | undefined,
  traceParent: string | undefined,
): Record<string, string | number> {
  return {
    'X-Svc-Cluster-Token': token,
    ...(user === undefined ? {} : {'X-Svc-Forwarded-User': encodedUser(user)}),
    ...(traceParent === undefined ? {} : {traceparent: traceParent}),
    ...(sent === undefined
      ? {}
      : {'Content-Type': 'application/json', 'Content-Length': sent.length}),
  };
}

/** An empty body is no value, and fine. */
function parsed(bytes: Buffer): {readonly value: unknown} | undefined {
  if (bytes.length === 0) return {value: undefined};
  try {
    return {value: JSON.parse(bytes.toString('utf8'))};
  } catch {
    return undefined;
  }
}
