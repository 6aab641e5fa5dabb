/**
 * Rough bytes of what operators keep and expressions make: for the budget, not for accounting.
 *
 * What a value shares with another counts each time that it occurs, since whoever prints, compares
 * or copies the value meets it each time: a list of a list of a list that holds the one before it
 * twice is as large as it looks. So nothing that passed `bounded` takes for ever to go through.
 */
import {Refusal} from '#server/base/errors.ts';
import {StoredRecord} from '#server/layout/stored-record.ts';
import {EmbeddedValue, PathValue, Rid, type Value} from '#server/model/value.ts';
import type {Batch} from '../batch.ts';
import type {Budget} from '../budget.ts';

const valueBytes = 16;
const ridBytes = 40;
const recordBytes = 320;
/** Texts up to here are not worth counting one by one. */
const shortText = 256;
/** Levels of lists and maps in each other; what walks a value calls itself so often. */
const depthMax = 2_000;

/**
 * Bytes of a value; once they are more than `bytesMax`, some number above it.
 *
 * @throws {Refusal} `query.memory` for a value that nests too deep.
 */
export function estimateValue(
  value: Value,
  bytesMax: number = Number.POSITIVE_INFINITY,
  depth = 0,
): number {
  if (typeof value === 'string') return valueBytes + 2 * value.length;
  if (typeof value !== 'object' || value === null) return valueBytes;
  if (depth > depthMax) {
    throw new Refusal('query.memory', `a value has more than ${depthMax} levels of nesting`);
  }
  if (Array.isArray(value)) return estimateItems(value as readonly Value[], bytesMax, depth);
  if (value instanceof Map) return estimateEntries(value, bytesMax, depth);
  if (value instanceof Rid) return ridBytes;
  if (ArrayBuffer.isView(value)) return 64 + value.byteLength;
  if (value instanceof StoredRecord) return recordBytes + value.length;
  if (value instanceof EmbeddedValue) return estimateEntries(value.properties, bytesMax, depth);
  if (value instanceof PathValue) return estimateItems(value.elements, bytesMax, depth);
  return recordBytes;
}

function estimateItems(items: readonly Value[], bytesMax: number, depth: number): number {
  let bytes = 32;
  for (const item of items) {
    bytes += estimateValue(item, bytesMax - bytes, depth + 1);
    if (bytes > bytesMax) break;
  }
  return bytes;
}

function estimateEntries(
  entries: ReadonlyMap<string, Value>,
  bytesMax: number,
  depth: number,
): number {
  let bytes = 64;
  for (const [key, item] of entries) {
    bytes += 48 + key.length + estimateValue(item, bytesMax - bytes, depth + 1);
    if (bytes > bytesMax) break;
  }
  return bytes;
}

export function estimateBatch(batch: Batch): number {
  let bytes = 64;
  for (const column of batch.columns) {
    if (column === undefined) continue;
    for (const value of column) bytes += estimateValue(value);
  }
  return bytes;
}

/**
 * A value that an expression has made, if it is no larger than a value may be.
 *
 * @throws {Refusal} `query.memory`, `query.memory-total`.
 */
export function bounded(value: Value, budget: Budget): Value {
  if (typeof value === 'string') {
    if (value.length > shortText) budget.made(2 * value.length);
  } else if (Array.isArray(value) || value instanceof Map) {
    budget.made(estimateValue(value, budget.valueBytesMax));
  }
  return value;
}

/** Texts, lists and maps of one batch, counted as kept until `release`; others are not counted. */
export class KeptValues {
  readonly #budget: Budget;
  #bytes = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add(value: Value): void {
    const isLarge =
      typeof value === 'string'
        ? value.length > shortText
        : Array.isArray(value) || value instanceof Map;
    if (!isLarge) return;
    const bytes = estimateValue(value);
    this.#budget.keep(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#budget.release(this.#bytes);
    this.#bytes = 0;
  }
}
