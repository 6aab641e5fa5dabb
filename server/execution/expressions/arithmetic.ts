/**
 * Arithmetic between values: numbers as `model/number.ts` says, and what SQL's signs mean for
 * texts, lists, maps and dates. What has no meaning is refused, never guessed.
 */
import {Refusal} from '#server/base/errors.ts';
import {classify, equalValues} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {
  addNumbers,
  divideNumbers,
  isIntegerValue,
  isNumberValue,
  makeInteger,
  multiplyNumbers,
  negateNumber,
  normalInteger,
  numberText,
  remainderOfNumbers,
  subtractNumbers,
  type NumberValue,
} from '#server/model/number.ts';
import {
  durationOf,
  epochSecondsOf,
  nanosOf,
  requireInstantSeconds,
} from '#server/model/temporal.ts';
import {civilFromDays, daysFromCivil, daysInMonth} from '#server/model/calendar.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  Rid,
  RecordValue,
  type Value,
} from '#server/model/value.ts';
import {ridText} from '#server/model/rid.ts';
import {asItems, itemsOf} from './access.ts';

const secondsPerDay = 86_400;

/** A value as text for joining: plain for single values, JSON for what has parts. */
export function plainText(value: Value): string {
  if (typeof value === 'string') return value;
  if (isNumberValue(value)) return numberText(value);
  if (value instanceof Rid) return ridText(value);
  if (value instanceof RecordValue) return ridText(value.rid);
  const text = jsonText(value);
  return text.startsWith('"') ? (JSON.parse(text) as string) : text;
}

export function add(left: Value, right: Value): Value {
  if (typeof left === 'number' && typeof right === 'number') return addNumbers(left, right);
  if (left === null || right === null) return null;
  if (isNumberValue(left) && isNumberValue(right)) return addNumbers(left, right);
  const leftItems = itemsOf(left);
  if (leftItems !== undefined) return [...leftItems, ...(itemsOf(right) ?? [right])];
  const rightItems = itemsOf(right);
  if (rightItems !== undefined) return [left, ...rightItems];
  if (typeof left === 'string' || typeof right === 'string') {
    return plainText(left) + plainText(right);
  }
  if (left instanceof Map && right instanceof Map) return new Map([...left, ...right]);
  if (right instanceof DurationValue) return addDuration(left, right, 1);
  if (left instanceof DurationValue) return addDuration(right, left, 1);
  throw impossible('+', left, right);
}

export function subtract(left: Value, right: Value): Value {
  if (isNumberValue(left) && isNumberValue(right)) return subtractNumbers(left, right);
  const items = itemsOf(left);
  if (items !== undefined) {
    const taken = itemsOf(right) ?? [right];
    return items.filter(item => !taken.some(other => equalValues(item, other)));
  }
  if (right instanceof DurationValue) return addDuration(left, right, -1);
  if (isInstant(left) && isInstant(right)) {
    const seconds = epochSecondsOf(left) - epochSecondsOf(right);
    const nanos = nanosOf(left) - nanosOf(right);
    return durationOf(0, 0, nanos < 0 ? seconds - 1 : seconds, nanos < 0 ? nanos + 1e9 : nanos);
  }
  throw impossible('-', left, right);
}

function isInstant(value: Value): value is DateValue | DateTimeValue {
  return value instanceof DateValue || value instanceof DateTimeValue;
}

