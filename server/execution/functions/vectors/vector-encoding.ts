/**
 * `vector.*` between forms of a vector: 8 bits or 1 bit an element, sparse, text.
 *
 * Quantized vectors are maps that also say how they are read back, so that they can be stored as
 * they are: `{quantized, min, max}` and `{packed, median, originalLength}`.
 */
import {jsonText} from '#server/model/json.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {floatValue} from '#server/model/compare.ts';
import {itemsOf} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {argument, doubleAt, integerAt, itemCountMax, refuse, textAt} from '../arguments.ts';
import type {FunctionFamily} from '../../function-registry.ts';
import {
  float,
  optionRefusal,
  sparseAt,
  sparseOf,
  type SparseVector,
  sparseValue,
  vectorAt,
  wordOf,
} from './vector-arguments.ts';

/** [least, greatest] become the bytes -128 to 127. */
function quantizeInt8(args: readonly Value[]): Value {
  const vector = vectorAt(args, 0, 'vector.quantizeInt8()');
  const least = vector.reduce((low, element) => Math.min(low, element));
  const most = vector.reduce((high, element) => Math.max(high, element));
  const range = most - least;
  const bytes = Int16Array.from(vector, element =>
    range === 0 ? 0 : Math.round(Math.fround((element - least) / range) * 255) - 128,
  );
  return new Map<string, Value>([
    ['quantized', bytes],
    ['min', float(least)],
    ['max', float(most)],
  ]);
}

function dequantizeInt8(args: readonly Value[]): Value {
  const name = 'vector.dequantizeInt8()';
  const bytes = bytesOf(argument(args, 0), 'quantized', name);
  const map = argument(args, 0);
  const [least, most] =
    map instanceof Map && args.length === 1
      ? [doubleAt([map.get('min') ?? null], 0, name), doubleAt([map.get('max') ?? null], 0, name)]
      : [doubleAt(args, 1, name), doubleAt(args, 2, name)];
  return Float32Array.from(bytes, byte => least + ((byte + 128) / 255) * (most - least));
}

