/**
 * What the core wants done: the driver's whole duty.
 *
 * 1. Effects are taken in order, and those of one step before those of the next.
 * 2. `persist` effects become durable in the order of their numbers; then comes the input
 *    `persisted`, one for each or one for several.
 * 3. A message is sent only when the persist effects up to its `after` are durable. It may then be
 *    lost, repeated or overtaken; none of that harms.
 * 4. A `send-entries` takes the entries of the log as it was at this effect. Entries are named by
 *    index and term, so a driver that reads them later drops the message if a term differs.
 * 5. A `send-entries` that `mayWait` may be kept back for a moment, in which the next append most
 *    often makes it void; whatever else goes to the peer goes behind it.
 * 6. Entries are applied in order up to `apply.through`; they are durable here by then.
 * 7. After a crash the core is made anew from what is durable; effects not carried out are void.
 */
import type {ChangeRefusal, Checkpoint, Membership} from './membership.ts';
import type {AppendHead, Entry, LogIndex, LogPosition, Message, NodeId, Term} from './message.ts';

/** What a node must never forget, or it could vote twice. */
export interface HardState {
  readonly term: Term;
  readonly vote: NodeId | undefined;
}

export interface Persist {
  readonly kind: 'persist';
  /** A number from 1, one higher each time. */
  readonly number: number;
  readonly hardState: HardState;
  /** The log is given up and begins anew behind this checkpoint, which is durable. */
  readonly restart: Checkpoint | undefined;
  /** What stands behind this index is replaced by `entries`. */
  readonly keepThrough: LogIndex;
  readonly entries: readonly Entry[];
}

export type RoleName = 'follower' | 'pre-candidate' | 'candidate' | 'leader';

export type RefusalReason =
  | 'not-leader'
  | 'transferring'
  /** Too many bytes are ordered and not committed yet. */
  | 'queue-full'
  /** One change at a time, and none before the leader has committed an entry of its own. */
  | 'change-pending'
  /** The change would leave too few voters that answer. */
  | 'quorum-at-risk'
  /** The target is far behind, silent, or has no vote. */
  | 'target-unfit'
  | ChangeRefusal;

export type Effect =
  | Persist
  | {
      readonly kind: 'send';
      readonly to: NodeId;
      readonly message: Exclude<Message, {readonly kind: 'append'}>;
      readonly after: number;
    }
  | {
      readonly kind: 'send-entries';
      readonly to: NodeId;
      readonly head: AppendHead;
      /** The entries behind `head.previous` up to here; none when equal. */
      readonly through: LogIndex;
      readonly after: number;
      /** It tells what is committed and no more: void once another append goes to the peer. */
      readonly mayWait: boolean;
    }
  | {readonly kind: 'apply'; readonly through: LogIndex}
  | {
      readonly kind: 'role';
      readonly role: RoleName;
      readonly term: Term;
      readonly leader: NodeId | undefined;
    }
  | {readonly kind: 'membership'; readonly since: LogIndex; readonly membership: Membership}
  /** The proposal stands in the log from `first` on, under `term`; whether it lasts is open. */
  | {readonly kind: 'accepted'; readonly first: LogIndex; readonly term: Term}
  | {
      readonly kind: 'refused';
      readonly input: 'propose' | 'change' | 'transfer';
      readonly reason: RefusalReason;
    }
  /** A read that is served once `index` is applied is linearizable. */
  | {readonly kind: 'read-ready'; readonly id: string; readonly index: LogIndex}
  | {readonly kind: 'read-failed'; readonly id: string}
  /** Fetch a checkpoint of at least this position; ends with `installed` or `install-failed`. */
  | {readonly kind: 'install'; readonly from: NodeId; readonly atLeast: LogPosition}
  /** The target did not take over in time; proposals are taken again. */
  | {readonly kind: 'transfer-failed'; readonly to: NodeId};