/** A day or instant moved by a duration; a day that the month lacks becomes its last. */
function addDuration(value: Value, duration: DurationValue, sign: 1 | -1): Value {
  if (value instanceof DurationValue) {
    return durationOf(
      value.months + sign * duration.months,
      value.days + sign * duration.days,
      value.seconds + sign * duration.seconds,
      value.nanos + sign * duration.nanos,
    );
  }
  if (!isInstant(value)) throw impossible(sign === 1 ? '+' : '-', value, duration);
  const seconds = epochSecondsOf(value);
  const days = Math.floor(seconds / secondsPerDay);
  const moved = moveMonths(days, sign * duration.months) + sign * duration.days;
  const nanos = nanosOf(value) + sign * duration.nanos;
  const carry = Math.floor(nanos / 1e9);
  const total =
    moved * secondsPerDay + (seconds - days * secondsPerDay) + sign * duration.seconds + carry;
  requireInstantSeconds(total);
  if (value instanceof DateValue && total % secondsPerDay === 0 && nanos === 0) {
    return new DateValue(total / secondsPerDay);
  }
  if (value instanceof DateValue)
    return new DateTimeValue(total, nanos - carry * 1e9, 'millisecond');
  const {precision, local, zone} = value;
  return new DateTimeValue(total, nanos - carry * 1e9, precision, {local, ...(zone && {zone})});
}

function moveMonths(epochDays: number, months: number): number {
  if (months === 0) return epochDays;
  const {year, month, day} = civilFromDays(epochDays);
  const index = year * 12 + (month - 1) + months;
  const movedYear = Math.floor(index / 12);
  const movedMonth = index - movedYear * 12 + 1;
  return daysFromCivil(movedYear, movedMonth, Math.min(day, daysInMonth(movedYear, movedMonth)));
}

function numeric(
  sign: string,
  operate: (left: NumberValue, right: NumberValue) => Value,
): (left: Value, right: Value) => Value {
  return (left, right) => {
    if (isNumberValue(left) && isNumberValue(right)) return operate(left, right);
    throw impossible(sign, left, right);
  };
}

export const multiply = numeric('*', multiplyNumbers);
export const divide = numeric('/', divideNumbers);
export const modulo = numeric('%', remainderOfNumbers);

export function negate(value: Value): Value {
  if (isNumberValue(value)) return negateNumber(value);
  throw new Refusal('query.execution', `- needs a number, not ${describe(value)}`);
}

function bitwise(
  sign: string,
  operate: (left: bigint, right: bigint) => bigint,
): (left: Value, right: Value) => Value {
  return (left, right) => {
    if (!isIntegerValue(left) || !isIntegerValue(right)) throw impossible(sign, left, right);
    return normalInteger(BigInt.asIntN(64, operate(BigInt(left), BigInt(right))));
  };
}

export const bitAnd = bitwise('&', (left, right) => left & right);
export const bitOr = bitwise('|', (left, right) => left | right);
export const bitXor = bitwise('^', (left, right) => left ^ right);
export const shiftLeft = bitwise('<<', (left, right) => left << (right & 63n));
export const shiftRight = bitwise('>>', (left, right) => left >> (right & 63n));
export const shiftRightUnsigned = bitwise(
  '>>>',
  (left, right) => BigInt.asUintN(64, left) >> (right & 63n),
);

/** `||`: one list of both sides' items; a single value is one item, null is none. */
export function concatenate(left: Value, right: Value): Value {
  if (left === null && right === null) return null;
  return [...asItems(left), ...asItems(right)];
}

/** Whole numbers for counts and positions; anything else is refused. */
export function wholeNumber(value: Value, what: string): number {
  const number = isIntegerValue(value) ? Number(makeInteger(BigInt(value))) : undefined;
  if (number === undefined || number < 0) {
    throw new Refusal(
      'query.parameter',
      `${what} needs a whole number from 0, not ${describe(value)}`,
    );
  }
  return number;
}

function impossible(sign: string, left: Value, right: Value): Refusal {
  return new Refusal(
    'arithmetic',
    `${sign} has no meaning between ${describe(left)} and ${describe(right)}`,
  );
}

/** The class of a value and its beginning, for messages. */
export function describe(value: Value): string {
  if (value === null) return 'null';
  const {of} = classify(value);
  const text = plainText(value);
  return `the ${of} ${text.length > 40 ? `${text.slice(0, 40)}...` : text}`;
}
