/**
 * A request of a client, relayed to the leader as it came.
 *
 * It leaves with the user's name in place of its credentials, and the answer comes back as it is,
 * piece by piece, no faster than the client reads it. What belongs to one connection (RFC 9110,
 * section 7.6.1) stays behind on either side.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RelayContext, RelayedExchange} from './relayed-exchange.ts';
import {
  memberHeaders,
  type PeerCredentials,
  relayedHeaders,
  traceParentHeader,
} from './forwarded-headers.ts';
import type {HttpTarget} from './idle-connections.ts';
import {LeaderSender} from './leader-sender.ts';
import {relayAnswer, type Relayed} from './relayed-response.ts';

export interface RelayParts {
  readonly principal: Principal;
  /** Undefined: it is streamed as it comes. */
  readonly body: Buffer | undefined;
  readonly target: HttpTarget;
}

export class LeaderRequests {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;
  readonly #sender: LeaderSender;

  constructor(context: RelayContext, cluster: Cluster) {
    this.#context = context;
    this.#cluster = cluster;
    this.#sender = new LeaderSender(context, cluster);
  }

  close(): void {
    this.#sender.close();
  }

  /** Sends the request and relays the answer. Rejects when the client goes away meanwhile. */
  async relay(exchange: RelayedExchange, {principal, body, target}: RelayParts): Promise<Relayed> {
    if (body === undefined) exchange.allowBody();
    const {request} = exchange;
    const patienceMs = this.#patienceMs(exchange);
    const sent = this.#sender.send(target, {
      method: request.method,
      path: request.url,
      headers: requestHeaders(exchange, body, {
        credentials: {token: this.#cluster.token, user: principal.name},
        traceParent: this.#context.options.peerClient.traceParent,
      }),
      body: body ?? request,
      patienceMs,
      signal: exchange.signal,
    });
    const answer = await sent.answer;
    if (!('headers' in answer)) return answer;
    if (answer.headers['x-svc-leader'] !== undefined && body !== undefined) {
      answer.resume();
      return {kind: 'not-leader', reason: 'the server that was asked does not lead'};
    }
    const {timers} = this.#context.options;
    const stop = (): void => void request.unpipe(sent.request);
    return relayAnswer(exchange, answer, {silenceMs: patienceMs, stop, timers});
  }

  /** Milliseconds that the leader may take to begin its answer; more than it gives itself. */
  #patienceMs({segments, streamsBody}: RelayedExchange): number {
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

function requestHeaders(
  {request}: RelayedExchange,
  body: Buffer | undefined,
  {
    credentials,
    traceParent,
  }: {readonly credentials: PeerCredentials; readonly traceParent: string | undefined},
): string[] {
  // A client's own place in a trace is above that of this server, where it has one.
  const headers = relayedHeaders(
    request,
    traceParent === undefined ? undefined : traceParentHeader,
  );
  headers.push('Host', request.headers.host ?? '', ...memberHeaders(credentials, traceParent));
  const length = body === undefined ? request.headers['content-length'] : String(body.length);
  if (length === undefined) headers.push('Transfer-Encoding', 'chunked');
  else if (request.method !== 'GET') headers.push('Content-Length', length);
  return headers;
}
