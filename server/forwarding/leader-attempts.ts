/**
 * How often the leader is asked for one request, and what is said when it never answers.
 *
 * What did not leave, or what its target refused because it leads no more, is tried again, at once
 * when another leader is known, until the time to wait is over: nothing happened. One that was just
 * elected holds what it is asked until it is ready. What left and was never answered may have
 * happened, so it is tried again only when a second time changes nothing: reads, the begin of a
 * transaction, and what has a request id, which is applied once.
 * Invariant H5: a request is relayed over one hop at most, and a second time only when the first
 * did nothing or both together do it once. Why: docs/design/0021-forwarding-and-reads.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {retryDelayMs} from '#server/base/retry-delay.ts';
import {type Cluster, type HttpAddress, isSameAddress} from '#server/cluster/cluster.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';

/** The same leader is asked again after this when it refused or did not answer: at first soon. */
const delays = {firstMs: 5, mostMs: 50} as const;

/** Why an attempt did not come to an answer. */
export interface NoAnswer {
  /**
   * `not-leader`: the target refused since it does not lead, and nothing happened; `unsent`: it
   * never left; `broken`: it left, and no answer came.
   */
  readonly kind: 'not-leader' | 'unsent' | 'broken';
  readonly reason: string;
}

/** What one attempt came to. */
export type Attempted<T> = {readonly kind: 'answered'; readonly answer: T} | NoAnswer;

export interface AskedRequest<T, A extends HttpAddress> {
  readonly attempt: (target: A) => Promise<Attempted<T>>;
  /** The leader may be asked a second time though the first may have been carried out. */
  readonly isRepeatable: boolean;
  /** Whether nobody waits for the answer any more; then `clientGone` is thrown. */
  readonly gone: () => boolean;
  readonly clientGone: () => Error;
  /** How long a leader is waited for. */
  readonly waitMs: number;
}

export interface LeaderAttemptsOptions<A extends HttpAddress> {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly timers: Timers;
  /** Where the leader is asked; undefined while nobody leads, or where it cannot be told. */
  readonly target: () => A | undefined;
}

export class LeaderAttempts<A extends HttpAddress> {
  readonly #options: LeaderAttemptsOptions<A>;

  constructor(options: LeaderAttemptsOptions<A>) {
    this.#options = options;
  }

  /**
   * The leader's answer; undefined where this server leads, before or after an attempt that came to
   * nothing.
   *
   * @throws {Refusal} `cluster.no-leader`, `commit.unknown`.
   */
  async answer<T>(request: AskedRequest<T, A>): Promise<T | undefined> {
    const {cluster, clock, target: leader} = this.#options;
    const {attempt, isRepeatable, gone, clientGone, waitMs} = request;
    let deadline = clock.monotonic() + waitMs;
    let unanswered: string | undefined;
    for (let failures = 0; ; failures += 1) {
      if (cluster.isLeader) return undefined;
      if (unanswered === undefined && cluster.wasRemoved) throw removedFromCluster();
      if (gone()) throw clientGone();
      const target = leader();
      if (target !== undefined) {
        const outcome = await attempt(target);
        if (outcome.kind === 'answered') return outcome.answer;
        if (outcome.kind === 'broken') {
          if (!isRepeatable) throw unknown(outcome.reason);
          // The next leader has all the time to appear that a first one has.
          if (unanswered === undefined) deadline = clock.monotonic() + waitMs;
          unanswered = outcome.reason;
        }
      }
      const restMs = deadline - clock.monotonic();
      if (restMs <= 0) throw unanswered === undefined ? noLeader(waitMs) : unknown(unanswered);
      if (target === undefined) await cluster.whenLeaderKnown(restMs);
      else if (isSameAddress(target, leader())) {
        await this.#changeWithin(Math.min(retryDelayMs(delays, failures), restMs));
      }
    }
  }

  /** Resolves when the leader changed, or the time is over. */
  #changeWithin(delayMs: number): Promise<void> {
    const {cluster, timers} = this.#options;
    return new Promise(resolve => {
      const end = (): void => {
        forget();
        cancel();
        resolve();
      };
      const forget = cluster.onLeaderChange(end);
      const cancel = timers.after(delayMs, end);
    });
  }
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

/** @param message - Says that nothing happened. */
export function noLeaderNow(message: string): Refusal {
  return new Refusal('cluster.no-leader', message);
}
