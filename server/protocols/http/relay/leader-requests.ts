/**
 * Kept connections to the leader, and one request relayed over them.
 *
 * The request leaves with the user's name in place of its credentials, and the answer comes back
 * as it is, piece by piece, no faster than the client reads it. A client that goes away takes its
 * request at the leader with it. What belongs to one connection (RFC 9110, section 7.6.1) stays
 * behind on either side.
 */
import type {ClientRequest, IncomingMessage} from 'node:http';
import {hostAndPort} from '#server/base/addresses.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster, HttpAddress} from '#server/cluster/cluster.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import type {Exchange} from '../message/exchange.ts';
import {encodedUser, relayedHeaders} from './forwarded-headers.ts';
import {type HttpTarget, KeptConnections} from './idle-connections.ts';
import {deposedPatienceMs} from './leader-address.ts';
import {type NotRelayed, relayAnswer, type Relayed} from './relayed-response.ts';

export interface RelayParts {
  readonly principal: Principal;
  /** Undefined: it is streamed as it comes. */
  readonly body: Buffer | undefined;
  readonly target: HttpTarget;
}

const socketsMax = 256;
const idleSocketsMax = 64;

export class LeaderRequests {
  readonly #context: HttpContext;
  readonly #cluster: Cluster;
  readonly #connections: KeptConnections;

  constructor(context: HttpContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
    const {authorities = () => []} = context.options;
    this.#connections = new KeptConnections({socketsMax, idleSocketsMax, authorities});
  }

  close(): void {
    this.#connections.close();
  }

  /** Sends the request and relays the answer. Rejects when the client goes away meanwhile. */
  async relay(exchange: Exchange, parts: RelayParts): Promise<Relayed> {
    const sent = this.#send(exchange, parts);
    const answer = await sent.answer;
    if (!('headers' in answer)) return answer;
    if (answer.headers['x-svc-leader'] !== undefined && parts.body !== undefined) {
      answer.resume();
      return {kind: 'not-leader', reason: 'the server that was asked does not lead'};
    }
    const stop = (): void => void exchange.request.unpipe(sent.request);
    return relayAnswer(exchange, answer, {silenceMs: this.#patienceMs(exchange), stop});
  }

  #send(
    exchange: Exchange,
    {principal, body, target}: RelayParts,
  ): {
    readonly request: ClientRequest;
    readonly answer: Promise<IncomingMessage | NotRelayed>;
  } {
    const {settings, options} = this.#context;
    const {promise, resolve} = Promise.withResolvers<IncomingMessage | NotRelayed>();
    const request = this.#connections.request(target, {
      method: exchange.request.method,
      path: exchange.request.url,
      headers: requestHeaders(exchange, {principal, body, token: this.#cluster.token}),
    });
    const onGone = (): void => void request.destroy();
    exchange.signal.addEventListener('abort', onGone);
    request.once('close', () => exchange.signal.removeEventListener('abort', onGone));
    let left = false;
    const cancelConnect = options.timers.after(settings.get('svc.ha.proxyConnectTimeout'), () => {
      request.destroy(new Error(`no connection to ${addressOf(target)}`));
    });
    request.on('socket', socket => {
      const onConnected = (): void => {
        left = true;
        cancelConnect();
        request.setTimeout(this.#patienceMs(exchange), () => {
          request.destroy(new Error('the leader is silent'));
        });
      };
      // Nothing is written before the handshake has shown that it is who was called.
      const shakesHands = 'secureConnecting' in socket && socket.secureConnecting === true;
      if (shakesHands) socket.once('secureConnect', onConnected);
      else if (socket.connecting) socket.once('connect', onConnected);
      else onConnected();
    });
    const stopWatching = this.#watchLeader(target, request);
    request.on('response', answer => {
      stopWatching();
      request.setTimeout(0);
      resolve(answer);
    });
    request.on('error', error => {
      stopWatching();
      cancelConnect();
      resolve({kind: left ? 'broken' : 'unsent', reason: error.message});
    });
    if (body !== undefined) request.end(body);
    else {
      exchange.allowBody();
      exchange.request.pipe(request);
    }
    return {request, answer: promise};
  }

  /** Gives up on a leader that is not heard of when another one has taken its place. */
  #watchLeader(target: HttpTarget, request: ClientRequest): () => void {
    const cluster = this.#cluster;
    let cancel: (() => void) | undefined;
    const before = addressOf(cluster.leaderHttpAddress());
    const forget = cluster.onLeaderChange(() => {
      const now = addressOf(cluster.leaderHttpAddress());
      if (cancel !== undefined || now === before || (now === undefined && !cluster.isLeader))
        return;
      const patience = deposedPatienceMs(cluster, target);
      cancel = this.#context.options.timers.after(patience, () => {
        request.destroy(new Error(`${addressOf(target)} does not lead any more`));
      });
    });
    return () => {
      forget();
      cancel?.();
    };
  }

  /** Milliseconds that the leader may take to begin its answer; more than it gives itself. */
  #patienceMs({segments, streamsBody}: Exchange): number {
    const {settings} = this.#context;
    if (streamsBody) return settings.get('svc.ha.proxyBatchReadTimeout');
    return patienceMs(settings, segments[0]);
  }
}

/** The patience for a request that is sent whole; `first` is the first word of its path. */
export function patienceMs(settings: Settings, first: string | undefined): number {
  const isCommand = first === 'command' || first === 'query' || first === 'server';
  return settings.get(isCommand ? 'svc.ha.proxyCommandTimeout' : 'svc.ha.proxyReadTimeout');
}

function addressOf(leader: HttpAddress | undefined): string | undefined {
  return leader && hostAndPort(leader.host, leader.port);
}

function requestHeaders(
  {request}: Exchange,
  {
    principal,
    body,
    token,
  }: {
    readonly principal: Principal;
    readonly body: Buffer | undefined;
    readonly token: string;
  },
): string[] {
  const headers = relayedHeaders(request);
  headers.push('Host', request.headers.host ?? '');
  headers.push('X-Svc-Cluster-Token', token);
  headers.push('X-Svc-Forwarded-User', encodedUser(principal.name));
  headers.push('X-Svc-Forwarded-To-Leader', 'true');
  const length = body === undefined ? request.headers['content-length'] : String(body.length);
  if (length === undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (request.method !== 'GET') headers.push('Content-Length', length);
  return headers;
}
