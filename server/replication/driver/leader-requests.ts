/**
 * Who waits for a change of the members, or for the leadership to be handed over, and what they
 * are told.
 *
 * A change is done once it is committed. Where the leadership ends before, it may have happened.
 */
import {Refusal} from '#server/base/errors.ts';
import type {RefusalReason} from '#server/raft/effect.ts';
import type {LogIndex, NodeId} from '#server/raft/message.ts';

interface Waiter {
  readonly through: LogIndex;
  readonly resolve: () => void;
  readonly reject: (error: Refusal) => void;
}

export class LeaderRequests {
  #waiters: Waiter[] = [];
  #transfer: PromiseWithResolvers<NodeId> | undefined;

  /** Resolves when the entry at `through`, which this leader has put into its log, is committed. */
  whenCommitted(through: LogIndex): Promise<void> {
    const {promise, resolve, reject} = Promise.withResolvers<void>();
    this.#waiters.push({through, resolve, reject});
    return promise;
  }

  /** Resolves with who leads instead. */
  whenTransferred(): Promise<NodeId> {
    this.#transfer ??= Promise.withResolvers<NodeId>();
    return this.#transfer.promise;
  }

  /** Everything up to `index` is committed, under the leadership of whoever waits. */
  committed(index: LogIndex): void {
    if (this.#waiters.length === 0) return;
    const waiters = this.#waiters;
    this.#waiters = waiters.filter(({through}) => through > index);
    for (const {through, resolve} of waiters) if (through <= index) resolve();
  }

  /** Another server leads. */
  transferred(to: NodeId): void {
    this.#transfer?.resolve(to);
    this.#transfer = undefined;
  }

  transferFailed(reason: string): void {
    this.#transfer?.reject(new Refusal('cluster.no-quorum', reason));
    this.#transfer = undefined;
  }

  /** The leadership is over, for this reason. */
  leadershipEnded(reason: string): void {
    const unsure = `${reason}: whether the change happened is not known`;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const {reject} of waiters) reject(new Refusal('cluster.no-quorum', unsure));
  }
}

/** What the core's word means for people. */
export function refusedRequest(reason: RefusalReason): Refusal {
  if (reason === 'not-leader') {
    return new Refusal('cluster.not-leader', 'the members are changed by the leader');
  }
  return new Refusal('cluster.membership', explained[reason], {detail: {reason}});
}

const explained: Readonly<Record<Exclude<RefusalReason, 'not-leader'>, string>> = {
  transferring: 'the leadership is being handed over',
  'queue-full': 'too much waits for a majority',
  'change-pending': 'another change of the members is under way: try again',
  'quorum-at-risk': 'too few of the members that would be left answer',
  'target-unfit': 'no member that could lead is near enough and answers',
  'member-exists': 'the server is a member already',
  'member-unknown': 'the server is no member',
  'last-voter': 'the last member that votes cannot be removed',
};
