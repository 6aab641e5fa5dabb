/**
 * What execution sees of a transaction: an overlay of the write set on a snapshot.
 *
 * READ_COMMITTED: `beginStatement` takes a new snapshot, so each statement sees one committed
 * state plus the transaction's own writes. REPEATABLE_READ: one snapshot for the whole
 * transaction (snapshot isolation; write skew is possible). Reads never block, writes
 * conflict at commit (first committer wins) with a retryable refusal.
 */
import type {Reader, ScanRange, StoreSnapshot} from '#server/storage/store.ts';
import type {CommitOutcome, LogIndex, UniqueKeyName} from './commit.ts';
import type {PutWrite} from './own-writes/point-write.ts';

export type Isolation = 'READ_COMMITTED' | 'REPEATABLE_READ';

/** A consistent place to read from; `Transaction` is one with a write set on top. */
export interface ReadContext extends Reader {
  /** Log index of the snapshot: every entry up to it is visible, none after. */
  readonly snapshotIndex: LogIndex;
  /** The snapshot itself, without own changes; for a thread that attaches to it. */
  readonly snapshot: StoreSnapshot;
  /** Records in a bucket, as of the snapshot and with own changes. */
  recordCount(bucketId: number): number;
  /**
   * Whether own writes may concern keys of the range: then it reads differently than the snapshot.
   */
  overlays(range: ScanRange): boolean;
}

export interface Transaction extends ReadContext {
  readonly isolation: Isolation;
  readonly databaseId: number;
  /** True until commit or rollback. */
  readonly open: boolean;
  readonly hasWrites: boolean;
  /**
   * Whether what was read has commits on top that are not decided yet. What this transaction says
   * may be told only once it is committed itself, with writes; else it is void.
   */
  readonly seesInFlight: boolean;
  /** Bytes of keys and values written so far; bounded by `svc.txSizeMax`. */
  readonly writeBytes: number;
  /** Catalog version under which the write set is made; the newest applied one by default. */
  schemaVersion: number;
  /** The format level that it must write (formats/levels.ts). */
  readonly formatLevel: number;
  /** Set when this transaction changes the catalog: its version afterwards. */
  newSchemaVersion: number | undefined;
  /** READ_COMMITTED: moves to the newest applied state. Scanners of the old snapshot end. */
  beginStatement(): void;
  /**
   * Forgets its snapshot and conditions: it begins anew under a newer schema. Only without writes.
   */
  beginAnew(schemaVersion: number): void;
  /** Key and value are copied. */
  put(key: Uint8Array, value: Uint8Array): void;
  /**
   * Works like `put`, for a key as text, one character a byte, and a value of so many bytes, which
   * the caller writes to the place that is answered, at once and once.
   */
  room(key: string, length: number): PutWrite;
  /**
   * Works like `get`, for a key of an index, which is cheaper where keys come in order and are not
   * there. `text`: the key, one character a byte.
   */
  find(indexId: number, text: string, sought: {readonly key: Uint8Array}): Buffer | undefined;
  delete(key: Uint8Array): void;
  /** Buffered too: own puts in the range vanish, reads below see it empty. */
  deleteRange(start: Uint8Array, end: Uint8Array): void;
  /** `since` is filled in with the current snapshot's index. */
  require(precondition: PreconditionRequest): void;
  /** Adds to the record count of a bucket when this commits. */
  count(bucketId: number, delta: number): void;
  /** The next record position of a bucket: never reused, gaps allowed. */
  nextPosition(bucketId: number): number;
  /** Makes positions of the bucket begin at `least` or above it from now on. */
  passPositions(bucketId: number, least: number): void;
  /** Marks the write set's current end; `rollbackTo` drops what came later. */
  savepoint(): number;
  rollbackTo(savepoint: number): void;
  /** Ends the transaction. Without writes: committed at the snapshot's index, nothing logged. */
  commit(requestId?: string): Promise<CommitOutcome>;
  rollback(): void;
}

/** A condition on a key, given as bytes or as text, one character a byte. */
export interface KeyRequest {
  readonly kind: 'unchanged' | 'present' | 'unpinned';
  readonly key: Uint8Array | string;
  readonly unique?: UniqueKeyName | undefined;
}

export type PreconditionRequest =
  | KeyRequest
  | {readonly kind: 'range-untouched'; readonly start: Uint8Array; readonly end: Uint8Array};
