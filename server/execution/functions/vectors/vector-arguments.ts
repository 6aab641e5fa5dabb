/**
 * Reading the arguments of `vector.*`: dense vectors, sparse ones, options, ranked rows.
 *
 * Vectors are 32-bit floats, so every answer is rounded to one: the same request gives the same
 * digits wherever it runs. A sparse vector is a map with `dimensions`, `indices` (ascending, each
 * once) and `values`. Source: docs/functions.md.
 */
import {Refusal} from '#server/base/errors.ts';
import {floatValue, isNumberArray} from '#server/model/compare.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Rid} from '#server/model/value.ts';
import {RecordValue, type MapValue, type Value} from '#server/model/value.ts';
import type {CallContext} from '../../context.ts';
import {itemsOf} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {argument, itemCountMax, refuse, singleRid} from '../arguments.ts';

/** The number rounded to a 32-bit float, as a value. */
export function float(number: number): Value {
  return floatValue(Math.fround(number));
}

/** The dense vector of an argument. The array is the caller's only where it is not a property's. */
export function vectorAt(args: readonly Value[], at: number, name: string): Float32Array {
  return vectorOf(argument(args, at), name);
}

/** A list of numbers, or a text such as `[0.5, 1]`, as a vector of one dimension at least. */
export function vectorOf(value: Value, name: string): Float32Array {
  if (value instanceof Float32Array && value.length > 0) return value;
  if (typeof value === 'string') return vectorOfText(value, name);
  const items = isNumberArray(value) ? undefined : itemsOf(value);
  if (items === undefined && !isNumberArray(value)) {
    return refuse(`${name} needs a vector (a list of numbers), not ${describe(value)}`);
  }
  const length = isNumberArray(value) ? value.length : (items?.length ?? 0);
  if (length === 0) return refuse(`${name} needs a vector of at least one dimension`);
  if (length > itemCountMax) {
    return refuse(`${name} takes vectors of up to ${itemCountMax} dimensions, not ${length}`);
  }
  if (isNumberArray(value)) return Float32Array.from(value as ArrayLike<number | bigint>, Number);
  const vector = new Float32Array(length);
  for (let at = 0; at < length; at++) vector[at] = elementOf(items?.[at] ?? null, name);
  return vector;
}

function elementOf(item: Value, name: string): number {
  if (isNumberValue(item)) return numberOf(item);
  return refuse(`${name} needs a vector of numbers, and one element is ${describe(item)}`);
}

const vectorText = /^\s*\[?([^[\]]*)\]?\s*$/;

function vectorOfText(text: string, name: string): Float32Array {
  const parts = vectorText
    .exec(text)?.[1]
    ?.split(/[\s,;]+/)
    .filter(part => part !== '');
  if (parts === undefined || parts.length === 0 || parts.length > itemCountMax) {
    return refuse(`${name} cannot read the text ${JSON.stringify(text.slice(0, 40))} as a vector`);
  }
  return Float32Array.from(parts, part => {
    const number = Number(part);
    return Number.isNaN(number) && part !== 'NaN'
      ? refuse(`${name} needs a vector of numbers, and one element is '${part.slice(0, 40)}'`)
      : number;
  });
}

/** Two vectors of one length. */
export function vectorPairAt(
  args: readonly Value[],
  name: string,
): readonly [left: Float32Array, right: Float32Array] {
  const left = vectorAt(args, 0, name);
  const right = vectorAt(args, 1, name);
  if (left.length === right.length) return [left, right];
  return refuse(
    `${name} needs vectors of one dimension, not of ${left.length} and of ${right.length}`,
  );
}

export interface SparseVector {
  readonly dimensions: number;
  /** Ascending, each once. */
  readonly indices: Int32Array;
  readonly values: Float32Array;
}

/** The sparse vector that a map stands for. */
export function sparseAt(args: readonly Value[], at: number, name: string): SparseVector {
  const value = argument(args, at);
  if (!(value instanceof Map)) {
    return refuse(`${name} needs a sparse vector (of vector.sparseCreate), not ${describe(value)}`);
  }
  const map: MapValue = value;
  const indices = map.get('indices') ?? null;
  const values = map.get('values') ?? null;
  const dimensions = map.get('dimensions') ?? null;
  return sparseOf(name, indices, values, dimensions);
}

