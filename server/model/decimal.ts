/**
 * Exact decimal arithmetic: unscaled * 10^-scale with scale >= 0.
 *
 * Sums and differences take the larger scale, products add the scales, quotients are exact
 * where they end within `divisionDigits` digits and rounded half up at that digit otherwise.
 * Scales are bounded (`scaleMax`) so that no short statement can ask for gigabytes of digits.
 */
import {Refusal} from '#server/base/errors.ts';
import {Decimal} from './value.ts';

const scaleMax = 10_000;
const digitsMax = 20_000;
const divisionDigits = 34;

export function powerOfTen(exponent: number): bigint {
  return 10n ** BigInt(exponent);
}

/** Reads `-12.50` or `1.5e-3`, keeping the scale; undefined when `text` is no such number. */
export function parseDecimal(text: string): Decimal | undefined {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,6}))?$/.exec(text);
  if (match === null || text.length > digitsMax) return undefined;
  const whole = match[2] ?? '';
  const fraction = match[3] ?? '';
  if (whole === '' && fraction === '') return undefined;
  const scale = fraction.length - Number(match[4] ?? '0');
  if (Math.abs(scale) > scaleMax) return undefined;
  const digits = BigInt(whole + fraction);
  const unscaled = match[1] === '-' ? -digits : digits;
  return scale >= 0 ? new Decimal(unscaled, scale) : new Decimal(unscaled * powerOfTen(-scale), 0);
}

/** Plain digits, never an exponent: `12.50`, `-0.003`. */
export function decimalText(decimal: Decimal): string {
  const {unscaled, scale} = decimal;
  if (scale === 0) return unscaled.toString();
  const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
  const point = digits.length - scale;
  return `${unscaled < 0n ? '-' : ''}${digits.slice(0, point)}.${digits.slice(point)}`;
}

export function addDecimals(left: Decimal, right: Decimal): Decimal {
  const scale = Math.max(left.scale, right.scale);
  return new Decimal(unscaledAt(left, scale) + unscaledAt(right, scale), scale);
}

export function multiplyDecimals(left: Decimal, right: Decimal): Decimal {
  const scale = left.scale + right.scale;
  if (scale > scaleMax) throw new Refusal('arithmetic', 'the product has too many decimal places');
  return new Decimal(left.unscaled * right.unscaled, scale);
}

/** Division by zero is refused. */
export function divideDecimals(left: Decimal, right: Decimal): Decimal {
  if (right.unscaled === 0n) throw new Refusal('arithmetic', 'division by zero');
  const wanted = Math.max(left.scale - right.scale, 0);
  const scale = wanted + divisionDigits;
  const shift = scale - left.scale + right.scale;
  const quotient = new Decimal(
    divideHalfUp(left.unscaled * powerOfTen(shift), right.unscaled),
    scale,
  );
  return stripZeros(quotient, wanted);
}

/** The remainder with the sign of `left`; division by zero is refused. */
export function remainderOfDecimals(left: Decimal, right: Decimal): Decimal {
  if (right.unscaled === 0n) throw new Refusal('arithmetic', 'division by zero');
  const scale = Math.max(left.scale, right.scale);
  return new Decimal(unscaledAt(left, scale) % unscaledAt(right, scale), scale);
}

/** Rounds half away from zero to `scale` decimal places. */
export function roundDecimal(decimal: Decimal, scale: number): Decimal {
  if (decimal.scale <= scale) return decimal;
  return new Decimal(divideHalfUp(decimal.unscaled, powerOfTen(decimal.scale - scale)), scale);
}

/** The part before the point, rounded towards zero. */
export function decimalToInteger(decimal: Decimal): bigint {
  return decimal.unscaled / powerOfTen(decimal.scale);
}

export function compareDecimals(left: Decimal, right: Decimal): number {
  const scale = Math.max(left.scale, right.scale);
  const a = unscaledAt(left, scale);
  const b = unscaledAt(right, scale);
  return a === b ? 0 : a < b ? -1 : 1;
}

/** The same number with as few decimal places as it needs, but not fewer than `scaleMin`. */
export function stripZeros(decimal: Decimal, scaleMin = 0): Decimal {
  let {unscaled, scale} = decimal;
  while (scale > scaleMin && unscaled % 10n === 0n) {
    unscaled /= 10n;
    scale--;
  }
  return scale === decimal.scale ? decimal : new Decimal(unscaled, scale);
}

/** Every finite double has an exact decimal expansion: this is it. */
export function exactDecimalOfDouble(double: number): Decimal {
  if (Number.isInteger(double)) return new Decimal(BigInt(double), 0);
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, double);
  const bits = view.getBigUint64(0);
  const exponentBits = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const mantissa = exponentBits === 0 ? fraction : fraction | 0x10000000000000n;
  // double = mantissa * 2^-places, and 2^-n = 5^n * 10^-n.
  const places = 1075 - Math.max(exponentBits, 1);
  const unscaled = mantissa * 5n ** BigInt(places);
  return stripZeros(new Decimal(double < 0 ? -unscaled : unscaled, places));
}

function unscaledAt(decimal: Decimal, scale: number): bigint {
  if (decimal.scale === scale) return decimal.unscaled;
  return decimal.unscaled * powerOfTen(scale - decimal.scale);
}

function divideHalfUp(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  const rest = dividend % divisor;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  if (twice < (divisor < 0n ? -divisor : divisor)) return quotient;
  return dividend < 0n === divisor < 0n ? quotient + 1n : quotient - 1n;
}
