/**
 * One total order over all values, and the equality and the hash key that agree with it.
 *
 * First by class (null, booleans, numbers, texts, instants, times, durations, points, binaries,
 * record ids, lists, maps, paths), inside a class by meaning: all numbers by exact value
 * (1 = 1.0 = 1.00, -0 = 0, NaN last), texts by code point, dates with date-times by instant,
 * records with their ids, number arrays with lists, embedded documents with maps.
 *
 * Invariant M1: compareTotal(a, b) = 0 iff groupKey(a) = groupKey(b) iff the encoded keys of
 * layout/key-encoding.ts are the same bytes, and their order is this one.
 */
import {unreachable} from '#server/base/assert.ts';
import {compareBytes, compareText} from '#server/base/utf8.ts';
import {stripZeros} from './decimal.ts';
import {compareNumbers, exactDecimal, isNumberValue, numberOf, type NumberValue} from './number.ts';
import {compareRids} from './rid.ts';
import {epochSecondsOf, nanosOf} from './temporal.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  type NumberArray,
  PathValue,
  PointValue,
  RecordValue,
  Rid,
  TimeValue,
  type Value,
} from './value.ts';

/** The classes in their order; the numbers are stored as first bytes of encoded keys. */
export const valueClass = {
  null: 1,
  boolean: 2,
  number: 3,
  text: 4,
  instant: 5,
  time: 6,
  duration: 7,
  point: 8,
  binary: 9,
  rid: 10,
  list: 11,
  map: 12,
  path: 13,
} as const;

/** A value sorted into its class, with what stands for its representation there. */
export type Classified =
  | {readonly of: 'null'}
  | {readonly of: 'boolean'; readonly value: boolean}
  | {readonly of: 'number'; readonly value: NumberValue}
  | {readonly of: 'text'; readonly value: string}
  | {readonly of: 'instant'; readonly value: DateValue | DateTimeValue}
  | {readonly of: 'time'; readonly value: TimeValue}
  | {readonly of: 'duration'; readonly value: DurationValue}
  | {readonly of: 'point'; readonly value: PointValue}
  | {readonly of: 'binary'; readonly value: Uint8Array}
  | {readonly of: 'rid'; readonly value: Rid}
  | {readonly of: 'list'; readonly value: readonly Value[]}
  | {readonly of: 'map'; readonly value: ReadonlyMap<string, Value>; readonly typeName: string}
  | {readonly of: 'path'; readonly value: readonly Rid[]};

export function classify(value: Value): Classified {
  if (value === null) return {of: 'null'};
  if (typeof value === 'string') return {of: 'text', value};
  if (isNumberValue(value)) return {of: 'number', value};
  if (typeof value === 'boolean') return {of: 'boolean', value};
  if (value instanceof Rid) return {of: 'rid', value};
  if (value instanceof RecordValue) return {of: 'rid', value: value.rid};
  if (value instanceof DateValue || value instanceof DateTimeValue) return {of: 'instant', value};
  if (value instanceof Map) return {of: 'map', value, typeName: ''};
  if (value instanceof EmbeddedValue) {
    return {of: 'map', value: value.properties, typeName: value.typeName};
  }
  if (value instanceof Uint8Array) return {of: 'binary', value};
  if (value instanceof TimeValue) return {of: 'time', value};
  if (value instanceof DurationValue) return {of: 'duration', value};
  if (value instanceof PointValue) return {of: 'point', value};
  if (value instanceof PathValue) return {of: 'path', value: value.elements.map(ridOf)};
  if (isNumberArray(value)) return {of: 'list', value: listOfArray(value)};
  return {of: 'list', value: value as readonly Value[]};
}

function ridOf(element: Rid | RecordValue): Rid {
  return element instanceof Rid ? element : element.rid;
}

export function isNumberArray(value: unknown): value is NumberArray {
  return (
    value instanceof Float32Array ||
    value instanceof Float64Array ||
    value instanceof Int16Array ||
    value instanceof Int32Array ||
    value instanceof BigInt64Array
  );
}

/** Whether the value is a LIST (a typed number array counts as one). */
export function isListValue(value: Value | undefined): value is readonly Value[] | NumberArray {
  return Array.isArray(value) || isNumberArray(value);
}

