/**
 * Requests of a replica's clients that only the leader can carry out: relayed as they came, and
 * answered as it answers (docs/cluster-connections.md).
 *
 * One hop: the leader takes a relayed request or refuses it, and never relays it again. What did
 * not leave, or what its target refused because it leads no more, is tried again, at once when
 * another leader is known, until `svc.ha.forwardLeaderWaitTimeoutMs` is over: nothing happened. One
 * that was just elected holds what it is asked until it is ready. What left and was never answered
 * may have happened, so it is tried again only when a second time changes nothing: reads, the
 * begin of a transaction, and commands with a request id, which are applied once.
 * Invariant H5: a request is relayed over one hop at most, and a second time only when the first
 * did nothing or both together do it once. Why: docs/design/0021-forwarding-and-reads.md.
 */
import {hostAndPort} from '#server/base/addresses.ts';
import {Refusal} from '#server/base/errors.ts';
import {type Cluster, isSameAddress} from '#server/cluster/cluster.ts';
import {leaderNeeded} from '#server/cluster/leadership.ts';
import type {Principal} from '#server/security/principal.ts';
import type {HttpContext} from '../context.ts';
import {clientGone, type Exchange, sessionHeader} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import type {CachedRequestHead} from '../raw-http/request-head-cache.ts';
import type {HttpTarget} from './idle-connections.ts';
import {LeaderAddress} from './leader-address.ts';
import {LeaderRequests, patienceMs, type RelayParts} from './leader-requests.ts';
import type {RelayedRequest} from './leader-connection.ts';
import {LeaderConnectionPool} from './leader-connection-pool.ts';
import type {NotRelayed, Relayed} from './relayed-response.ts';

/** The same leader is asked again after this when it refused or did not answer: at first soon. */
const pauseMsMin = 5;
const pauseMsMax = 50;

/** A request of the raw HTTP path on its way to the leader. */
export interface RawHttpRequest extends Omit<RelayedRequest, 'head' | 'silenceMs'> {
  readonly known: CachedRequestHead;
  readonly principal: Principal;
  /** Aborted when the client's connection ends. */
  readonly gone: AbortSignal;
}

interface Attempts {
  readonly attempt: (target: HttpTarget) => Promise<'answered' | NotRelayed>;
  /** The leader may be asked a second time though the first may have been carried out. */
  readonly isRepeatable: boolean;
  readonly gone: AbortSignal;
}

export class Forwarder {
  readonly #context: HttpContext;
  readonly #cluster: Cluster;
  readonly #connections: LeaderRequests;
  readonly #lines: LeaderConnectionPool;
  readonly #leader: LeaderAddress;
  readonly #relayed: (index: number) => void;

  /** @param relayed - Told of the commit index of every answer to a change. */
  constructor(context: HttpContext, cluster: Cluster, relayed: (index: number) => void) {
    this.#context = context;
    this.#cluster = cluster;
    this.#relayed = relayed;
    this.#connections = new LeaderRequests(context, cluster);
    this.#lines = new LeaderConnectionPool(context, cluster);
    this.#leader = new LeaderAddress(context, cluster);
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
  async forward(exchange: Exchange, principal: Principal): Promise<boolean> {
    if (!this.#cluster.isLeader) await this.#cluster.whenSettled(this.#waitMs);
    if (this.#cluster.isLeader) return false;
    if (exchange.isForwarded) throw this.#notLeader();
    const body = exchange.streamsBody ? undefined : await this.#bodyOf(exchange);
    return this.#untilAnswered({
      attempt: target => this.#attempt(exchange, {principal, body, target}),
      isRepeatable: isRepeatable(exchange, body),
      gone: exchange.signal,
    });
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
    const head = known.forwarded({user: principal.name, token: this.#cluster.token});
    const silenceMs = patienceMs(settings, route);
    return this.#untilAnswered({
      attempt: async target => {
        const request = {head, body, taker, silenceMs};
        return this.#answered(await this.#lines.relay(target, request, gone));
      },
      // An orphan ends by itself.
      isRepeatable: route === 'begin',
      gone,
    });
  }

  get #waitMs(): number {
    return this.#context.settings.get('svc.ha.forwardLeaderWaitTimeoutMs');
  }

