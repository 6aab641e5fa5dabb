/**
 * The one commit path's vocabulary: what a transaction asks of the log, and what it may be told.
 *
 * A transaction reads a snapshot (as of log index `snapshotIndex`), collects a write set and the
 * conditions under which it holds, and hands both to the coordinator. The coordinator (one per
 * database and server, on the leader) checks the conditions against what is applied plus what is in
 * flight, encodes one entry and appends it. See docs/design/0006-conflicts-by-log-index.md.
 */
import type {BucketChange} from './bucket-changes.ts';
import type {PackedOperations} from './bulk-operations.ts';
import type {KeyTexts} from './key-text.ts';

/** A database that takes no more entries on this node, from `index` on. */
export interface Fence {
  readonly index: number;
  readonly reason: string;
}

/** Position in the log, from 1; 0 is before the first entry. */
export type LogIndex = number;

/**
 * Physical and idempotent: replay may start early. `text` is the key with one character a byte,
 * where the maker has it at hand.
 */
export type Operation =
  | {
      readonly kind: 'put';
      readonly key: Uint8Array;
      readonly value: Uint8Array;
      readonly text?: string;
    }
  | {readonly kind: 'delete'; readonly key: Uint8Array; readonly text?: string}
  | {readonly kind: 'delete-range'; readonly start: Uint8Array; readonly end: Uint8Array};

/**
 * All are relative to `since`, the log index of the snapshot in which the fact was seen. `text`: as
 * in `Operation`.
 */
export type Precondition =
  /** Nobody wrote or deleted the key (record at its version; unique key still absent). */
  | {
      readonly kind: 'unchanged';
      readonly key: Uint8Array;
      readonly text?: string;
      readonly since: LogIndex;
      /** Set for a unique index key: the refusal then names index and key. */
      readonly unique?: UniqueKeyName | undefined;
    }
  /** Nobody deleted the key (an end of an edge); pins it against concurrent deletion. */
  | {
      readonly kind: 'present';
      readonly key: Uint8Array;
      readonly text?: string;
      readonly since: LogIndex;
    }
  /** Nobody pinned the key (delete of a vertex: no edge was attached meanwhile). */
  | {
      readonly kind: 'unpinned';
      readonly key: Uint8Array;
      readonly text?: string;
      readonly since: LogIndex;
    }
  /** Nobody wrote in the range (drop of a type or bucket). */
  | {
      readonly kind: 'range-untouched';
      readonly start: Uint8Array;
      readonly end: Uint8Array;
      readonly since: LogIndex;
    };

/** A key of a unique index as a refusal shows it. */
export interface UniqueKeyName {
  readonly index: string;
  readonly text: string;
}

export interface CommitRequest {
  readonly databaseId: number;
  /** The coordinator's, when the first position was taken: those of an earlier one are void. */
  readonly leadershipEpoch: number;
  /** Catalog version under which the write set was made; a different one is a conflict. */
  readonly schemaVersion: number;
  /** The format level of its bytes (formats/levels.ts); another one is a conflict. */
  readonly formatLevel: number;
  readonly operations: readonly Operation[];
  /** The bytes of the operations' keys and values, where the caller knows. */
  readonly bytes?: number;
  /** The keys that are put or deleted, by themselves, where the caller has them at hand. */
  readonly keys?: KeyTexts;
  /** A bulk load's operations, in place of `operations`; the caller changes them no more. */
  readonly packed?: PackedOperations;
  readonly preconditions: readonly Precondition[];
  readonly buckets: readonly Readonly<BucketChange>[];
  /** Applies once however often it is sent. */
  readonly requestId?: string | undefined;
  /** What is kept with the id for whoever sends it again: what was made, in words of the sender. */
  readonly note?: Uint8Array | undefined;
  /** The new catalog version when this is a schema change. */
  readonly newSchemaVersion?: number | undefined;
}

/**
 * `unknown` is never turned into `refused`: the entry may or may not commit (after append a
 * timeout or a failing disk tells nothing).
 */
export type CommitOutcome =
  /** `repeated`: the request with this id was committed before, by an entry of its own. */
  | {
      readonly kind: 'committed';
      readonly index: LogIndex;
      readonly repeated?: true;
      /** The note that the first one left, of a repeated one. */
      readonly note?: Uint8Array;
    }
  | {
      readonly kind: 'conflict';
      readonly reason: string;
      readonly unique?: UniqueKeyName;
    }
  | Refused
  | Unapplied
  | {readonly kind: 'unknown'; readonly detail: string};

/** Committed by the cluster, and not applied on this server, which has fenced the database. */
export interface Unapplied {
  readonly kind: 'unapplied';
  readonly index: LogIndex;
  readonly detail: string;
}

/** Nothing happened and nothing will. `expired`: the snapshot is older than what is remembered. */
export interface Refused {
  readonly kind: 'refused';
  readonly code:
    | 'queue-full'
    | 'too-large'
    | 'fenced'
    | 'disk-full'
    | 'log-failed'
    | 'expired'
    | 'not-leader'
    | 'stopping';
  readonly detail: string;
}

/**
 * What became of an appended entry on this node. `refused`: another entry has its place in the log
 * for good, so it never happened. `unknown`: the log failed, or no quorum answered in time.
 */
export type AppendResult =
  | {readonly kind: 'committed'; readonly index: LogIndex}
  | Refused
  | Unapplied
  | {readonly kind: 'unknown'; readonly detail: string};

/**
 * Puts encoded entries in order and makes them durable: on this server, or on most of a cluster.
 * Entries are applied in index order, each exactly once per database position.
 */
export interface CommitLog {
  /** Why an entry of `bytes` cannot be taken now; undefined when it can. */
  admission(bytes: number): Refused | undefined;
  /**
   * Resolves after `queue-full`: with true once there may be room, with false when that takes too
   * long. Does not wait on a server alone.
   */
  whenRoom(): Promise<boolean>;
  /**
   * Appends one entry that `admission` let pass; `settled` resolves when it is durable (by
   * `svc.txWalFlush`) and applied here, in index order. The order of calls is the order of
   * indexes. The bytes are copied before the call returns. `onApplied` runs in index order
   * too, before anything later is reported.
   */
  append(
    entry: Uint8Array,
    databaseId: number,
    onApplied?: () => void,
  ): {readonly index: LogIndex; readonly settled: Promise<AppendResult>};
  /**
   * Resolves when the entry at `index` is applied here, and when nothing more will be, or it is
   * open who appends next. One that is not appended yet may be waited for.
   */
  whenApplied(index: LogIndex): Promise<void>;
  /** Greatest index applied on this node. */
  readonly appliedIndex: LogIndex;
  /**
   * Resolves with an index that is not before anything that anybody was told before the call.
   * Undefined on a server alone, where the applied index is one.
   *
   * @throws {Refusal} `cluster.no-quorum`.
   */
  readIndex(): Promise<LogIndex> | undefined;
  /**
   * Call before a store is looked at: it holds what was told (commit-pipeline.ts).
   *
   * @throws {Refusal} `database.behind` while it cannot.
   */
  flushAcknowledged(): void;
  /** Greatest index handed out. */
  readonly lastIndex: LogIndex;
}
