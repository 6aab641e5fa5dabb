/**
 * Ids in slots, and the records they stand for.
 *
 * Hops are looked up by id for a whole batch at once; records are loaded for a whole batch at
 * once as well, and only where the plan asks more of a slot than its id.
 */
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {Batch} from '../../batch.ts';
import type {Graph} from '../../graph.ts';

/** The id of a record or an id as it is; undefined for anything else. */
export function ridOf(value: Value | undefined): Rid | undefined {
  if (value instanceof Rid) return value;
  return value instanceof RecordValue ? value.rid : undefined;
}

/** A Map key for an id: the same for equal ids, a number for most of them. */
export type RidKey = number | string;

const numericBucketMax = 2 ** 21;
const numericPositionMax = 2 ** 32;

export function ridKey({bucket, position}: Rid): RidKey {
  if (bucket < numericBucketMax && position >= 0 && position < numericPositionMax) {
    return bucket * numericPositionMax + position;
  }
  return `${bucket}:${position}`;
}

/** The ids in a column and the rows they stand in; rows without an id are left out. */
export function idsOf(
  batch: Batch,
  slot: Slot,
): {readonly rids: readonly Rid[]; readonly rows: readonly number[]} {
  const rids: Rid[] = [];
  const rows: number[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    const rid = ridOf(batch.get(slot, row));
    if (rid === undefined) continue;
    rids.push(rid);
    rows.push(row);
  }
  return {rids, rows};
}

/** Puts records in the place of the ids in `slot`; rows whose record is gone are dropped. */
export function withRecords(batch: Batch, slot: Slot, graph: Graph): Batch {
  const {rids, rows} = idsOf(batch, slot);
  return withFound(batch, slot, rows, graph.records(rids));
}

/** Puts into `slot` what was found for `rows`; rows for which nothing was are dropped. */
export function withFound(
  batch: Batch,
  slot: Slot,
  rows: readonly number[],
  records: readonly (RecordValue | undefined)[],
): Batch {
  const kept: number[] = [];
  const column: RecordValue[] = [];
  records.forEach((record, at) => {
    if (record === undefined) return;
    kept.push(rows[at] as number);
    column.push(record);
  });
  const rowsKept = kept.length === batch.rowCount ? batch : batch.gather(kept);
  return rowsKept.with(slot, column);
}

/** Each record once: duplicates share what was loaded. */
export function loadRecords(rids: readonly Rid[], graph: Graph): Map<RidKey, RecordValue> {
  const found = new Map<RidKey, RecordValue>();
  const wanted = new Map(rids.map(rid => [ridKey(rid), rid]));
  const records = graph.records([...wanted.values()]);
  [...wanted.keys()].forEach((key, at) => {
    const record = records[at];
    if (record !== undefined) found.set(key, record);
  });
  return found;
}
