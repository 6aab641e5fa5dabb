/**
 * Operators without conversions, as `plan/functions/operators.ts` lists them under that head.
 *
 * Equality and membership are three-valued down into lists and maps: a null inside makes the
 * answer unknown unless another part decides it.
 */
import {Refusal} from '#server/base/errors.ts';
import {
  classify,
  compareTotal,
  isListValue,
  isNumberArray,
  listOfArray,
} from '#server/model/compare.ts';
import {
  addNumbers,
  divideNumbers,
  isIntegerValue,
  isNumberValue,
  makeDouble,
  makeInteger,
  multiplyNumbers,
  numberOf,
  subtractNumbers,
} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  type ListValue,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {describe, modulo, negate, plainText} from './arithmetic.ts';
import {dividedDuration, multipliedDuration} from './duration-arithmetic.ts';
import {movedTime} from './moment.ts';
import {regularExpressionTest} from '#server/model/regular-expression.ts';
import {ridsEqual} from '#server/model/rid.ts';
import {ridOf} from '../operators/hops/vertex-ids.ts';

type Binary = (left: Value, right: Value) => Value;

/** A value of the wrong kind; `type` and `reason` are for those who tell errors apart. */
export function typeError(message: string, reason = 'InvalidArgumentType'): Refusal {
  return new Refusal('query.execution', message, {detail: {type: 'TypeError', reason}});
}

/** Three-valued: null when it is unknown. */
export function isSame(left: Value, right: Value): boolean | null {
  if (left === null || right === null) return null;
  if (typeof left === 'string' || typeof right === 'string') return left === right;
  // NaN is no number's equal, itself included, and -0 is 0.
  if (typeof left === 'number' && typeof right === 'number') return left === right;
  const rid = ridOf(left);
  if (rid !== undefined) {
    const other = ridOf(right);
    return other !== undefined && ridsEqual(rid, other);
  }
  if (isNumberValue(left) && isNumberValue(right)) {
    if (isNaNValue(left) || isNaNValue(right)) return false;
    return compareTotal(left, right) === 0;
  }
  const leftItems = itemsOfList(left);
  const rightItems = itemsOfList(right);
  if (leftItems !== undefined || rightItems !== undefined) {
    return leftItems === undefined || rightItems === undefined
      ? false
      : sameLists(leftItems, rightItems);
  }
  if (left instanceof Map && right instanceof Map) return sameMaps(left, right);
  if (classOf(left) !== classOf(right)) return false;
  return compareTotal(left, right) === 0;
}

function isNaNValue(value: Value): boolean {
  return typeof value === 'number' && Number.isNaN(value);
}

/** The items of a list or number array; a path is no list. */
export function itemsOfList(value: Value): ListValue | undefined {
  if (Array.isArray(value)) return value;
  return isNumberArray(value) ? listOfArray(value) : undefined;
}

function sameLists(left: ListValue, right: ListValue): boolean | null {
  if (left.length !== right.length) return false;
  let unknown = false;
  for (let at = 0; at < left.length; at++) {
    const same = isSame(left[at] ?? null, right[at] ?? null);
    if (same === false) return false;
    if (same === null) unknown = true;
  }
  return unknown ? null : true;
}

function sameMaps(
  left: ReadonlyMap<string, Value>,
  right: ReadonlyMap<string, Value>,
): boolean | null {
  if (left.size !== right.size) return false;
  let unknown = false;
  for (const [key, value] of left) {
    const other = right.get(key);
    if (other === undefined) return false;
    const same = isSame(value, other);
    if (same === false) return false;
    if (same === null) unknown = true;
  }
  return unknown ? null : true;
}

/** Values of one class can be equal and have an order; times of each sort are one. */
function classOf(value: Value): string {
  if (value instanceof DateValue) return 'date';
  if (value instanceof DateTimeValue) return value.local ? 'local instant' : 'instant';
  if (value instanceof TimeValue) return value.offsetSeconds === undefined ? 'local time' : 'time';
  return classify(value).of;
}

const ordered = new Set([
  'number',
  'text',
  'boolean',
  'date',
  'instant',
  'local instant',
  'time',
  'local time',
]);

/** Negative, zero or positive; undefined without an order, 'nan' when NaN is compared. */
function strictOrder(left: Value, right: Value): number | 'nan' | undefined {
  const leftItems = itemsOfList(left);
  const rightItems = itemsOfList(right);
  if (leftItems !== undefined && rightItems !== undefined) return orderLists(leftItems, rightItems);
  const known = classOf(left);
  if (known !== classOf(right) || !ordered.has(known)) return undefined;
  if (isNaNValue(left) || isNaNValue(right)) return 'nan';
  return compareTotal(left, right);
}

