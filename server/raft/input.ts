/**
 * Everything that can happen to a node: what its driver tells the core.
 *
 * Proposals, changes, transfers and reads are answered by effects: with what they became, or with
 * `refused` and a reason. Nothing is remembered of what was refused.
 */
import type {Checkpoint, MembershipChange} from './membership.ts';
import type {LogIndex, Message, NodeId} from './message.ts';

export type Input =
  /** Time has passed; several times per heartbeat interval, since timers end at ticks. */
  | {readonly kind: 'tick'}
  | {readonly kind: 'message'; readonly from: NodeId; readonly message: Message}
  /** Entries to order, as a whole or not at all. The core passes the bytes on, unread. */
  | {readonly kind: 'propose'; readonly data: readonly Uint8Array[]}
  /** All persist effects up to this number are durable. */
  | {readonly kind: 'persisted'; readonly number: number}
  | {readonly kind: 'change'; readonly change: MembershipChange}
  /** Hand the leadership over; without `to` the core chooses. */
  | {readonly kind: 'transfer'; readonly to: NodeId | undefined}
  /**
   * Asks from which index on a read is linearizable. `id` is never used twice: not by this node,
   * not by another, not after a restart. The driver bounds how many wait, and for how long.
   */
  | {readonly kind: 'read'; readonly id: string}
  /** The connection to a peer was reset and the peer refuses a new one: its process has ended. */
  | {readonly kind: 'peer-lost'; readonly id: NodeId}
  /** The driver can make a checkpoint at or above this applied index: forget the entries. */
  | {readonly kind: 'compact'; readonly through: LogIndex}
  /** An `install` effect ended: with a durable checkpoint at `last`, or without one. */
  | {readonly kind: 'installed'; readonly checkpoint: Checkpoint}
  | {readonly kind: 'install-failed'};
