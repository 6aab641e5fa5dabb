/**
 * What execution sees of a transaction: an overlay of the write set on a view.
 *
 * READ_COMMITTED: `beginStatement` takes a new view, so each statement sees one committed
 * state plus the transaction's own writes. REPEATABLE_READ: one view for the whole
 * transaction (snapshot isolation; write skew is possible). Reads never block, writes
 * conflict at commit (first committer wins) with a retryable refusal.
 */
import type {Reader, ScanRange, View} from '#server/storage/store.ts';
import type {CommitOutcome, LogIndex, Precondition} from './commit.ts';

export type Isolation = 'READ_COMMITTED' | 'REPEATABLE_READ';

/** A consistent place to read from; `Transaction` is one with a write set on top. */
export interface ReadContext extends Reader {
  /** Log index of the view: every entry up to it is visible, none after. */
  readonly viewIndex: LogIndex;
  /** The view itself, without own changes; for a thread that attaches to it. */
  readonly view: View;
  /** Records in a bucket, as of the view and with own changes. */
  recordCount(bucketId: number): number;
  /** Whether own writes may concern keys of the range: then it reads differently than the view. */
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
  readonly seesUndecided: boolean;
  /** Bytes of keys and values written so far; bounded by `svc.txSizeMax`. */
  readonly writeBytes: number;
  /** Catalog version under which the write set is made; the newest applied one by default. */
  schemaVersion: number;
  /** Set when this transaction changes the catalog: its version afterwards. */
  newSchemaVersion: number | undefined;
  /** READ_COMMITTED: moves to the newest applied state. Scanners of the old view end. */
  beginStatement(): void;
  /** Forgets its view and conditions: it begins anew under a newer schema. Only without writes. */
  beginAnew(schemaVersion: number): void;
  /** Key and value are copied. */
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  /** Buffered too: own puts in the range vanish, reads below see it empty. */
  deleteRange(start: Uint8Array, end: Uint8Array): void;
  /** `since` is filled in with the current view's index. */
  require(precondition: PreconditionWish): void;
  /** Adds to the record count of a bucket when this commits. */
  count(bucketId: number, delta: number): void;
  /** The next record position of a bucket: never reused, gaps allowed. */
  nextPosition(bucketId: number): number;
  /** From now on positions of the bucket begin at `least` or above it. */
  passPositions(bucketId: number, least: number): void;
  /** Marks the write set's current end; `rollbackTo` drops what came later. */
  savepoint(): number;
  rollbackTo(savepoint: number): void;
  /** Ends the transaction. Without writes: committed at the view's index, nothing logged. */
  commit(requestId?: string): Promise<CommitOutcome>;
  rollback(): void;
}

type Wish<P> = P extends unknown ? Omit<P, 'since'> : never;
export type PreconditionWish = Wish<Precondition>;
