/**
 * The two worlds of numbers (value.ts) and arithmetic between them.
 *
 * An operation on two integers is exact and refused (`arithmetic`) beyond 64 bits; a decimal
 * on either side makes the result a decimal; otherwise it is a double. `makeDouble` and
 * `numberOf` are the only places that box and unbox.
 */
import {Refusal} from '#server/base/errors.ts';
import {
  addDecimals,
  compareDecimals,
  decimalText,
  divideDecimals,
  exactDecimalOfDouble,
  multiplyDecimals,
  parseDecimal,
  remainderOfDecimals,
} from './decimal.ts';
import {Decimal, Double, type Value} from './value.ts';

export type NumberValue = number | bigint | Double | Decimal;

export const longMin = -(2n ** 63n);
export const longMax = 2n ** 63n - 1n;

export function isNumberValue(value: Value | undefined): value is NumberValue {
  return (
    typeof value === 'number' ||
    typeof value === 'bigint' ||
    value instanceof Double ||
    value instanceof Decimal
  );
}

/** Whether the value is in the integer world: exact 64-bit arithmetic applies. */
export function isIntegerValue(value: Value | undefined): value is number | bigint {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}

/** A double as a value: boxed when integral, so that 5.0 is not mistaken for 5. */
export function makeDouble(double: number): number | Double {
  return Number.isInteger(double) ? new Double(double) : double;
}

/** The nearest double of any number. */
export function numberOf(value: NumberValue): number {
  if (typeof value === 'number') return value;
  if (value instanceof Double) return value.value;
  if (typeof value === 'bigint') return Number(value);
  return Number(decimalText(value));
}

/** An exact integer in its one representation; beyond 64 bits it is refused. */
export function makeInteger(integer: bigint): number | bigint {
  if (integer < longMin || integer > longMax) {
    throw new Refusal('arithmetic', `the integer ${shorten(integer)} does not fit into 64 bits`);
  }
  return normalInteger(integer);
}

/** Works like `makeInteger`, for an integer known to fit. */
export function normalInteger(integer: bigint): number | bigint {
  const double = Number(integer);
  return Number.isSafeInteger(double) ? double : integer;
}

/** A number as a decimal; a double by its shortest text (0.1 is 0.1, not its expansion). */
export function toDecimal(value: NumberValue): Decimal {
  if (value instanceof Decimal) return value;
  if (typeof value === 'bigint') return new Decimal(value, 0);
  const double = numberOf(value);
  const decimal = Number.isFinite(double) ? parseDecimal(String(double)) : undefined;
  if (decimal === undefined) throw new Refusal('arithmetic', `${double} is not a decimal`);
  return decimal;
}

export function addNumbers(left: NumberValue, right: NumberValue): NumberValue {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (typeof left === 'number' && typeof right === 'number') {
      const sum = left + right;
      if (Number.isSafeInteger(sum)) return sum;
    }
    return makeInteger(BigInt(left) + BigInt(right));
  }
  if (left instanceof Decimal || right instanceof Decimal) {
    return addDecimals(toDecimal(left), toDecimal(right));
  }
  return makeDouble(numberOf(left) + numberOf(right));
}

export function subtractNumbers(left: NumberValue, right: NumberValue): NumberValue {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (typeof left === 'number' && typeof right === 'number') {
      const difference = left - right;
      if (Number.isSafeInteger(difference)) return difference;
    }
    return makeInteger(BigInt(left) - BigInt(right));
  }
  if (left instanceof Decimal || right instanceof Decimal) {
    const {unscaled, scale} = toDecimal(right);
    return addDecimals(toDecimal(left), new Decimal(-unscaled, scale));
  }
  return makeDouble(numberOf(left) - numberOf(right));
}

export function multiplyNumbers(left: NumberValue, right: NumberValue): NumberValue {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (typeof left === 'number' && typeof right === 'number') {
      const product = left * right;
      if (Number.isSafeInteger(product)) return product === 0 ? 0 : product;
    }
    return makeInteger(BigInt(left) * BigInt(right));
  }
  if (left instanceof Decimal || right instanceof Decimal) {
    return multiplyDecimals(toDecimal(left), toDecimal(right));
  }
  return makeDouble(numberOf(left) * numberOf(right));
}

