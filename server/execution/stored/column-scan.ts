/**
 * A scan of a type as parts that are columns where the column cache holds, and records elsewhere.
 *
 * Parts come in the order of the scan: bucket by bucket, row group by row group, last the records
 * that lie in other types' buckets. A row group that is not there yet is built on the way, in
 * portions; between them undefined is given, so that the caller can look at the clock. A part with
 * columns is to be used before the next is asked for.
 */
import {RowWalker} from '#server/indexes/row-walker.ts';
import {bucketRange, lowPositionOfRecordKey, recordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {type RecordValue, Rid} from '#server/model/value.ts';
import type {ScanRange} from '#server/storage/store.ts';
import {counterKey, decodeCounter} from '#server/transactions/system-keys.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import type {BucketColumns, ColumnCache} from '#server/caches/column-cache.ts';
import {type Column, type RowGroup, rowGroupRows} from '#server/caches/row-group.ts';
import type {ColumnPart, Source} from '../graph.ts';

export interface ColumnScan {
  readonly reader: ReadContext;
  readonly schema: RecordSchema;
  readonly cache: ColumnCache;
  readonly buckets: readonly number[];
  readonly typeIds: ReadonlySet<number>;
  readonly properties: readonly string[];
  /** The records of some ranges, in order. */
  readonly recordsOf: (ranges: readonly ScanRange[]) => Source<RecordValue>;
  readonly foreign: () => Source<RecordValue>;
}

const rowsPerPortion = 2_048;
const bufferBytes = 256 << 10;
/** Positions that were handed out and are empty now, for each record: more are not walked. */
const positionsPerRecord = 16;

export function* columnParts(scan: ColumnScan): Generator<ColumnPart | undefined, void, undefined> {
  for (const bucket of scan.buckets) yield* bucketParts(bucket, scan);
  yield recordsOnly(scan.foreign);
}

function* bucketParts(
  bucket: number,
  scan: ColumnScan,
): Generator<ColumnPart | undefined, void, undefined> {
  const {reader, schema, cache, properties, recordsOf} = scan;
  const ids = properties.map(name => schema.propertyId(name));
  const positions = decodeCounter(reader.get(counterKey('position', bucket)));
  const isSparse = positions > rowGroupRows + positionsPerRecord * reader.recordCount(bucket);
  const known = ids.filter(id => id !== undefined);
  if (known.length < ids.length || isSparse || reader.overlays(bucketRange(bucket))) {
    yield recordsOnly(() => recordsOf([bucketRange(bucket)]));
    return;
  }
  const columns = cache.open(bucket, reader, known);
  const groups = Math.ceil(positions / rowGroupRows);
  for (let number = 0; number < groups; number++) {
    const range = rowGroupRange(bucket, number);
    let found = columns.find(number);
    if (found === 'build') found = yield* built(columns, number, range, scan);
    const records = (): Source<RecordValue> => recordsOf([range]);
    const ridOf = (row: number): Rid => new Rid(bucket, number * rowGroupRows + row);
    yield found === 'records'
      ? recordsOnly(records)
      : columnsOf(found, known, scan, {ridOf, records});
  }
}

function recordsOnly(records: () => Source<RecordValue>): ColumnPart {
  return {columns: undefined, select: () => 0, ridOf: undefined, records};
}

function columnsOf(
  group: RowGroup,
  ids: readonly number[],
  {typeIds}: ColumnScan,
  place: Pick<ColumnPart, 'ridOf' | 'records'>,
): ColumnPart {
  const columns = ids.map(id => group.column(id) as Column);
  return {
    columns: group.isMixed ? undefined : columns,
    select: into => group.select(typeIds, into),
    ...place,
  };
}

function rowGroupRange(bucket: number, number: number): ScanRange {
  const first = number * rowGroupRows;
  return {
    start: recordKey(new Rid(bucket, first)),
    end: recordKey(new Rid(bucket, first + rowGroupRows)),
  };
}

function* built(
  columns: BucketColumns,
  number: number,
  range: ScanRange,
  {reader}: ColumnScan,
): Generator<undefined, RowGroup, undefined> {
  const group = columns.begin(number);
  const walker = new RowWalker(reader, [range], {bufferBytes, once: true});
  try {
    for (let rows = 1; walker.next(); rows++) {
      const {bytes, keyStart, keyEnd, end} = walker;
      group.put(lowPositionOfRecordKey(bytes, keyStart), bytes, keyEnd, end);
      if (rows % rowsPerPortion === 0) yield undefined;
    }
  } finally {
    walker.close();
  }
  columns.keep(number, group);
  return group;
}
