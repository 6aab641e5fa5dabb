/**
 * Fills a new index from the records that were there before it, chunk by chunk.
 *
 * Each chunk is a transaction of its own: it puts the keys of some records on the condition
 * that these have not changed, so a chunk that met a concurrent write is simply made again
 * (`fill` without `advance`). Writes since the index was declared keep their own keys, hence a
 * key put twice is the same key. A duplicate in a unique index ends the build.
 */
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {
  bucketRange,
  keyBehindRecord,
  recordKey,
  ridOfRecordKey,
} from '#server/layout/record-key.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {CompressedValueReader} from './compressed-values.ts';
import type {RecordContext} from './context.ts';
import type {IndexMaintenance} from './indexes.ts';
import {StrayMembers} from './members.ts';
import {loadMany} from './read.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

export interface BuildLimits {
  readonly recordsMax: number;
  /** The chunk ends behind the record that exceeds it. */
  readonly writeBytesMax: number;
}

/** Work in bounded transactions: `fill` one, again after a conflict; `advance` once committed. */
export interface ChunkedWork {
  readonly done: boolean;
  fill(transaction: Transaction, limits: BuildLimits): void;
  advance(): void;
}

export class IndexBuild implements ChunkedWork {
  /** Records whose keys are in committed chunks. */
  recordsDone = 0;
  private readonly context: RecordContext;
  private readonly index: IndexDefinition;
  private readonly indexes: IndexMaintenance;
  private readonly buckets: readonly number[];
  private readonly typeIds: ReadonlySet<number>;
  private bucketAt = 0;
  /** Key behind the last record of the committed chunks; undefined: start of the bucket. */
  private start: Uint8Array | undefined;
  private pending: {bucketAt: number; start: Uint8Array | undefined; records: number} | undefined;

  constructor(context: RecordContext, index: IndexDefinition) {
    this.context = context;
    this.index = index;
    this.indexes = context.workspace.indexes;
    const type = context.catalog.typeById(index.typeId);
    this.buckets = type?.familyBucketIds ?? [];
    this.typeIds = type?.familyIds ?? new Set();
  }

  /** Whether every record was looked at in a committed chunk. */
  get done(): boolean {
    // One place more: the records that lie in none of the buckets.
    return this.bucketAt > this.buckets.length;
  }

  /**
   * Puts the keys of the next records into `transaction`.
   *
   * @throws {Refusal} `commit.duplicate-key` when two records have one unique key.
   */
  fill(transaction: Transaction, limits: BuildLimits): void {
    let {bucketAt, start} = this;
    let records = 0;
    const bucketId = this.buckets[bucketAt];
    if (bucketId === undefined) return this.fillForeign(transaction);
    const range = bucketRange(bucketId);
    const walker = new RowWalker(transaction, [{start: start ?? range.start, end: range.end}]);
    let more = walker.next();
    while (more && records < limits.recordsMax && transaction.writeBytes < limits.writeBytesMax) {
      this.putKeys(transaction, walker);
      start = keyBehindRecord(ridOfRecordKey(walker.bytes, walker.keyStart));
      records++;
      more = walker.next();
    }
    walker.close();
    if (!more) {
      bucketAt++;
      start = undefined;
    }
    this.pending = {bucketAt, start, records};
  }

  /** They are few, and taken at once: each was moved by a statement of its own. */
  private fillForeign(transaction: Transaction): void {
    const members = new StrayMembers(transaction, this.typeIds, this.buckets);
    let records = 0;
    for (let rids = members.next(256); rids !== undefined; rids = members.next(256)) {
      for (const record of loadMany(transaction, this.context.schema, rids)) {
        if (record === undefined) continue;
        this.putKeysOf(transaction, record);
        records++;
      }
    }
    members.close();
    this.pending = {bucketAt: this.bucketAt + 1, start: undefined, records};
  }

  /** The last filled chunk is committed: the next one goes on behind it. */
  advance(): void {
    if (this.pending === undefined) return;
    this.bucketAt = this.pending.bucketAt;
    this.start = this.pending.start;
    this.recordsDone += this.pending.records;
    this.pending = undefined;
  }

  private putKeys(transaction: Transaction, walker: RowWalker): void {
    const rid = ridOfRecordKey(walker.bytes, walker.keyStart);
    const place = {offset: walker.keyEnd, length: walker.end - walker.keyEnd};
    // Late: most indexes ask for nothing that is compressed.
    const folds = new CompressedValueReader(transaction);
    const {schema} = this.context;
    this.putKeysOf(transaction, new StoredRecord(rid, walker.bytes, schema, place, folds));
  }

  private putKeysOf(transaction: Transaction, record: StoredRecord): void {
    if (!this.typeIds.has(record.typeId)) return;
    const {rid} = record;
    const keys = this.indexes.keysOf(this.index, rid, record);
    if (keys.length === 0) return;
    transaction.require({kind: 'unchanged', key: recordKey(rid)});
    for (const key of keys) this.indexes.put(transaction, this.index, key, rid);
  }
}
