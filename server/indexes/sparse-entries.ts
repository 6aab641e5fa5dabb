/**
 * The entries of a record in a sparse vector index: one a dimension that has a weight, and with
 * the modifier IDF one that counts the record.
 */
import {Refusal} from '#server/base/errors.ts';
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {sparseOptionsOf} from '#server/catalog/vector-options.ts';
import {
  appendDimensionPrefix,
  appendEntryRid,
  appendQuantizedWeight,
  appendWeight,
  recordsDimension,
} from '#server/layout/posting-key.ts';
import {isNumberArray} from '#server/model/compare.ts';
import {type Rid, type Value, Double} from '#server/model/value.ts';
import type {IndexedRecord, IndexKey} from './index-parts.ts';
import {sparseVector} from './sparse/sparse-vector.ts';
import {requireSmallPosition} from './text-entries.ts';
import {WrittenEntry} from './written-entry.ts';

/** None where one of the two lists is null. */
export function sparseEntries(
  index: IndexDefinition,
  _declared: unknown,
  rid: Rid,
  record: IndexedRecord,
  out: ByteWriter,
): readonly IndexKey[] {
  const [first, second] = index.properties;
  const dimensions = record.get(first?.name ?? '') ?? null;
  const weights = record.get(second?.name ?? '') ?? null;
  if (dimensions === null || weights === null) return [];
  requireSmallPosition(index, rid);
  const options = sparseOptionsOf(index);
  const vector = vectorOf(index, dimensions, weights, options.dimensionCount);
  const exponent = options.isQuantized ? exponentFor(vector.weights) : undefined;
  const entries: IndexKey[] = [];
  const write = (dimension: number, weight: number): void => {
    const start = out.length;
    appendDimensionPrefix(out, index.id, dimension);
    appendEntryRid(out, rid);
    const keyEnd = out.length;
    if (exponent === undefined) appendWeight(out, weight);
    else appendQuantizedWeight(out, weight, exponent);
    entries.push(new WrittenEntry(index, String(dimension), out, {start, keyEnd}));
  };
  for (const [at, dimension] of vector.dimensions.entries()) {
    const weight = vector.weights[at] as number;
    // What is too small for its record's scale is no weight.
    if (exponent === undefined || Math.round(weight / 2 ** exponent) !== 0)
      write(dimension, weight);
  }
  if (options.modifier === 'IDF' && vector.dimensions.length > 0) write(recordsDimension, 0);
  return entries;
}

/** The least power of two in which no weight is above 127. */
function exponentFor(weights: readonly number[]): number {
  const greatest = weights.reduce((most, weight) => Math.max(most, Math.abs(weight)), 0);
  if (greatest === 0) return 0;
  const exponent = Math.ceil(Math.log2(greatest / 127));
  return Math.min(127, Math.max(-128, exponent));
}

function vectorOf(
  index: IndexDefinition,
  dimensions: Value,
  weights: Value,
  dimensionCount: number,
): ReturnType<typeof sparseVector> {
  const what = `the value for index '${index.name}'`;
  const [one, other] = [numbersOf(dimensions), numbersOf(weights)];
  if (one === undefined || other === undefined) throw refused(index, 'are no lists of numbers');
  try {
    return sparseVector(one, other, {what, dimensionCount});
  } catch (error) {
    if (error instanceof Refusal) throw refused(index, `are refused: ${error.message}`);
    throw error;
  }
}

function refused(index: IndexDefinition, why: string): Refusal {
  const names = index.properties.map(({name}) => name).join(', ');
  return new Refusal('value.validation', `${names} ${why}`, {detail: {index: index.name}});
}

/** Undefined where the value is no list of numbers. */
export function numbersOf(value: Value): readonly number[] | undefined {
  if (isNumberArray(value)) return Array.from(value as ArrayLike<number | bigint>, Number);
  if (!Array.isArray(value)) return undefined;
  const numbers: number[] = [];
  for (const item of value as readonly Value[]) {
    if (typeof item === 'number') numbers.push(item);
    else if (item instanceof Double) numbers.push(item.value);
    else if (typeof item === 'bigint') numbers.push(Number(item));
    else return undefined;
  }
  return numbers;
}
