/** Reads the records of buckets as tests compare them: in order, portion by portion. */
import {RowWalker} from '#server/indexes/row-walker.ts';
import {bucketRange, ridOfRecordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import type {Reader} from '#server/storage/store.ts';
import {CompressedValueReader} from './compressed-values.ts';

export interface BucketScanOptions {
  readonly descending?: boolean;
  /** Looks at a record in place; it must not be kept. Undefined: all pass. */
  readonly test?: ((record: StoredRecord) => boolean) | undefined;
  /** Gives only records of these types (a bucket may hold others); undefined: all. */
  readonly typeIds?: ReadonlySet<number> | undefined;
}

/** Records of buckets, one bucket behind the other, each in order of creation (or its reverse). */
export class BucketScan {
  private readonly walker: RowWalker;
  private readonly schema: RecordSchema;
  private readonly options: BucketScanOptions;
  private readonly compressed: CompressedValueReader;

  constructor(
    reader: Reader,
    schema: RecordSchema,
    bucketIds: readonly number[],
    options: BucketScanOptions = {},
  ) {
    const ordered = options.descending === true ? [...bucketIds].reverse() : bucketIds;
    this.walker = new RowWalker(reader, ordered.map(bucketRange), {
      reverse: options.descending ?? false,
    });
    this.schema = schema;
    this.options = options;
    this.compressed = new CompressedValueReader(reader);
  }

  /**
   * The next 1 to `max` records that pass, or undefined at the end.
   *
   * @param rowsMax - Looks at most at that many rows: an empty portion means "go on", so that a
   * scan that passes nothing can be interrupted.
   */
  next(max: number, rowsMax = Number.MAX_SAFE_INTEGER): readonly StoredRecord[] | undefined {
    const {walker, schema} = this;
    const {test, typeIds} = this.options;
    const records: StoredRecord[] = [];
    for (let looked = 0; records.length < max; looked++) {
      if (looked === rowsMax) return records;
      if (!walker.next()) return records.length === 0 ? undefined : records;
      const rid = ridOfRecordKey(walker.bytes, walker.keyStart);
      const place = {offset: walker.keyEnd, length: walker.end - walker.keyEnd};
      const record = new StoredRecord(rid, walker.bytes, schema, place, this.compressed);
      if (typeIds !== undefined && !typeIds.has(record.typeId)) continue;
      if (test !== undefined && !test(record)) continue;
      records.push(this.compressed.decompress(record.keep()));
    }
    return records;
  }

  close(): void {
    this.walker.close();
  }
}
