/**
 * The one commit path's vocabulary: what a transaction asks of the log, and what it may be told.
 *
 * A transaction reads a view (as of log index `viewIndex`), collects a write set and the
 * conditions under which it holds, and hands both to the coordinator. The coordinator (one per
 * server, on the leader) checks the conditions against what is applied plus what is in flight,
 * encodes one entry and appends it. See design/architecture.md section 3.
 */

/** Position in the log, from 1; 0 is before the first entry. */
export type LogIndex = number;

/** Physical and idempotent: replay may start early. */
export type Operation =
  | {readonly kind: 'put'; readonly key: Uint8Array; readonly value: Uint8Array}
  | {readonly kind: 'delete'; readonly key: Uint8Array}
  | {readonly kind: 'delete-range'; readonly start: Uint8Array; readonly end: Uint8Array};

/** All are relative to `since`, the log index of the view in which the fact was seen. */
export type Precondition =
  /** Nobody wrote or deleted the key (record at its version; unique key still absent). */
  | {
      readonly kind: 'unchanged';
      readonly key: Uint8Array;
      readonly since: LogIndex;
      /** Set for a unique index key: the refusal then names index and key. */
      readonly unique?: {readonly index: string; readonly text: string};
    }
  /** Nobody deleted the key (an end of an edge); pins it against concurrent deletion. */
  | {readonly kind: 'present'; readonly key: Uint8Array; readonly since: LogIndex}
  /** Nobody pinned the key (delete of a vertex: no edge was attached meanwhile). */
  | {readonly kind: 'unpinned'; readonly key: Uint8Array; readonly since: LogIndex}
  /** Nobody wrote in the range (drop of a type or bucket). */
  | {
      readonly kind: 'range-untouched';
      readonly start: Uint8Array;
      readonly end: Uint8Array;
      readonly since: LogIndex;
    };

export interface CommitRequest {
  readonly databaseId: number;
  /** Catalog version under which the write set was made; a different one is a conflict. */
  readonly schemaVersion: number;
  readonly operations: readonly Operation[];
  readonly preconditions: readonly Precondition[];
  /** Change of record counts by bucket id. */
  readonly countDeltas: ReadonlyMap<number, number>;
  /** Buckets in which positions were handed out: their high-water marks travel along. */
  readonly positionBuckets: ReadonlySet<number>;
  /** Applies once however often it is sent. */
  readonly requestId?: string;
  /** The new catalog version when this is a schema change. */
  readonly newSchemaVersion?: number;
}

/**
 * `unknown` is never turned into `refused`: the entry may or may not commit (after append a
 * timeout or a failing disk tells nothing).
 */
export type CommitOutcome =
  | {readonly kind: 'committed'; readonly index: LogIndex}
  | {
      readonly kind: 'conflict';
      readonly reason: string;
      readonly unique?: {readonly index: string; readonly text: string};
    }
  | {readonly kind: 'refused'; readonly code: 'queue-full' | 'too-large' | 'fenced' | 'disk-full'
      | 'not-leader' | 'stopping'; readonly detail: string}
  | {readonly kind: 'unknown'; readonly detail: string};

/**
 * Puts encoded entries in order and makes them durable: a local log today, Raft tomorrow.
 * Entries are applied in index order, each exactly once per database position.
 */
export interface CommitLog {
  /**
   * Appends one entry; resolves when it is durable (by `svc.txWalFlush`) and applied here.
   * The order of calls is the order of indexes. The buffer is the log's from now on.
   */
  append(entry: Uint8Array): {readonly index: LogIndex; readonly applied: Promise<void>};
  /** Greatest index applied on this node. */
  readonly appliedIndex: LogIndex;
  /** Greatest index handed out. */
  readonly lastIndex: LogIndex;
}