/** Two integers give an integer where the division is exact and a double where it is not. */
export function divideNumbers(left: NumberValue, right: NumberValue): NumberValue {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (typeof left === 'number' && typeof right === 'number' && right !== 0) {
      const quotient = left / right;
      if (left % right !== 0) return makeDouble(quotient);
      return quotient === 0 ? 0 : quotient;
    }
    const dividend = BigInt(left);
    const divisor = BigInt(right);
    if (divisor === 0n) throw new Refusal('arithmetic', 'division by zero');
    if (dividend % divisor === 0n) return makeInteger(dividend / divisor);
    return makeDouble(Number(left) / Number(right));
  }
  if (left instanceof Decimal || right instanceof Decimal) {
    return divideDecimals(toDecimal(left), toDecimal(right));
  }
  return makeDouble(numberOf(left) / numberOf(right));
}

/** The remainder with the sign of the dividend. */
export function remainderOfNumbers(left: NumberValue, right: NumberValue): NumberValue {
  if (isIntegerValue(left) && isIntegerValue(right)) {
    if (Number(right) === 0) throw new Refusal('arithmetic', 'division by zero');
    return normalInteger(BigInt(left) % BigInt(right));
  }
  if (left instanceof Decimal || right instanceof Decimal) {
    return remainderOfDecimals(toDecimal(left), toDecimal(right));
  }
  return makeDouble(numberOf(left) % numberOf(right));
}

export function negateNumber(value: NumberValue): NumberValue {
  if (value instanceof Decimal) return new Decimal(-value.unscaled, value.scale);
  if (value instanceof Double) return makeDouble(-value.value);
  if (typeof value === 'bigint') return makeInteger(-value);
  return value === 0 ? 0 : -value;
}

/** Exact order of all numbers: 1 = 1.0 = 1.00, -0 = 0, NaN equals itself and comes last. */
export function compareNumbers(left: NumberValue, right: NumberValue): number {
  if (left instanceof Decimal || right instanceof Decimal) return compareWithDecimal(left, right);
  const a = left instanceof Double ? left.value : left;
  const b = right instanceof Double ? right.value : right;
  // A bigint and a number are compared by their mathematical values.
  if (a < b) return -1;
  if (a > b) return 1;
  // Equal, or one of them is NaN, which no comparison above holds for.
  const aIsNaN = Number.isNaN(a);
  return aIsNaN === Number.isNaN(b) ? 0 : aIsNaN ? 1 : -1;
}

function compareWithDecimal(left: NumberValue, right: NumberValue): number {
  const a = exactDecimal(left);
  const b = exactDecimal(right);
  if (typeof a === 'number') return a === Number.NEGATIVE_INFINITY ? -1 : 1;
  if (typeof b === 'number') return b === Number.NEGATIVE_INFINITY ? 1 : -1;
  return compareDecimals(a, b);
}

/** The exact decimal of a finite number; NaN and the infinities as they are. */
export function exactDecimal(value: NumberValue): Decimal | number {
  if (value instanceof Decimal) return value;
  if (typeof value === 'bigint') return new Decimal(value, 0);
  const double = numberOf(value);
  return Number.isFinite(double) ? exactDecimalOfDouble(double) : double;
}

/** A number as text: integers and decimals in plain digits, 5.0 with its point. */
export function numberText(value: NumberValue): string {
  if (value instanceof Decimal) return decimalText(value);
  if (!(value instanceof Double)) return String(value);
  const text = Object.is(value.value, -0) ? '-0' : String(value.value);
  return text.includes('e') || text.includes('I') ? text : `${text}.0`;
}

function shorten(integer: bigint): string {
  const text = integer.toString();
  return text.length > 40 ? `${text.slice(0, 40)}...` : text;
}