/**
 * Makes a vector from indices and their values, in any order.
 *
 * @throws {Refusal} `argument` for lists of two lengths, a repeated index, one out of range.
 */
export function sparseOf(
  name: string,
  indexList: Value,
  valueList: Value,
  dimensionsValue: Value,
): SparseVector {
  const indices = itemsOf(indexList);
  const values = itemsOf(valueList);
  if (indices === undefined || values === undefined) {
    return refuse(`${name} needs a list of indices and a list of values`);
  }
  if (indices.length !== values.length) {
    return refuse(`${name} has ${indices.length} indices and ${values.length} values`);
  }
  const pairs = indices.map(
    (index, at) => [indexOf(index, name), elementOf(values[at] ?? null, name)] as const,
  );
  pairs.sort(([left], [right]) => left - right);
  const repeated = pairs.find(([index], at) => at > 0 && pairs[at - 1]?.[0] === index);
  if (repeated !== undefined) return refuse(`${name} has the index ${repeated[0]} twice`);
  const least = (pairs.at(-1)?.[0] ?? 0) + 1;
  const dimensions = dimensionsValue === null ? least : wholeOf(dimensionsValue, name);
  if (dimensions < least) {
    return refuse(`${name} has the index ${least - 1} in a vector of ${dimensions} dimensions`);
  }
  return {
    dimensions,
    indices: Int32Array.from(pairs, ([index]) => index),
    values: Float32Array.from(pairs, ([, value]) => value),
  };
}

const indexMax = 2 ** 31 - 1;

function indexOf(value: Value, name: string): number {
  const index = isNumberValue(value) ? numberOf(value) : Number.NaN;
  return Number.isInteger(index) && index >= 0 && index < indexMax
    ? index
    : refuse(`${name} needs indices that are whole numbers of 0 or more, not ${describe(value)}`);
}

function wholeOf(value: Value, name: string): number {
  const number = isNumberValue(value) ? numberOf(value) : Number.NaN;
  return Number.isInteger(number) && number >= 1 && number <= indexMax
    ? number
    : refuse(`${name} needs a number of dimensions of 1 or more, not ${describe(value)}`);
}

export function sparseValue({dimensions, indices, values}: SparseVector): Value {
  return new Map<string, Value>([
    ['dimensions', dimensions],
    ['indices', indices],
    ['values', values],
  ]);
}

/**
 * The options of a function: a map, of which every key is known.
 *
 * @throws {Refusal} `query.option` for an unknown key; keys are case sensitive.
 */
export class Options {
  readonly #name: string;
  readonly #map: MapValue;

  constructor(name: string, value: Value, known: readonly string[]) {
    this.#name = name;
    if (value !== null && !(value instanceof Map)) {
      throw optionRefusal(`The options of '${name}' are a map, not ${describe(value)}`);
    }
    this.#map = value ?? new Map<string, Value>();
    for (const key of this.#map.keys()) {
      if (known.includes(key)) continue;
      const allowed = [...known].sort().join(', ');
      throw optionRefusal(`Unknown option '${key}' for function '${name}'. Allowed: [${allowed}]`);
    }
  }

  get(key: string): Value {
    return this.#map.get(key) ?? null;
  }

  /** A whole number of `least` to `most`; `otherwise` where the key is missing or null. */
  whole(key: string, otherwise: number, least: number, most: number = indexMax): number {
    const value = this.get(key);
    if (value === null) return otherwise;
    const number = isNumberValue(value) ? numberOf(value) : Number.NaN;
    if (Number.isInteger(number) && number >= least && number <= most) return number;
    const range = most === indexMax ? `${least} or more` : `${least} to ${most}`;
    throw optionRefusal(
      `Option '${key}' of '${this.#name}' is a whole number of ${range}, not ${describe(value)}`,
    );
  }

