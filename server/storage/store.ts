/**
 * Ordered bytes, nothing more: the core interface between what Svc means and where it lies.
 *
 * One store is one directory with one key space (RocksDB's default column family;
 * namespaces are key prefixes, `layout/`). Three implementations keep this contract:
 * `rocksdb/native` (our binding; all figures are measured on it), `rocksdb/fallback` (the
 * package's JavaScript API; correct, not fast) and `memory` (the crashable twin whose crash
 * model is RocksDB's: a prefix of write batches survives).
 *
 * Keys are compared as unsigned bytes. Rows cross packed in one buffer, never as one object
 * each. All calls are synchronous and run on the caller's thread. One thread at a time
 * writes; any thread may read. No handle outlives its store: `close()` releases every snapshot.
 */

/**
 * Rows packed into one caller-owned buffer. Layout of a row, little endian:
 * u32 keyLength, u32 valueLength (ABSENT = 0xffffffff: no such key, no value bytes),
 * key bytes, value bytes. Rows follow each other without padding.
 */
export interface PackedRows {
  /** The caller's buffer; valid until the caller reuses it. */
  readonly buffer: Buffer;
  /** Bytes used in `buffer`. */
  byteLength: number;
  rowCount: number;
  /** True when the scan has ended: no row is left behind the last one. */
  done: boolean;
}

export const ABSENT = 0xffffffff;

export interface ScanRange {
  /** First key, inclusive. */
  readonly start: Uint8Array;
  /** End key, exclusive; absent means the end of the key space. */
  readonly end?: Uint8Array;
}

export interface ScanOptions {
  /** Descending key order (`start` and `end` keep their meaning). */
  readonly reverse?: boolean;
  /** Value bytes are left out (valueLength 0). */
  readonly keysOnly?: boolean;
  /**
   * What is read from disk for it takes nobody's place in the cache: for who reads much once, and
   * keeps what he needs of it himself.
   */
  readonly once?: boolean;
  /**
   * A long stretch of deleted rows may end a `next` without a row, so that the caller's thread has
   * other turns; asked again, the scan goes on behind it. Default: it is passed over at once.
   */
  readonly pauses?: boolean;
  /** The most rows of one `next`. Default: as many as fit. */
  readonly rowsMax?: number;
}

/**
 * Walks ranges one after another in the order given (several prefixes in one call).
 * Not valid after its snapshot is released or its store closed. `close()` is idempotent.
 */
export interface Scanner {
  /**
   * Fills `into` from its beginning with whole rows, sets its counters and returns it.
   * A single row larger than the buffer throws RowTooLarge with the size needed; call
   * again with a larger buffer.
   */
  next(into: PackedRows): PackedRows;
  /**
   * Index of the range that the next row comes from, after a `next`; `ranges.length` when done.
   */
  readonly rangeIndex: number;
  close(): void;
}

export class RowTooLarge extends Error {
  readonly bytesNeeded: number;
  constructor(bytesNeeded: number) {
    super(`a row needs ${bytesNeeded} bytes`);
    this.bytesNeeded = bytesNeeded;
  }
}

