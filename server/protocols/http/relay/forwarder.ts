/**
 * Requests of a replica's clients that only the leader can carry out: relayed as they came, and
 * answered as it answers (docs/cluster-connections.md). How often is the matter of
 * forwarding/leader-attempts.ts.
 *
 * One hop: the leader takes a relayed request or refuses it, and never relays it again.
 */
import {sessionHeader} from '../protocol-names.ts';
import {hostAndPort} from '#server/base/addresses.ts';
import type {Refusal} from '#server/base/errors.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {leaderNeeded} from '#server/cluster/leadership.ts';
import {
  type AskedRequest,
  type Attempted,
  LeaderAttempts,
  noLeaderNow,
} from '#server/forwarding/leader-attempts.ts';
import type {Principal} from '#server/security/principal.ts';
import type {RelayContext, RelayedExchange} from './relayed-exchange.ts';
import {PlainFailure, clientGone} from '../message/failure.ts';
import type {CachedRequestHead} from '../raw-http/request-head-cache.ts';
import type {HttpTarget} from './idle-connections.ts';
import {LeaderAddress} from './leader-address.ts';
import {LeaderRequests, patienceMs, type RelayParts} from './leader-requests.ts';
import type {RelayedRequest} from './leader-connection.ts';
import {LeaderConnectionPool} from './leader-connection-pool.ts';
import type {Relayed} from './relayed-response.ts';

/** A request of the raw HTTP path on its way to the leader. */
export interface RawHttpRequest extends Omit<RelayedRequest, 'head' | 'silenceMs'> {
  readonly known: CachedRequestHead;
  readonly principal: Principal;
  /** Aborted when the client's connection ends. */
  readonly gone: AbortSignal;
}

export class Forwarder {
  readonly #context: RelayContext;
  readonly #cluster: Cluster;
  readonly #connections: LeaderRequests;
  readonly #lines: LeaderConnectionPool;
  readonly #attempts: LeaderAttempts<HttpTarget>;
  readonly #relayed: (index: number) => void;

  /** @param relayed - Told of the commit index of every answer to a change. */
  constructor(context: RelayContext, cluster: Cluster, relayed: (index: number) => void) {
    this.#context = context;
    this.#cluster = cluster;
    this.#relayed = relayed;
    this.#connections = new LeaderRequests(context, cluster);
    this.#lines = new LeaderConnectionPool(context, cluster);
    const leader = new LeaderAddress(context, cluster);
    const {clock, timers} = context.options;
    const target = (): HttpTarget | undefined => leader.target();
    this.#attempts = new LeaderAttempts({cluster, clock, timers, target});
  }

  close(): void {
    this.#connections.close();
    this.#lines.close();
  }

  /**
   * Relays a request to the leader, and its answer to the client.
   *
   * @returns false where this server leads: nothing was answered.
   * @throws {Refusal} `cluster.not-leader`, `cluster.no-leader`, `commit.unknown`.
   */
  async forward(exchange: RelayedExchange, principal: Principal): Promise<boolean> {
    if (!this.#cluster.isLeader) await this.#cluster.whenSettled(this.#waitMs);
    if (this.#cluster.isLeader) return false;
    if (exchange.isForwarded) throw this.#notLeader();
    const body = exchange.streamsBody ? undefined : await this.#bodyOf(exchange);
    const answered = await this.#attempts.answer({
      ...this.#patience(exchange.signal),
      attempt: target => this.#attempt(exchange, {principal, body, target}),
      isRepeatable: isRepeatable(exchange, body),
    });
    return answered === true;
  }

  /**
   * Works like `forward`, for a request of the raw HTTP path, whose bytes go to the leader as they
   * are.
   *
   * @returns undefined where it must take the way of node's server: one that was relayed already,
   *   one over TLS, one that is too large.
   */
  forwardBytes({
    known,
    principal,
    body,
    taker,
    gone,
  }: RawHttpRequest): Promise<boolean> | undefined {
    const {settings} = this.#context;
    const {route, caller} = known.head;
    const isLarge = body.length > settings.get('svc.ha.proxyMaxBodySize');
    if (isLarge || typeof caller !== 'string' || settings.get('svc.ssl.enabled')) return undefined;
    const words = {user: principal.name, token: this.#cluster.token};
    const head = known.forwarded(words, this.#context.options.peerClient.traceParent);
    const silenceMs = patienceMs(settings, route);
    const asked = this.#attempts.answer({
      ...this.#patience(gone),
      attempt: async target => {
        const request = {head, body, taker, silenceMs};
        return this.#answered(await this.#lines.relay(target, request, gone));
      },
      // An orphan ends by itself.
      isRepeatable: route === 'begin',
    });
    return asked.then(answered => answered === true);
  }

  get #waitMs(): number {
    return this.#context.settings.get('svc.ha.forwardLeaderWaitTimeoutMs');
  }

  /** How long a leader is waited for, and by whom. */
  #patience(
    gone: AbortSignal,
  ): Pick<AskedRequest<true, HttpTarget>, 'gone' | 'clientGone' | 'waitMs'> {
    return {gone: () => gone.aborted, clientGone, waitMs: this.#waitMs};
  }

  async #bodyOf(exchange: RelayedExchange): Promise<Buffer> {
    const body = await exchange.body();
    const bytesMax = this.#context.settings.get('svc.ha.proxyMaxBodySize');
    if (body.length <= bytesMax) return body;
    throw new PlainFailure(413, 'Request body too large', {
      detail:
        `Request body size (${body.length} bytes) exceeds the ${bytesMax} bytes that a replica ` +
        `relays: send it to the leader, or raise 'svc.ha.proxyMaxBodySize'`,
    });
  }

  /** One attempt, or why it did not come to an answer. */
  async #attempt(exchange: RelayedExchange, parts: RelayParts): Promise<Attempted<true>> {
    const outcome = this.#answered(await this.#connections.relay(exchange, parts));
    if (outcome.kind === 'answered') return outcome;
    if (parts.body === undefined && exchange.request.readableDidRead && outcome.kind !== 'broken') {
      throw noLeaderNow(`${outcome.reason}, and a part of the body is gone: send it again`);
    }
    return outcome;
  }

  /** Notes the commit of an answer. */
  #answered(outcome: Relayed): Attempted<true> {
    if (outcome.kind !== 'answered') return outcome;
    if (outcome.commitIndex !== undefined) this.#relayed(outcome.commitIndex);
    return {kind: 'answered', answer: true};
  }

  #notLeader(): Refusal {
    const leader = this.#cluster.leaderHttpAddress();
    const address = leader && hostAndPort(leader.host, leader.port);
    const who = address === undefined ? 'and knows nobody who does' : `${address} does`;
    return leaderNeeded(`this server does not lead the cluster, ${who}`, address);
  }
}

/** Whether the leader may be asked a second time though the first may have been carried out. */
function isRepeatable(exchange: RelayedExchange, body: Buffer | undefined): boolean {
  if (body === undefined) return false;
  const {request, segments} = exchange;
  if (request.method === 'GET' || request.method === 'HEAD') return true;
  const [first] = segments;
  // An orphan ends by itself; what a query reads it may read twice.
  if (first === 'begin') return true;
  if (exchange.header(sessionHeader) !== undefined) return false;
  return (
    first === 'query' || (first === 'command' && exchange.header('x-request-id') !== undefined)
  );
}
