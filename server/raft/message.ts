/**
 * What nodes say to each other, as plain values, and what their logs hold.
 *
 * Every message carries the term of its sender, but for `pre-vote` and a granted
 * `pre-vote-reply`: they carry the term that an election would have. Messages may be lost,
 * repeated and reordered; each means the same whenever it arrives.
 */
import type {Membership} from './membership.ts';

export type NodeId = string;

/** Number of a leadership, from 1; 0 is before the first election. */
export type Term = number;

/** Place in the log, from 1; 0 is before the first entry. */
export type LogIndex = number;

/** An entry's name: no two different entries of one group share index and term. */
export interface LogPosition {
  readonly index: LogIndex;
  readonly term: Term;
}

export type Entry =
  | {readonly kind: 'data'; readonly term: Term; readonly data: Uint8Array}
  /** A membership is in force from the moment it is in a node's log, committed or not. */
  | {readonly kind: 'membership'; readonly term: Term; readonly membership: Membership}
  /** The first entry of every leader: only with it can it commit what came before. */
  | {readonly kind: 'empty'; readonly term: Term};

/** An entry without its bytes: all that the core looks at. */
export type EntryShape =
  | Exclude<Entry, {readonly kind: 'data'}>
  | {readonly kind: 'data'; readonly term: Term; readonly data: {readonly length: number}};

/** An append without its entries, which the driver holds and the core does not. */
export interface AppendHead {
  readonly kind: 'append';
  readonly term: Term;
  /** Grows with every broadcast of one leader; a reply repeats it, which confirms reads. */
  readonly round: number;
  /** What must stand in front of the entries. */
  readonly previous: LogPosition;
  readonly commit: LogIndex;
}

export interface Append extends AppendHead {
  readonly entries: readonly Entry[];
}

export type AppendReply =
  | {
      readonly kind: 'append-reply';
      readonly term: Term;
      readonly round: number;
      readonly accepted: true;
      /** The sender holds the leader's log up to here, durably. */
      readonly match: LogIndex;
    }
  | {
      readonly kind: 'append-reply';
      readonly term: Term;
      readonly round: number;
      readonly accepted: false;
      /** Index of the `previous` that was not found. */
      readonly refused: LogIndex;
      /** The last place at which the logs may agree. */
      readonly hint: LogPosition;
    };

export interface VoteRequest {
  readonly kind: 'vote';
  readonly term: Term;
  readonly last: LogPosition;
  /** The leader asked for this election, so hearing from it is no reason to refuse. */
  readonly transfer: boolean;
}

export interface PreVoteRequest {
  readonly kind: 'pre-vote';
  readonly term: Term;
  readonly last: LogPosition;
}

/** The entries that the receiver needs are gone from the log; a checkpoint replaces them. */
export interface SnapshotOffer {
  readonly kind: 'snapshot';
  readonly term: Term;
  readonly round: number;
  /** A checkpoint of at least this position closes the gap. */
  readonly atLeast: LogPosition;
}

export type Message =
  | PreVoteRequest
  | {readonly kind: 'pre-vote-reply'; readonly term: Term; readonly granted: boolean}
  | VoteRequest
  | {readonly kind: 'vote-reply'; readonly term: Term; readonly granted: boolean}
  | Append
  | AppendReply
  | SnapshotOffer
  | {readonly kind: 'timeout-now'; readonly term: Term}
  | {readonly kind: 'read'; readonly term: Term; readonly id: string}
  | {
      readonly kind: 'read-reply';
      readonly term: Term;
      readonly id: string;
      /** Undefined: not a leader that can tell. */
      readonly index: LogIndex | undefined;
    };

/** Whether a log that ends at `mine` holds no less than one that ends at `other` (5.4.1). */
export function atLeastAsLong(mine: LogPosition, other: LogPosition): boolean {
  return mine.term === other.term ? mine.index >= other.index : mine.term > other.term;
}

const memberBytes = 32;

/** Bytes that an entry counts in flow control; near its size in a frame. */
export function entryBytes(entry: EntryShape): number {
  const overhead = 16;
  if (entry.kind === 'data') return overhead + entry.data.length;
  return overhead + (entry.kind === 'membership' ? entry.membership.length * memberBytes : 0);
}
