/** Parts of dates, times and durations by name: `year`, `weekDay`, `offset`, `monthsOfYear`, ... */
import {civilFromDays, dayOfWeek, daysFromCivil} from '#server/model/calendar.ts';
import {makeInteger} from '#server/model/number.ts';
import {offsetText} from '#server/model/temporal.ts';
import {DateTimeValue, DurationValue, type Value} from '#server/model/value.ts';
import {isMoment, type Moment, momentOf, nanosPerSecond, type TemporalValue} from './moment.ts';

export function isTemporal(value: Value): value is TemporalValue | DurationValue {
  return isMoment(value) || value instanceof DurationValue;
}

/** Null for a part that the value does not have. */
export function temporalPart(value: TemporalValue | DurationValue, name: string): Value {
  if (value instanceof DurationValue) return durationParts[name]?.(value) ?? null;
  const moment = momentOf(value);
  const {days, nanosOfDay, zone} = moment;
  if (days !== undefined) {
    const part = dayPart(days, name);
    if (part !== undefined) return part;
  }
  if (nanosOfDay !== undefined) {
    const part = timePart(nanosOfDay, name);
    if (part !== undefined) return part;
  }
  if (zone !== undefined) {
    const part = zonePart(moment, name);
    if (part !== undefined) return part;
  }
  if (value instanceof DateTimeValue && zone !== undefined) {
    if (name === 'epochSeconds') return value.epochSeconds;
    if (name === 'epochMillis') {
      return makeInteger(
        BigInt(value.epochSeconds) * 1000n + BigInt(Math.floor(value.nanos / 1e6)),
      );
    }
  }
  return null;
}

function dayPart(days: number, name: string): number | undefined {
  const {year, month, day} = civilFromDays(days);
  switch (name) {
    case 'year':
      return year;
    case 'quarter':
      return Math.floor((month - 1) / 3) + 1;
    case 'month':
      return month;
    case 'week':
      return weekOf(days).week;
    case 'weekYear':
      return weekOf(days).year;
    case 'day':
      return day;
    case 'ordinalDay':
      return days - daysFromCivil(year, 1, 1) + 1;
    case 'weekDay':
    case 'dayOfWeek':
      return dayOfWeek(days);
    case 'dayOfQuarter':
      return days - daysFromCivil(year, Math.floor((month - 1) / 3) * 3 + 1, 1) + 1;
    default:
      return undefined;
  }
}

/** ISO 8601: weeks begin on Monday; the first of a year has its first Thursday. */
export function weekOf(days: number): {readonly year: number; readonly week: number} {
  const thursday = days - dayOfWeek(days) + 4;
  const {year} = civilFromDays(thursday);
  return {year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1};
}

function timePart(nanosOfDay: number, name: string): number | undefined {
  const nanos = nanosOfDay % nanosPerSecond;
  const seconds = Math.floor(nanosOfDay / nanosPerSecond);
  switch (name) {
    case 'hour':
      return Math.floor(seconds / 3600);
    case 'minute':
      return Math.floor(seconds / 60) % 60;
    case 'second':
      return seconds % 60;
    case 'millisecond':
      return Math.floor(nanos / 1_000_000);
    case 'microsecond':
      return Math.floor(nanos / 1_000);
    case 'nanosecond':
      return nanos;
    default:
      return undefined;
  }
}

function zonePart({zone}: Moment, name: string): Value | undefined {
  const offset = zone?.offsetSeconds ?? 0;
  switch (name) {
    case 'timezone':
      return zone?.region ?? offsetText(offset);
    case 'offset':
      return offsetText(offset);
    case 'offsetMinutes':
      return Math.trunc(offset / 60);
    case 'offsetSeconds':
      return offset;
    default:
      return undefined;
  }
}

/** Whole units of a count, the rest dropped towards zero. */
function whole(count: number, by: number): number {
  return Math.trunc(count / by) + 0;
}

/** Milliseconds and finer count the seconds' fraction too, which is never negative. */
function fine(perSecond: number): (value: DurationValue) => Value {
  return ({seconds, nanos}) =>
    makeInteger(
      BigInt(seconds) * BigInt(perSecond) +
        BigInt(Math.floor(nanos / (nanosPerSecond / perSecond))),
    );
}

const durationParts: Readonly<Record<string, (value: DurationValue) => Value>> = {
  years: ({months}) => whole(months, 12),
  quarters: ({months}) => whole(months, 3),
  months: ({months}) => months,
  weeks: ({days}) => whole(days, 7),
  days: ({days}) => days,
  hours: ({seconds}) => whole(seconds, 3600),
  minutes: ({seconds}) => whole(seconds, 60),
  seconds: ({seconds}) => seconds,
  milliseconds: fine(1_000),
  microseconds: fine(1_000_000),
  nanoseconds: fine(nanosPerSecond),
  quartersOfYear: ({months}) => whole(months, 3) % 4,
  monthsOfQuarter: ({months}) => months % 3,
  monthsOfYear: ({months}) => months % 12,
  daysOfWeek: ({days}) => days % 7,
  minutesOfHour: ({seconds}) => whole(seconds, 60) % 60,
  secondsOfMinute: ({seconds}) => seconds % 60,
  millisecondsOfSecond: ({nanos}) => Math.floor(nanos / 1_000_000),
  microsecondsOfSecond: ({nanos}) => Math.floor(nanos / 1_000),
  nanosecondsOfSecond: ({nanos}) => nanos,
};