/** A bit is 1 where the element is not below the median. */
function quantizeBinary(args: readonly Value[]): Value {
  const vector = vectorAt(args, 0, 'vector.quantizeBinary()');
  const sorted = vector.toSorted();
  const middle = sorted.length >> 1;
  const median =
    sorted.length % 2 === 1
      ? (sorted[middle] ?? 0)
      : Math.fround(((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2);
  const packed = new Int16Array((vector.length + 7) >> 3);
  for (let at = 0; at < vector.length; at++) {
    const place = at >> 3;
    if ((vector[at] ?? 0) >= median) packed[place] = (packed[place] ?? 0) | (1 << (at & 7));
  }
  return new Map<string, Value>([
    ['packed', packed],
    ['median', floatValue(median)],
    ['originalLength', vector.length],
  ]);
}

/** 1 for a bit that is set, -1 for one that is not. */
function dequantizeBinary(args: readonly Value[]): Value {
  const name = 'vector.dequantizeBinary()';
  const bytes = bytesOf(argument(args, 0), 'packed', name);
  const map = argument(args, 0);
  const length =
    map instanceof Map
      ? integerAt([map.get('originalLength') ?? null], 0, name)
      : integerAt(args, 1, name);
  if (length < 1 || length > 8 * bytes.length) refuse(`${name} has no ${length} bits`);
  return Float32Array.from({length}, (_, at) =>
    ((bytes[at >> 3] ?? 0) & (1 << (at & 7))) === 0 ? -1 : 1,
  );
}

/** The bytes of a quantized vector, or a list of them. */
function bytesOf(value: Value, key: 'quantized' | 'packed', name: string): readonly number[] {
  const bytes = value instanceof Map ? (value.get(key) ?? null) : value;
  const items = bytes instanceof Uint8Array ? [...bytes] : itemsOf(bytes);
  if (items === undefined) {
    return refuse(`${name} needs a quantized vector or its bytes, not ${describe(value)}`);
  }
  return items.map(item =>
    isNumberValue(item) ? numberOf(item) : refuse(`${name} needs bytes, not ${describe(item)}`),
  );
}

const quantizations = ['INT8', 'BINARY'] as const;

function quantizationOf(value: Value): (typeof quantizations)[number] | undefined {
  if (!(value instanceof Map)) return undefined;
  if (value.has('quantized')) return 'INT8';
  return value.has('packed') ? 'BINARY' : undefined;
}

/** Returns the distance of the bytes for 8 bits, and the share of bits that differ for 1 bit. */
function approxDistance(args: readonly Value[]): Value {
  const name = 'vector.approxDistance()';
  const [left = null, right = null] = args;
  const said = argument(args, 2);
  const kinds = [quantizationOf(left), quantizationOf(right)];
  const kind =
    said === null ? kinds[0] : wordOf(textAt(args, 2), quantizations, 'quantization type');
  if (kind === undefined || (said === null && kinds[1] === undefined)) {
    throw optionRefusal(`${name} of plain bytes needs 'INT8' or 'BINARY' as its third argument`);
  }
  if (kinds.some(found => found !== undefined && found !== kind)) {
    throw optionRefusal(`${name} needs two vectors that were quantized in the same way`);
  }
  const key = kind === 'INT8' ? 'quantized' : 'packed';
  const [one, other] = [bytesOf(left, key, name), bytesOf(right, key, name)];
  if (one.length !== other.length) {
    return refuse(`${name} needs vectors of one length, not of ${one.length} and ${other.length}`);
  }
  const at = (bytes: readonly number[], place: number): number => bytes[place] ?? 0;
  let sum = 0;
  for (let place = 0; place < one.length; place++) {
    sum +=
      kind === 'INT8'
        ? (at(one, place) - at(other, place)) ** 2
        : bitCount((at(one, place) ^ at(other, place)) & 255);
  }
  if (kind === 'INT8') return float(Math.sqrt(sum));
  return float(sum / bitsOf(left, right, one.length, name));
}

function bitsOf(left: Value, right: Value, bytes: number, name: string): number {
  const lengths = [left, right].map(value =>
    value instanceof Map ? integerAt([value.get('originalLength') ?? null], 0, name) : undefined,
  );
  const [one = 8 * bytes, other = one] = lengths;
  return one === other ? one : refuse(`${name} needs vectors of one length`);
}

function bitCount(byte: number): number {
  let count = 0;
  for (let rest = byte; rest !== 0; rest &= rest - 1) count++;
  return count;
}

export function denseToSparse(args: readonly Value[]): Value {
  return sparseFrom(args, 'vector.denseToSparse()');
}

function sparseFrom(args: readonly Value[], name: string): Value {
  const vector = vectorAt(args, 0, name);
  const threshold = argument(args, 1) === null ? 0 : doubleAt(args, 1, name);
  const places: number[] = [];
  for (let at = 0; at < vector.length; at++) {
    if (Math.abs(vector[at] ?? 0) > threshold) places.push(at);
  }
  return sparseValue({
    dimensions: vector.length,
    indices: Int32Array.from(places),
    values: Float32Array.from(places, at => vector[at] ?? 0),
  });
}

function sparseToDense(args: readonly Value[]): Value {
  const name = 'vector.sparseToDense()';
  const sparse = sparseAt(args, 0, name);
  const length = integerAt(args, 1, name, sparse.dimensions);
  const last = sparse.indices.at(-1) ?? 0;
  if (length <= last || length > itemCountMax) {
    refuse(`${name} makes vectors of ${last + 1} to ${itemCountMax} dimensions of this one`);
  }
  const dense = new Float32Array(length);
  for (let at = 0; at < sparse.indices.length; at++) {
    dense[sparse.indices[at] ?? 0] = sparse.values[at] ?? 0;
  }
  return dense;
}

/** Both lists of indices ascend: one walk over each. */
function sparseProduct(left: SparseVector, right: SparseVector): number {
  let sum = 0;
  for (let one = 0, other = 0; one < left.indices.length && other < right.indices.length; ) {
    const order = (left.indices[one] ?? 0) - (right.indices[other] ?? 0);
    if (order === 0) sum += (left.values[one] ?? 0) * (right.values[other] ?? 0);
    if (order <= 0) one++;
    if (order >= 0) other++;
  }
  return sum;
}

const textFormats = [
  'COMPACT',
  'PRETTY',
  'PYTHON',
  'MATLAB',
  'MATLAB_COLUMN',
  'JULIA',
  'NUMPY',
] as const;

function vectorText(args: readonly Value[]): Value {
  const vector = vectorAt(args, 0, 'vector.toString()');
  const format = wordOf(textAt(args, 1, 'COMPACT'), textFormats, 'format');
  const texts = Array.from(vector, element => elementText(element));
  switch (format) {
    case 'PRETTY':
      return `[\n${texts.map(text => `  ${text}`).join(',\n')}\n]`;
    case 'MATLAB':
      return `[${texts.join(' ')}]`;
    case 'MATLAB_COLUMN':
      return `[${texts.join('; ')}]`;
    case 'NUMPY':
      return texts.join(', ');
    default:
      return `[${texts.join(', ')}]`;
  }
}

/** JSON has no word for what is not finite. */
function elementText(element: number): string {
  return Number.isFinite(element) ? jsonText(floatValue(element)) : String(element);
}

export const vectorEncodings: FunctionFamily = {
  scalars: {
    'vector.quantizeInt8': quantizeInt8,
    'vector.dequantizeInt8': dequantizeInt8,
    'vector.quantizeBinary': quantizeBinary,
    'vector.dequantizeBinary': dequantizeBinary,
    'vector.approxDistance': approxDistance,
    'vector.sparseCreate': ([indices = null, values = null, dimensions = null]) =>
      sparseValue(sparseOf('vector.sparseCreate()', indices, values, dimensions)),
    'vector.denseToSparse': denseToSparse,
    'vector.sparseToDense': sparseToDense,
    'vector.sparseDot': args =>
      float(
        sparseProduct(
          sparseAt(args, 0, 'vector.sparseDot()'),
          sparseAt(args, 1, 'vector.sparseDot()'),
        ),
      ),
    'vector.toString': vectorText,
    '.asVector': args => vectorAt(args, 0, 'asVector()'),
    '.asSparse': args => sparseFrom(args, 'asSparse()'),
  },
};
