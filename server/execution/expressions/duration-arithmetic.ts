/**
 * Durations times and over numbers: months, days, seconds and nanoseconds keep apart, and what a
 * part leaves of its unit goes on into the next smaller one (a month has 30.436875 days). It is
 * exact down to the nanosecond, where the rest is cut off: whole numbers over whole numbers.
 */
import {Refusal} from '#server/base/errors.ts';
import {durationOf} from '#server/model/temporal.ts';
import type {DurationValue} from '#server/model/value.ts';

/** Millionths of a day. */
const millionthsPerMonth = 30_436_875n;
const secondsPerDay = 86_400n;
const nanosPerSecond = 1_000_000_000n;
const million = 1_000_000n;

export function multipliedDuration(duration: DurationValue, factor: number): DurationValue {
  if (!Number.isFinite(factor)) return durationOf(factor, factor, factor, factor);
  const {over, under} = fractionOf(factor);
  return scaled(duration, over, under);
}

export function dividedDuration(duration: DurationValue, divisor: number): DurationValue {
  if (divisor === 0) {
    throw new Refusal('arithmetic', 'a duration cannot be divided by zero', {
      detail: {type: 'ArithmeticError', reason: 'DivisionByZero'},
    });
  }
  if (!Number.isFinite(divisor)) return multipliedDuration(duration, 1 / divisor);
  const {over, under} = fractionOf(divisor);
  return over < 0n ? scaled(duration, -under, -over) : scaled(duration, under, over);
}

interface Fraction {
  readonly over: bigint;
  /** Is above zero. */
  readonly under: bigint;
}

/** The decimal number that a double is written as. */
function fractionOf(number: number): Fraction {
  const [digits = '0', exponent = '0'] = String(number).split('e');
  const [whole = '0', fraction = ''] = digits.split('.');
  const over = BigInt(whole + fraction);
  const shift = Number(exponent) - fraction.length;
  return shift < 0
    ? {over, under: 10n ** BigInt(-shift)}
    : {over: over * 10n ** BigInt(shift), under: 1n};
}

/** What a unit leaves goes on into the next one; `under` is above zero. */
function scaled(
  {months, days, seconds, nanos}: DurationValue,
  over: bigint,
  under: bigint,
): DurationValue {
  const ofMonths = BigInt(months) * over;
  const unit = under * million;
  const ofDays = BigInt(days) * over * million + (ofMonths % under) * millionthsPerMonth;
  const ofSeconds = BigInt(seconds) * over * million + (ofDays % unit) * secondsPerDay;
  const ofNanos = BigInt(nanos) * over * million + (ofSeconds % unit) * nanosPerSecond;
  return normalDuration(
    Number(ofMonths / under),
    Number(ofDays / unit),
    Number(ofSeconds / unit),
    Number(ofNanos / unit),
  );
}

/** Nanoseconds from 0 to below a second; the seconds take the sign. */
export function normalDuration(
  months: number,
  days: number,
  seconds: number,
  nanos: number,
): DurationValue {
  const carry = Math.floor(nanos / 1e9);
  return durationOf(months, days, seconds + carry, nanos - carry * 1e9);
}
