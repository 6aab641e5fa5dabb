/**
 * `math.*` and `math_*`. Doubles in, doubles out, except where a whole number is meant.
 */
import {decimalToInteger, roundDecimal} from '#server/model/decimal.ts';
import {
  isIntegerValue,
  longMax,
  longMin,
  makeDouble,
  makeInteger,
  numberOf,
  toDecimal,
} from '#server/model/number.ts';
import {Decimal, type Value} from '#server/model/value.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {extremeOf} from './aggregates.ts';
import {bigintAt, doubleAt, integerAt, numberAt, refuse, textAt} from './arguments.ts';
import {absolute, randomFraction} from './general.ts';

const ofOne: Readonly<Record<string, (x: number) => number>> = {
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  cos: Math.cos,
  cosh: Math.cosh,
  exp: Math.exp,
  expm1: Math.expm1,
  floor: Math.floor,
  log: Math.log,
  log10: Math.log10,
  log1p: Math.log1p,
  rint: roundHalfEven,
  signum: Math.sign,
  sin: Math.sin,
  sinh: Math.sinh,
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
  toDegrees: x => (x * 180) / Math.PI,
  toRadians: x => (x * Math.PI) / 180,
};

const ofTwo: Readonly<Record<string, (x: number, y: number) => number>> = {
  atan2: Math.atan2,
  hypot: Math.hypot,
  pow: (x, y) => x ** y,
  IEEEremainder: (x, y) => x - y * roundHalfEven(x / y),
  copySign: (x, y) => (Object.is(Math.sign(y), -0) || y < 0 ? -Math.abs(x) : Math.abs(x)),
};

function roundHalfEven(x: number): number {
  const below = Math.floor(x);
  if (x - below !== 0.5) return Math.round(x);
  return below % 2 === 0 ? below : below + 1;
}

function named(): Record<string, ScalarFunction> {
  const scalars: Record<string, ScalarFunction> = {};
  for (const [name, of] of Object.entries(ofOne)) {
    scalars[`math_${name}`] = args => makeDouble(of(doubleAt(args, 0, name)));
  }
  for (const [name, of] of Object.entries(ofTwo)) {
    scalars[`math_${name}`] = args =>
      makeDouble(of(doubleAt(args, 0, name), doubleAt(args, 1, name)));
  }
  return scalars;
}

const scaleMax = 300;

/** Rounded to decimal places; modes are those of Java's RoundingMode. */
function round(args: readonly Value[]): Value {
  const value = numberAt(args, 0, 'math.round');
  const scale = integerAt(args, 1, 'math.round', 0);
  if (Math.abs(scale) > scaleMax) refuse(`a number is rounded to at most ${scaleMax} places`);
  const double = numberOf(value);
  if (!Number.isFinite(double)) return value;
  const rounded = roundBy(toDecimal(value), scale, textAt(args, 2, 'HALF_UP').toUpperCase());
  if (isIntegerValue(value)) return makeInteger(decimalToInteger(rounded));
  return value instanceof Decimal ? rounded : makeDouble(numberOf(rounded));
}

function roundBy(value: Decimal, scale: number, mode: string): Decimal {
  if (mode === 'HALF_UP' && scale >= 0) return roundDecimal(value, scale);
  // As a whole number of units of 10^-scale with a rest.
  const shift = value.scale - scale;
  if (shift <= 0) return value;
  const unit = 10n ** BigInt(shift);
  const units = roundUnits(value.unscaled, unit, mode);
  return scale >= 0 ? new Decimal(units, scale) : new Decimal(units * 10n ** BigInt(-scale), 0);
}

function roundUnits(unscaled: bigint, unit: bigint, mode: string): bigint {
  const cut = unscaled / unit;
  const rest = unscaled % unit;
  if (rest === 0n) return cut;
  const away = unscaled < 0n ? cut - 1n : cut + 1n;
  const twice = (rest < 0n ? -rest : rest) * 2n;
  const half = twice === unit ? 0 : twice < unit ? -1 : 1;
  switch (mode) {
    case 'UP':
      return away;
    case 'DOWN':
      return cut;
    case 'CEILING':
      return unscaled < 0n ? cut : away;
    case 'FLOOR':
      return unscaled < 0n ? away : cut;
    case 'HALF_UP':
      return half < 0 ? cut : away;
    case 'HALF_DOWN':
      return half > 0 ? away : cut;
    case 'HALF_EVEN':
      return half > 0 || (half === 0 && cut % 2n !== 0n) ? away : cut;
    default:
      return refuse(`there is no rounding '${mode.slice(0, 20)}'`);
  }
}

function floorDivide(args: readonly Value[]): bigint {
  const [left, right] = [bigintAt(args, 0, 'floorDiv'), bigintAt(args, 1, 'floorDiv')];
  if (right === 0n) refuse('division by zero');
  const quotient = left / right;
  return left % right !== 0n && left < 0n !== right < 0n ? quotient - 1n : quotient;
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));

export const math: FunctionFamily = {
  scalars: {
    ...named(),
    'math.round': round,
    'math.sinh': args => makeDouble(Math.sinh(doubleAt(args, 0, 'math.sinh'))),
    'math.cosh': args => makeDouble(Math.cosh(doubleAt(args, 0, 'math.cosh'))),
    'math.tanh': args => makeDouble(Math.tanh(doubleAt(args, 0, 'math.tanh'))),
    'math.sigmoid': args => makeDouble(sigmoid(doubleAt(args, 0, 'math.sigmoid'))),
    'math.sigmoidPrime': args => {
      const value = sigmoid(doubleAt(args, 0, 'math.sigmoidPrime'));
      return makeDouble(value * (1 - value));
    },
    'math.maxLong': () => longMax,
    'math.minLong': () => longMin,
    'math.maxDouble': () => makeDouble(Number.MAX_VALUE),
    math_abs: args => absolute(numberAt(args, 0, 'math_abs')),
    math_min: args => extremeOf([numberAt(args, 0, 'min'), numberAt(args, 1, 'min')], 1),
    math_max: args => extremeOf([numberAt(args, 0, 'max'), numberAt(args, 1, 'max')], -1),
    math_round: args => {
      const value = numberAt(args, 0, 'math_round');
      if (isIntegerValue(value)) return value;
      const rounded = Math.floor(numberOf(value) + 0.5);
      return Number.isFinite(rounded) ? makeInteger(BigInt(rounded)) : refuse('no whole number');
    },
    math_floorDiv: args => makeInteger(floorDivide(args)),
    math_floorMod: args => {
      const right = bigintAt(args, 1, 'floorMod');
      return makeInteger(bigintAt(args, 0, 'floorMod') - floorDivide(args) * right);
    },
    math_random: (_, {random}) => makeDouble(randomFraction(random)),
  },
};