/** The elements of a number array as values: a float by its shortest text. */
export function listOfArray(array: NumberArray): readonly Value[] {
  if (array instanceof Float32Array) return Array.from(array, floatValue);
  if (array instanceof Float64Array) return Array.from(array, doubleValue);
  if (array instanceof BigInt64Array) {
    return Array.from(array, long => (Number.isSafeInteger(Number(long)) ? Number(long) : long));
  }
  return Array.from(array as Int16Array);
}

function doubleValue(double: number): Value {
  return Number.isInteger(double) ? new Double(double) : double;
}

/** A 32-bit float as the double whose text is the float's shortest (0.1f reads as 0.1). */
export function floatValue(float: number): Value {
  if (Number.isInteger(float)) return new Double(float);
  if (!Number.isFinite(float)) return float;
  for (let digits = 6; digits <= 9; digits++) {
    const candidate = Number(float.toPrecision(digits));
    if (Math.fround(candidate) === float) return doubleValue(candidate);
  }
  return doubleValue(float);
}

/** Negative, zero or positive. Cost: linear in the smaller value. */
export function compareTotal(left: Value, right: Value): number {
  // The common pairs need no classification.
  if (typeof left === 'number' && typeof right === 'number') return compareNumbers(left, right);
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  const a = classify(left);
  const b = classify(right);
  if (a.of !== b.of) return valueClass[a.of] < valueClass[b.of] ? -1 : 1;
  return compareInClass(a, b as never);
}

function compareInClass<C extends Classified>(a: C, b: C): number;
function compareInClass(a: Classified, other: Classified): number {
  const b = other as never as {readonly value: never; readonly typeName: string};
  switch (a.of) {
    case 'null':
      return 0;
    case 'boolean':
      return Number(a.value) - Number(b.value);
    case 'number':
      return compareNumbers(a.value, b.value);
    case 'text':
      return compareText(a.value, b.value);
    case 'instant':
      return compareInstants(a.value, b.value);
    case 'time':
      return compareTuples(timeTuple(a.value), timeTuple(b.value));
    case 'duration':
      return compareTuples(durationTuple(a.value), durationTuple(b.value));
    case 'point':
      return compareTuples(pointTuple(a.value), pointTuple(b.value));
    case 'binary':
      return compareBytes(a.value, b.value);
    case 'rid':
      return compareRids(a.value, b.value);
    case 'list':
    case 'path':
      return compareLists(a.value, b.value);
    case 'map':
      return compareLists(mapList(a), mapList(b));
    default:
      return unreachable(a);
  }
}

