/** A duration from counts of units, whole or not: what is left of a unit goes into smaller ones. */
import {durationOf} from '#server/model/temporal.ts';
import type {DurationValue} from '#server/model/value.ts';

export interface DurationParts {
  readonly years?: number | undefined;
  readonly quarters?: number | undefined;
  readonly months?: number | undefined;
  readonly weeks?: number | undefined;
  readonly days?: number | undefined;
  readonly hours?: number | undefined;
  readonly minutes?: number | undefined;
  readonly seconds?: number | undefined;
  readonly milliseconds?: number | undefined;
  readonly microseconds?: number | undefined;
  readonly nanoseconds?: number | undefined;
}

const daysPerMonth = 30.436875;
const nanosPerSecond = 1_000_000_000;

export function durationOfParts(parts: DurationParts): DurationValue {
  const months = (parts.years ?? 0) * 12 + (parts.quarters ?? 0) * 3 + (parts.months ?? 0);
  const wholeMonths = Math.trunc(months);
  const days = (parts.weeks ?? 0) * 7 + (parts.days ?? 0) + (months - wholeMonths) * daysPerMonth;
  const wholeDays = Math.trunc(days);
  const seconds = (parts.hours ?? 0) * 3600 + (parts.minutes ?? 0) * 60 + (parts.seconds ?? 0);
  const secondsOfDays = (days - wholeDays) * 86_400;
  const [fromTime, fromDays] = [Math.trunc(seconds), Math.trunc(secondsOfDays)];
  const nanos =
    Math.round((seconds - fromTime) * nanosPerSecond) +
    Math.round((secondsOfDays - fromDays) * nanosPerSecond) +
    (parts.milliseconds ?? 0) * 1_000_000 +
    (parts.microseconds ?? 0) * 1_000 +
    (parts.nanoseconds ?? 0);
  const wholeNanos = Math.trunc(nanos);
  const carry = Math.floor(wholeNanos / nanosPerSecond);
  return durationOf(
    wholeMonths,
    wholeDays,
    fromTime + fromDays + carry,
    wholeNanos - carry * nanosPerSecond,
  );
}
