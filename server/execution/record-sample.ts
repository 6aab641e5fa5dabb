/**
 * A sample of the records of a type: what statistics are made from.
 *
 * A small type is read whole. Of a large one a few records are read at places spread evenly over
 * the positions that its buckets have handed out, so the cost is that of some dozens of seeks
 * whatever the size, and the same data gives the same sample. Nothing is kept up to date by
 * writes: the counts are those that commits keep anyway.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {recordTypeId} from '#server/layout/record.ts';
import {bucketRange, recordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record-schema.ts';
import {type RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {EdgeStatistics, PropertyStatistics} from '#server/plan/statistics.ts';
import type {Reader, ScanRange} from '#server/storage/store.ts';
import {counterKey, decodeCounter} from '#server/transactions/system-keys.ts';
import {summarize} from './property-summary.ts';
import {ScannedRecord} from './stored/scanned-record.ts';

/** A type with at most this many records is read whole. */
const wholeMax = 512;
/** Places of a larger type, and positions that are read at each. */
const placesMax = 64;
const positionsPerPlace = 6;
/** Records of a megabyte each must not make a plan dear. */
const bytesMax = 256 << 10;

export interface SampledData {
  readonly reader: Reader;
  readonly catalog: Catalog;
  readonly schema: RecordSchema;
}

/** Committed records of a type and its subtypes. Cost: one lookup a bucket. */
export function countRecords(reader: Reader, type: CatalogType): number {
  return type.familyBucketIds.reduce((sum, bucket) => sum + counterOf(reader, 'count', bucket), 0);
}

/** Cost: the sample's (some dozens of seeks), and sorting its values. */
export function sampleProperty(
  data: SampledData,
  type: CatalogType,
  name: string,
): PropertyStatistics {
  const values: Value[] = [];
  eachSampled(data, type, record => values.push(record.get(name) ?? null));
  return summarize(values, countRecords(data.reader, type));
}

/** Undefined for light edges, which are not counted. */
export function sampleEdges(data: SampledData, type: CatalogType): EdgeStatistics | undefined {
  if (type.family.some(member => member.edge.lightweight)) return undefined;
  const from = new Map<string, number>();
  const to = new Map<string, number>();
  let seen = 0;
  const meet = (ends: Map<string, number>, end: Rid | undefined): void => {
    const name = end && data.catalog.typeOfBucket(end.bucket)?.name;
    if (name !== undefined) ends.set(name, (ends.get(name) ?? 0) + 1);
  };
  eachSampled(data, type, record => {
    seen += 1;
    meet(from, record.from);
    meet(to, record.to);
  });
  const shares = (ends: Map<string, number>): Map<string, number> =>
    new Map([...ends].map(([name, met]) => [name, met / seen]));
  return {count: countRecords(data.reader, type), from: shares(from), to: shares(to)};
}

/** The record is a cursor: it is another one at the next call. */
function eachSampled(
  {reader, schema}: SampledData,
  type: CatalogType,
  visit: (record: RecordValue) => void,
): void {
  const walker = new RowWalker(reader, sampledRanges(reader, type), {bufferBytes: 16 << 10});
  const cursor = new ScannedRecord(schema);
  let bytesLeft = bytesMax;
  try {
    while (bytesLeft > 0 && walker.next()) {
      const {bytes, keyStart, keyEnd, end} = walker;
      bytesLeft -= end - keyStart;
      if (!type.familyIds.has(recordTypeId(bytes, keyEnd))) continue;
      cursor.move(bytes, keyStart, keyEnd, end);
      visit(cursor);
    }
  } finally {
    walker.close();
  }
}

function sampledRanges(reader: Reader, type: CatalogType): readonly ScanRange[] {
  const counts = type.familyBucketIds.map(bucket => counterOf(reader, 'count', bucket));
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total <= wholeMax) return type.familyBucketIds.map(bucketRange);
  return type.familyBucketIds.flatMap((bucket, at) => {
    const places = Math.ceil((placesMax * (counts[at] ?? 0)) / total);
    const positions = counterOf(reader, 'position', bucket);
    const step = Math.max(1, positions / Math.max(places, 1));
    return Array.from({length: places}, (_place, number) => {
      const first = Math.floor(number * step);
      const last = first + Math.min(positionsPerPlace, Math.ceil(step));
      return {start: recordKey(new Rid(bucket, first)), end: recordKey(new Rid(bucket, last))};
    });
  });
}

function counterOf(reader: Reader, kind: 'count' | 'position', bucketId: number): number {
  return decodeCounter(reader.get(counterKey(kind, bucketId)));
}