function compareLists(left: readonly Value[], right: readonly Value[]): number {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const order = compareTotal(left[at] as Value, right[at] as Value);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** A map's entries by key, and last the embedded type's name: order of insertion is no matter. */
export function mapList(map: {
  readonly value: ReadonlyMap<string, Value>;
  readonly typeName: string;
}): readonly Value[] {
  const list: Value[] = [];
  for (const key of [...map.value.keys()].sort(compareText)) {
    list.push(key, map.value.get(key) ?? null);
  }
  // Null sorts before every key, so a map that ends here sorts before a longer one.
  list.push(null, map.typeName);
  return list;
}

function compareInstants(a: DateValue | DateTimeValue, b: DateValue | DateTimeValue): number {
  const order = compareTuples(instantTuple(a), instantTuple(b));
  return order === 0 ? compareText(regionOf(a), regionOf(b)) : order;
}

/** Second, nanosecond, then what tells equal instants apart: UTC, local, zoned by offset. */
export function instantTuple(value: DateValue | DateTimeValue): readonly number[] {
  const zone = value instanceof DateTimeValue ? value.zone : undefined;
  const local = value instanceof DateTimeValue && value.local;
  const kind = zone !== undefined ? 2 : local ? 1 : 0;
  return [epochSecondsOf(value), nanosOf(value), kind, zone?.offsetSeconds ?? 0];
}

export function regionOf(value: DateValue | DateTimeValue): string {
  return value instanceof DateTimeValue ? (value.zone?.region ?? '') : '';
}

/** A time with an offset sorts by its moment in UTC; one without comes first among equals. */
export function timeTuple(value: TimeValue): readonly number[] {
  const offset = value.offsetSeconds;
  return [
    value.secondOfDay - (offset ?? 0),
    value.nanos,
    offset === undefined ? 0 : 1,
    offset ?? 0,
  ];
}

/** A duration's order: by average length (a month has 30.436875 days), then by parts. */
export function durationTuple(value: DurationValue): readonly number[] {
  const {months, days, seconds, nanos} = value;
  return [months * 2_629_746 + days * 86_400 + seconds, nanos, months, days];
}

export function pointTuple(value: PointValue): readonly number[] {
  return [value.srid, value.coordinates.length, ...value.coordinates];
}

function compareTuples(left: readonly number[], right: readonly number[]): number {
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const order = compareNumbers(left[at] as number, right[at] as number);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** Whether two values are the same to grouping, DISTINCT and unique indexes; null equals null. */
export function equalValues(left: Value, right: Value): boolean {
  return left === right || compareTotal(left, right) === 0;
}

/** A Map key that is the same for equal values and different for others. */
export function groupKey(value: Value): string | number {
  if (typeof value === 'string') return `s${value}`;
  if (typeof value === 'number' && !Number.isInteger(value)) return value;
  const known = classify(value);
  switch (known.of) {
    case 'null':
      return 'n';
    case 'boolean':
      return known.value ? 't' : 'f';
    case 'number':
      return numberKey(known.value);
    case 'text':
      return `s${known.value}`;
    case 'instant':
      return `i${instantTuple(known.value).join(',')},${regionOf(known.value)}`;
    case 'time':
      return `T${timeTuple(known.value).join(',')}`;
    case 'duration':
      return `D${durationTuple(known.value).join(',')}`;
    case 'point':
      return `p${pointTuple(known.value)
        .map(part => part + 0)
        .join(',')}`;
    case 'binary':
      return `b${known.value.join(',')}`;
    case 'rid':
      return `r${known.value.bucket}:${known.value.position}`;
    case 'list':
      return `[${joinKeys(known.value)}`;
    case 'path':
      return `P${joinKeys(known.value)}`;
    case 'map':
      return `{${joinKeys(mapList(known))}`;
    default:
      return unreachable(known);
  }
}

/** Keys of several values as one: for GROUP BY over more than one expression. */
export function joinKeys(values: readonly Value[]): string {
  let joined = '';
  for (const value of values) {
    const key = groupKey(value);
    const text = typeof key === 'number' ? `d${key}` : key;
    joined += `${text.length}:${text}`;
  }
  return joined;
}

function numberKey(value: NumberValue): string | number {
  if (value instanceof Double || typeof value === 'number') {
    const double = numberOf(value);
    if (!Number.isInteger(double)) return double;
    return Number.isSafeInteger(double) ? double + 0 : `i${BigInt(double)}`;
  }
  if (typeof value === 'bigint')
    return Number.isSafeInteger(Number(value)) ? Number(value) : `i${value}`;
  const decimal = stripZeros(value);
  const double = numberOf(decimal);
  if (decimal.scale === 0) return Number.isSafeInteger(double) ? double : `i${decimal.unscaled}`;
  const exact = exactDecimal(double);
  if (exact instanceof Decimal && compareNumbers(exact, decimal) === 0) return double;
  return `d${decimal.unscaled}e${decimal.scale}`;
}

/** Places of the classes where maps come first and numbers last. */
const structuresFirst: Readonly<Record<Classified['of'], number>> = {
  map: 1,
  rid: 2,
  list: 3,
  path: 4,
  point: 5,
  instant: 6,
  time: 7,
  duration: 8,
  text: 9,
  boolean: 10,
  number: 11,
  binary: 12,
  null: 13,
};

/** Works like `compareTotal` inside a class, with the classes in another order; null last. */
export function compareStructuresFirst(left: Value, right: Value): number {
  if (typeof left === 'number' && typeof right === 'number') return compareNumbers(left, right);
  const a = classify(left);
  const b = classify(right);
  if (a.of !== b.of) return structuresFirst[a.of] - structuresFirst[b.of];
  if (a.of === 'rid') {
    const [first, second] = [placeOfKind(left), placeOfKind(right)];
    if (first !== second) return first - second;
  }
  if (a.of !== 'list' || b.of !== 'list') return compareTotal(left, right);
  const length = Math.min(a.value.length, b.value.length);
  for (let at = 0; at < length; at++) {
    const order = compareStructuresFirst(a.value[at] as Value, b.value[at] as Value);
    if (order !== 0) return order;
  }
  return a.value.length - b.value.length;
}

/** Vertices before edges. */
function placeOfKind(value: Value): number {
  return value instanceof RecordValue && value.kind === 'edge' ? 1 : 0;
}
