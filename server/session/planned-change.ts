/** What a schema command comes to: changes of the catalog and the row that says what was done. */
import type {SchemaChange} from '#server/catalog/change.ts';
import type {MapValue, Value} from '#server/model/value.ts';

export interface PlannedChange {
  /** The steps in order; none when there is nothing to do (IF [NOT] EXISTS). */
  readonly changes: readonly SchemaChange[];
  /** The row to answer. */
  readonly row: MapValue;
  /** Buckets whose records go while the bucket stays (TRUNCATE). */
  readonly bucketIdsEmptied: readonly number[];
}

/** A row of the fields that are there. */
export function row(fields: Readonly<Record<string, Value | undefined>>): MapValue {
  const map = new Map<string, Value>();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) map.set(name, value);
  }
  return map;
}

export function one(change: SchemaChange, answer: MapValue): PlannedChange {
  return {changes: [change], row: answer, bucketIdsEmptied: []};
}

export function nothing(answer: MapValue): PlannedChange {
  return {changes: [], row: answer, bucketIdsEmptied: []};
}
