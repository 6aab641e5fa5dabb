/**
 * Durations times and over numbers: months, days, seconds and nanoseconds keep apart, and what a
 * part leaves of its unit goes on into the next smaller one (a month has 30.436875 days).
 */
import {Refusal} from '#server/base/errors.ts';
import {durationOf} from '#server/model/temporal.ts';
import type {DurationValue} from '#server/model/value.ts';

const daysPerMonth = 30.436875;
const secondsPerDay = 86_400;

export function multipliedDuration(duration: DurationValue, factor: number): DurationValue {
  const months = duration.months * factor;
  const wholeMonths = Math.trunc(months);
  const days = duration.days * factor + (months - wholeMonths) * daysPerMonth;
  const wholeDays = Math.trunc(days);
  const seconds = duration.seconds * factor + (days - wholeDays) * secondsPerDay;
  const wholeSeconds = Math.trunc(seconds);
  const nanos = duration.nanos * factor + (seconds - wholeSeconds) * 1e9;
  return normalDuration(wholeMonths, wholeDays, wholeSeconds, Math.trunc(nanos));
}

export function dividedDuration(duration: DurationValue, divisor: number): DurationValue {
  if (divisor === 0) {
    throw new Refusal('arithmetic', 'a duration cannot be divided by zero', {
      detail: {type: 'ArithmeticError', reason: 'DivisionByZero'},
    });
  }
  return multipliedDuration(duration, 1 / divisor);
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