  /** False where this server leads, before or after an attempt that came to nothing. */
  async #untilAnswered({attempt, isRepeatable: repeats, gone}: Attempts): Promise<boolean> {
    const {clock} = this.#context.options;
    const waitMs = this.#waitMs;
    let deadline = clock.monotonic() + waitMs;
    let unanswered: string | undefined;
    for (let pauseMs = pauseMsMin; ; pauseMs = Math.min(2 * pauseMs, pauseMsMax)) {
      if (this.#cluster.isLeader) return false;
      if (unanswered === undefined && this.#cluster.wasRemoved) throw removedFromCluster();
      const target = this.#leader.target();
      if (target !== undefined) {
        const outcome = await attempt(target);
        if (outcome === 'answered') return true;
        if (outcome.kind === 'broken') {
          if (!repeats) throw unknown(outcome.reason);
          // The next leader has all the time to appear that a first one has.
          if (unanswered === undefined) deadline = clock.monotonic() + waitMs;
          unanswered = outcome.reason;
        }
      }
      const restMs = deadline - clock.monotonic();
      if (restMs <= 0) throw unanswered === undefined ? noLeader(waitMs) : unknown(unanswered);
      if (gone.aborted) throw clientGone();
      if (target === undefined) await this.#cluster.whenLeaderKnown(restMs);
      else if (isSameAddress(target, this.#leader.target())) {
        await this.#changeWithin(Math.min(pauseMs, restMs));
      }
    }
  }

  async #bodyOf(exchange: Exchange): Promise<Buffer> {
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
  async #attempt(exchange: Exchange, parts: RelayParts): Promise<'answered' | NotRelayed> {
    const outcome = this.#answered(await this.#connections.relay(exchange, parts));
    if (outcome === 'answered') return outcome;
    if (parts.body === undefined && exchange.request.readableDidRead && outcome.kind !== 'broken') {
      throw noLeaderNow(`${outcome.reason}, and a part of the body is gone: send it again`);
    }
    return outcome;
  }

  /** Notes the commit of an answer. */
  #answered(outcome: Relayed): 'answered' | NotRelayed {
    if (outcome.kind !== 'answered') return outcome;
    if (outcome.commitIndex !== undefined) this.#relayed(outcome.commitIndex);
    return 'answered';
  }

  #notLeader(): Refusal {
    const leader = this.#cluster.leaderHttpAddress();
    const address = leader && hostAndPort(leader.host, leader.port);
    const who = address === undefined ? 'and knows nobody who does' : `${address} does`;
    return leaderNeeded(`this server does not lead the cluster, ${who}`, address);
  }

  /** Resolves when the leader changed, or the time is over. */
  #changeWithin(delayMs: number): Promise<void> {
    return new Promise(resolve => {
      const end = (): void => {
        forget();
        cancel();
        resolve();
      };
      const forget = this.#cluster.onLeaderChange(end);
      const cancel = this.#context.options.timers.after(delayMs, end);
    });
  }
}

/** Whether the leader may be asked a second time though the first may have been carried out. */
function isRepeatable(exchange: Exchange, body: Buffer | undefined): boolean {
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

function unknown(reason: string): Refusal {
  return new Refusal(
    'commit.unknown',
    `the leader was asked and did not answer (${reason}): ` +
      'it may or may not have happened; read before writing again',
  );
}

function removedFromCluster(): Refusal {
  return noLeaderNow(
    'this server was removed from its cluster: nothing was carried out, ask a member',
  );
}

function noLeader(waitMs: number): Refusal {
  return noLeaderNow(`nobody led the cluster within ${waitMs} ms: nothing was carried out`);
}

function noLeaderNow(message: string): Refusal {
  return new Refusal('cluster.no-leader', message);
}