  /** A finite number. */
  number(key: string, otherwise: number): number {
    const value = this.get(key);
    if (value === null) return otherwise;
    const number = isNumberValue(value) ? numberOf(value) : Number.NaN;
    if (Number.isFinite(number)) return number;
    throw optionRefusal(`Option '${key}' of '${this.#name}' is a number, not ${describe(value)}`);
  }

  truth(key: string, otherwise: boolean): boolean {
    const value = this.get(key);
    if (value === null) return otherwise;
    if (typeof value === 'boolean') return value;
    throw optionRefusal(`Option '${key}' of '${this.#name}' is a boolean, not ${describe(value)}`);
  }

  text(key: string): string | undefined {
    const value = this.get(key);
    if (value === null) return undefined;
    if (typeof value === 'string' && value !== '') return value;
    throw optionRefusal(`Option '${key}' of '${this.#name}' is a text, not ${describe(value)}`);
  }

  list(key: string): readonly Value[] | undefined {
    const value = this.get(key);
    if (value === null) return undefined;
    const items = itemsOf(value);
    if (items !== undefined) return items;
    throw optionRefusal(`Option '${key}' of '${this.#name}' is a list, not ${describe(value)}`);
  }
}

export function optionRefusal(message: string): Refusal {
  return new Refusal('query.option', message);
}

/** One of the words, whatever its case. */
export function wordOf<W extends string>(text: string, words: readonly W[], what: string): W {
  const found = words.find(word => word === text.toUpperCase());
  if (found !== undefined) return found;
  throw optionRefusal(`Unknown ${what} '${text.slice(0, 40)}'. Allowed: ${words.join(', ')}`);
}

/** A row of a ranked source. */
export interface RankedRow {
  readonly rid: Rid;
  /** Greater is better; NaN where the row has none. */
  readonly score: number;
  readonly row: Value;
}

/** The rows of a ranked source that belong to records, in their order. */
export function rankedRows(value: Value, name: string, what: string): readonly RankedRow[] {
  if (value === null) return [];
  const rows = itemsOf(value);
  if (rows === undefined) {
    throw optionRefusal(`${name} needs a list of rows as its ${what}, not ${describe(value)}`);
  }
  return rows.flatMap(row => rankedRow(row) ?? []);
}

/** Undefined for a row of no record. */
export function rankedRow(row: Value): RankedRow | undefined {
  const rid = row instanceof Map ? ridOfRow(row) : singleRid(row);
  return rid && {rid, score: scoreOf(row), row};
}

/** NaN for what is no number. */
export function scoreOfValue(value: Value): number {
  return isNumberValue(value) ? numberOf(value) : Number.NaN;
}

function ridOfRow(row: MapValue): Rid | undefined {
  return singleRid(row.get('@rid') ?? row.get('rid') ?? row.get('record') ?? null);
}

/** `score` as it is; of a `distance` less is better, so its sign is turned. */
export function scoreOf(row: Value): number {
  const read = (name: string): number | undefined => {
    const value = row instanceof Map || row instanceof RecordValue ? (row.get(name) ?? null) : null;
    return isNumberValue(value) ? numberOf(value) : undefined;
  };
  const distance = (): number | undefined => {
    const value = read('distance');
    return value === undefined ? undefined : -value;
  };
  return read('score') ?? read('$score') ?? distance() ?? Number.NaN;
}

/** The row that a search answers for a record: its properties, who it is, and how it ranks. */
export function recordRow(
  record: RecordValue,
  measure: 'score' | 'distance',
  value: number,
): MapValue {
  const row = new Map<string, Value>([['record', record]]);
  for (const [name, property] of record.properties()) row.set(name, property);
  row.set('@rid', record.rid);
  row.set('@type', record.typeName);
  row.set(measure, float(value));
  return row;
}

/** The records of the rows that still exist, each with its row. */
export function recordsOf(
  rows: readonly RankedRow[],
  call: CallContext,
): readonly (readonly [row: RankedRow, record: RecordValue])[] {
  const records = call.graph.records(rows.map(({rid}) => rid));
  return rows.flatMap((row, at) => {
    const record = records[at];
    return record === undefined ? [] : [[row, record] as const];
  });
}
