/**
 * Lists of numbers as typed arrays: ARRAY_OF_SHORTS, _INTEGERS, _LONGS, _FLOATS, _DOUBLES.
 *
 * One element that is no number or out of range makes the whole conversion fail.
 */
import {unreachable} from '#server/base/assert.ts';
import {isIntegerValue, isNumberValue, longMax, longMin, numberOf} from './number.ts';
import type {ListValue, NumberArray} from './value.ts';

export const numberArrayTypes = [
  'ARRAY_OF_SHORTS',
  'ARRAY_OF_INTEGERS',
  'ARRAY_OF_LONGS',
  'ARRAY_OF_FLOATS',
  'ARRAY_OF_DOUBLES',
] as const;
export type NumberArrayType = (typeof numberArrayTypes)[number];

/** The list as a typed array; undefined when an element does not fit. */
export function convertToArray(list: ListValue, type: NumberArrayType): NumberArray | undefined {
  switch (type) {
    case 'ARRAY_OF_SHORTS':
      return fillIntegers(new Int16Array(list.length), list, 0x7fff);
    case 'ARRAY_OF_INTEGERS':
      return fillIntegers(new Int32Array(list.length), list, 0x7fffffff);
    case 'ARRAY_OF_LONGS':
      return fillLongs(list);
    case 'ARRAY_OF_FLOATS':
      return fillDoubles(new Float32Array(list.length), list);
    case 'ARRAY_OF_DOUBLES':
      return fillDoubles(new Float64Array(list.length), list);
    default:
      return unreachable(type);
  }
}

function fillIntegers<A extends Int16Array | Int32Array>(
  array: A,
  list: ListValue,
  max: number,
): A | undefined {
  for (const [at, element] of list.entries()) {
    if (!isNumberValue(element)) return undefined;
    const number = numberOf(element);
    if (!Number.isInteger(number) || number > max || number < -max - 1) return undefined;
    array[at] = number;
  }
  return array;
}

function fillLongs(list: ListValue): BigInt64Array | undefined {
  const array = new BigInt64Array(list.length);
  for (const [at, element] of list.entries()) {
    if (!isNumberValue(element)) return undefined;
    const number = numberOf(element);
    if (!Number.isInteger(number)) return undefined;
    const long = isIntegerValue(element) ? BigInt(element) : BigInt(number);
    if (long > longMax || long < longMin) return undefined;
    array[at] = long;
  }
  return array;
}

function fillDoubles<A extends Float32Array | Float64Array>(
  array: A,
  list: ListValue,
): A | undefined {
  for (const [at, element] of list.entries()) {
    if (!isNumberValue(element)) return undefined;
    const number = numberOf(element);
    array[at] = number;
    if (Number.isFinite(number) && !Number.isFinite(array[at])) return undefined;
  }
  return array;
}