/** The store cannot do it for a reason outside the program; damage is a Corruption instead. */
export class StoreFailure extends Error {
  override readonly name = 'StoreFailure';
  readonly kind: 'absent' | 'locked' | 'no-space' | 'io' | 'other';
  constructor(kind: StoreFailure['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface Reader {
  /** The value, in a fresh buffer of its own; undefined when absent. */
  get(key: Uint8Array): Buffer | undefined;
  /**
   * Point lookups in one call, answered in the order of the keys (duplicates allowed): a row
   * a key with an empty key part and the value or ABSENT. Returns how many keys were
   * answered: fewer than given when the buffer is full (call again with the rest; a single
   * value that does not fit throws RowTooLarge). Of a store, not of a snapshot, each lookup has
   * its own moment.
   * `keys` is packed: u32 length, bytes, ... for `keyCount` keys; the rest begins at the first
   * key that was not answered.
   */
  getMany(keys: Buffer, keyCount: number, into: PackedRows): number;
  scan(ranges: readonly ScanRange[], options?: ScanOptions): Scanner;
}

/** One point in time. Release it soon: it holds back the reclaiming of old versions. */
export interface StoreSnapshot extends Reader {
  /** Pass to `attachSnapshot`, also on another thread of the same process; 0n in the fallback. */
  readonly handle: bigint;
  release(): void;
}

/** What one atomic write holds. Later operations win over earlier ones on the same key. */
export interface WriteBatch {
  put(key: Uint8Array, value: Uint8Array): void;
  delete(key: Uint8Array): void;
  /** Removes every key in [start, end). */
  deleteRange(start: Uint8Array, end: Uint8Array): void;
  /**
   * Adds `count` operations packed as packed-batch.ts packs them, without looking at them:
   * tag (0 delete, 1 put, 15 delete range), then one or two slices (varint length, bytes).
   */
  appendPacked(operations: Uint8Array, count: number): void;
  readonly operationCount: number;
  readonly byteLength: number;
  clear(): void;
}

export interface WriteOptions {
  /** True: returns only when this and every earlier write survive a power loss. */
  readonly sync?: boolean;
}

export interface StoreProperties {
  readonly engine: 'native' | 'fallback' | 'memory';
  readonly estimatedKeys: number;
  readonly memtableBytes: number;
  readonly sstBytes: number;
  readonly blockCacheBytes: number;
  /** What compactions that are due will have to read, about. */
  readonly uncompactedBytes: number;
}

export interface Store extends Reader {
  /** Pass to `attachStore` on another thread of the same process; undefined for memory. */
  readonly shareable: ShareableStore | undefined;
  batch(): WriteBatch;
  /**
   * Atomic. Blocks the calling thread, which should be the apply thread.
   *
   * A StoreFailure leaves open whether the batch is found after a restart; until then it is not
   * there. With `no-space` later writes fail alike and succeed again a few seconds after there is
   * room.
   */
  write(batch: WriteBatch, options?: WriteOptions): void;
  /**
   * Works like `write` without options, but never waits for the disk's syncs or for merging; false
   * where it would have to: nothing was written.
   */
  writeAtOnce(batch: WriteBatch): boolean;
  /** Whether `writeAtOnce` would write the batch now, but for what merging may change meanwhile. */
  takesAtOnce(batch: WriteBatch): boolean;
  snapshot(): StoreSnapshot;
  /**
   * Uses a snapshot of another thread (or of this one). Both sides release their own; the point in
   * time is held until the last of them does. Throws when the snapshot has been released already
   * and always in the fallback.
   */
  attachSnapshot(handle: bigint): StoreSnapshot;
  /** A consistent, durable copy in a new directory, by hard links where possible. */
  checkpoint(directory: string): void;
  /** Returns when every write so far survives a power loss (flushes the memtable). */
  makeDurable(): void;
  /**
   * Nothing will be written for a while: what was put off while much was written is done now, in
   * the background, and what many writes hold in memory becomes a file. Called by the thread that
   * writes; cheap when nothing was.
   */
  rest(): void;
  /**
   * Rewrites rows into their final shape, dropping what was deleted; others read and write
   * meanwhile. Blocks the caller; can be long. False when it was told to stop before its end: what
   * was rewritten until then stays.
   */
  compact(options?: CompactOptions): boolean;
  properties(): StoreProperties;
  /**
   * Makes every write durable, releases every snapshot and scanner still open, then ends; using any
   * of them later throws. Idempotent. The opener's close throws while other threads are attached;
   * an attached store's close only detaches.
   */
  close(): void;
}

export interface CompactOptions {
  /** Default: all rows. */
  readonly range?: ScanRange;
  /** A byte in shared memory: another thread stops the work by writing 1 into it. */
  readonly stop?: Uint8Array<SharedArrayBuffer>;
}

/** What another thread of this process needs to use the same open store. */
export type ShareableStore =
  | {readonly engine: 'native'; readonly pointer: bigint; readonly path: string}
  | {readonly engine: 'fallback'; readonly handle: unknown; readonly path: string};

export interface StoreOptions {
  /** Refuse an absent store instead of creating it. */
  readonly mustExist?: boolean;
  readonly memtableBytes?: number;
  /** Flushes and compactions at once; of the native store. */
  readonly backgroundJobs?: number;
}