function orderLists(left: ListValue, right: ListValue): number | 'nan' | undefined {
  const length = Math.min(left.length, right.length);
  for (let at = 0; at < length; at++) {
    const [a, b] = [left[at] ?? null, right[at] ?? null];
    if (a === null || b === null) return undefined;
    const order = strictOrder(a, b);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

function comparing(test: (order: number) => boolean): Binary {
  return (left, right) => {
    const order = strictOrder(left, right);
    if (order === undefined) return null;
    return order === 'nan' ? false : test(order);
  };
}

function isMember(value: Value, list: Value): Value {
  if (list === null) return null;
  const items = itemsOfList(list);
  if (items === undefined) throw typeError(`IN needs a list, not ${describe(list)}`);
  let unknown = false;
  for (const item of items) {
    const same = isSame(value, item);
    if (same === true) return true;
    if (same === null) unknown = true;
  }
  return unknown ? null : false;
}

function plus(left: Value, right: Value): Value {
  const isText = typeof left === 'string' || typeof right === 'string';
  const leftItems = itemsOfList(left);
  const rightItems = itemsOfList(right);
  if (leftItems !== undefined) return [...leftItems, ...(rightItems ?? [right])];
  if (rightItems !== undefined) return [left, ...rightItems];
  if (isText) {
    const other = typeof left === 'string' ? right : left;
    if (typeof other !== 'string' && !isNumberValue(other) && typeof other !== 'boolean') {
      throw typeError(`a text and ${describe(other)} cannot be added`);
    }
    return plainText(left) + plainText(right);
  }
  if (isNumberValue(left) && isNumberValue(right)) return addNumbers(left, right);
  const moved =
    right instanceof DurationValue
      ? movedTime(left, right, 1)
      : left instanceof DurationValue
        ? movedTime(right, left, 1)
        : undefined;
  if (moved !== undefined) return moved;
  throw typeError(`${describe(left)} and ${describe(right)} cannot be added`);
}

function minus(left: Value, right: Value): Value {
  if (isNumberValue(left) && isNumberValue(right)) return subtractNumbers(left, right);
  const moved = right instanceof DurationValue ? movedTime(left, right, -1) : undefined;
  if (moved !== undefined) return moved;
  throw typeError(`${describe(right)} cannot be taken from ${describe(left)}`);
}

function times(left: Value, right: Value): Value {
  if (isNumberValue(left) && isNumberValue(right)) return multiplyNumbers(left, right);
  if (left instanceof DurationValue && isNumberValue(right)) {
    return multipliedDuration(left, numberOf(right));
  }
  if (right instanceof DurationValue && isNumberValue(left)) {
    return multipliedDuration(right, numberOf(left));
  }
  throw typeError(`${describe(left)} and ${describe(right)} cannot be multiplied`);
}

function over(left: Value, right: Value): Value {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (Number(right) === 0) {
      throw new Refusal('arithmetic', 'an integer cannot be divided by zero', {
        detail: {type: 'ArithmeticError', reason: 'DivisionByZero'},
      });
    }
    return makeInteger(BigInt(left) / BigInt(right));
  }
  if (isNumberValue(left) && isNumberValue(right)) {
    if (typeof left === 'object' && 'scale' in left) return divideNumbers(left, right);
    return makeDouble(numberOf(left) / numberOf(right));
  }
  if (left instanceof DurationValue && isNumberValue(right)) {
    return dividedDuration(left, numberOf(right));
  }
  throw typeError(`${describe(left)} cannot be divided by ${describe(right)}`);
}

function numeric(sign: string, operate: Binary): Binary {
  return (left, right) => {
    if (isNumberValue(left) && isNumberValue(right)) return operate(left, right);
    throw typeError(`${sign} needs numbers, not ${describe(left)} and ${describe(right)}`);
  };
}

function xor(left: Value, right: Value): Value {
  if (typeof left !== 'boolean' || typeof right !== 'boolean') {
    throw typeError('XOR needs conditions');
  }
  return left !== right;
}

function joined(left: Value, right: Value): Value {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  const leftItems = itemsOfList(left);
  const rightItems = itemsOfList(right);
  if (leftItems !== undefined && rightItems !== undefined) return [...leftItems, ...rightItems];
  throw typeError(`${describe(left)} and ${describe(right)} cannot be joined`);
}

function texts(test: (left: string, right: string) => boolean): Binary {
  return (left, right) =>
    typeof left === 'string' && typeof right === 'string' ? test(left, right) : null;
}

function cut(value: Value, from: Value, to: Value): Value {
  const items = itemsOfList(value);
  if (items === undefined) throw typeError(`a part of ${describe(value)} cannot be taken`);
  if (!isIntegerValue(from) || !isIntegerValue(to)) {
    throw typeError('the ends of a part are whole numbers');
  }
  return items.slice(Number(from), Number(to));
}

function negated(value: Value): Value {
  if (value instanceof DurationValue) return multipliedDuration(value, -1);
  if (!isNumberValue(value)) throw typeError(`- needs a number, not ${describe(value)}`);
  return negate(value);
}

export const strictUnary: Readonly<Record<string, (value: Value) => Value>> = {
  'op:minusOf': negated,
  'op:items': value => {
    if (isListValue(value)) return value;
    throw typeError(`a list is needed, not ${describe(value)}`);
  },
  'op:each': value => itemsOfList(value) ?? [value],
};

export const strictBinary: Readonly<Record<string, Binary>> = {
  'op:same': isSame,
  'op:differs': (left, right) => {
    const same = isSame(left, right);
    return same === null ? null : !same;
  },
  'op:before': comparing(order => order < 0),
  'op:notAfter': comparing(order => order <= 0),
  'op:after': comparing(order => order > 0),
  'op:notBefore': comparing(order => order >= 0),
  'op:member': isMember,
  'op:xor': xor,
  'op:plus': plus,
  'op:minus': minus,
  'op:times': times,
  'op:over': over,
  'op:rest': numeric('%', modulo),
  'op:power': numeric('^', (left, right) =>
    makeDouble(numberOf(left as number) ** numberOf(right as number)),
  ),
  'op:joined': joined,
  'op:startsWith': texts((left, right) => left.startsWith(right)),
  'op:endsWith': texts((left, right) => left.endsWith(right)),
  'op:hasPart': texts((left, right) => left.includes(right)),
  'op:describedBy': texts((left, right) => regularExpressionTest(right)(left)),
};

export const strictVariadic: Readonly<Record<string, (args: readonly Value[]) => Value>> = {
  'op:cut': ([value = null, from = null, to = null]) => cut(value, from, to),
};
