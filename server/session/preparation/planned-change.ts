/** What a schema command comes to: changes of the catalog and the row that says what was done. */
import type {Settings} from '#server/base/setting-values.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import type {NameAllocator} from '#server/catalog/names.ts';
import {jsonText} from '#server/model/json.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';

/** What a command looks at beside the catalog. */
export interface SchemaFacts {
  readonly names: NameAllocator;
  /** The server's settings. */
  readonly settings: Settings;
  /** Records in a bucket. */
  recordCount(bucketId: number): number;
}

export type CommandOf<K extends SchemaCommand['kind']> = Extract<SchemaCommand, {readonly kind: K}>;

export interface PlannedChange {
  /** The steps in order; none when there is nothing to do (IF [NOT] EXISTS). */
  readonly changes: readonly SchemaChange[];
  /** The row to answer. */
  readonly row: MapValue;
  /** Buckets whose records go while the bucket stays (TRUNCATE). */
  readonly bucketIdsEmptied: readonly number[];
  /** Names of types whose records are then moved to the buckets that their values lead to. */
  readonly repartitioned?: readonly string[];
}

/** A text as it is, anything else as JSON. */
export function shown(value: Value): string {
  return typeof value === 'string' ? value : jsonText(value);
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
