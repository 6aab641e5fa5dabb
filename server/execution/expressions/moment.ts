/**
 * Dates, times and date-times as one thing: a day, a time of day and a zone, each of which may be
 * missing. What combines or moves them works on that and makes the value's own class again.
 */
import {civilFromDays, daysFromCivil, daysInMonth} from '#server/model/calendar.ts';
import {requireInstantSeconds, secondsPerDay} from '#server/model/temporal.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {zoneOffset} from '../functions/time-zone.ts';
import {normalDuration} from './duration-arithmetic.ts';

export const nanosPerSecond = 1_000_000_000;
export const nanosPerDay = secondsPerDay * nanosPerSecond;

export interface Zone {
  readonly offsetSeconds: number;
  readonly region?: string;
}

export interface Moment {
  /** Days since 1970-01-01 in the local calendar. */
  readonly days: number | undefined;
  /** Nanoseconds since midnight, local; below 2^53. */
  readonly nanosOfDay: number | undefined;
  readonly zone: Zone | undefined;
}

export type TemporalValue = DateValue | DateTimeValue | TimeValue;

export function isMoment(value: Value): value is TemporalValue {
  return value instanceof DateValue || value instanceof DateTimeValue || value instanceof TimeValue;
}

export function momentOf(value: TemporalValue): Moment {
  if (value instanceof DateValue) {
    return {days: value.epochDays, nanosOfDay: undefined, zone: undefined};
  }
  if (value instanceof TimeValue) {
    const {offsetSeconds} = value;
    return {
      days: undefined,
      nanosOfDay: value.secondOfDay * nanosPerSecond + value.nanos,
      zone: offsetSeconds === undefined ? undefined : {offsetSeconds},
    };
  }
  // An instant without a zone is one in UTC.
  const zone = value.local ? undefined : (value.zone ?? {offsetSeconds: 0});
  const seconds = value.epochSeconds + (zone?.offsetSeconds ?? 0);
  const days = Math.floor(seconds / secondsPerDay);
  const ofDay = seconds - days * secondsPerDay;
  return {days, nanosOfDay: ofDay * nanosPerSecond + value.nanos, zone};
}

export function dateOf({days = 0}: Moment): DateValue {
  return new DateValue(days);
}

export function localTimeOf({nanosOfDay = 0}: Moment): TimeValue {
  return timeOf(nanosOfDay, undefined);
}

export function zonedTimeOf({nanosOfDay = 0, zone}: Moment): TimeValue {
  return timeOf(nanosOfDay, zone?.offsetSeconds ?? 0);
}

function timeOf(nanosOfDay: number, offset: number | undefined): TimeValue {
  const seconds = Math.floor(nanosOfDay / nanosPerSecond);
  return new TimeValue(seconds, nanosOfDay - seconds * nanosPerSecond, offset);
}

export function localDateTimeOf(moment: Moment): DateTimeValue {
  const {seconds, nanos} = localSeconds(moment);
  return new DateTimeValue(seconds, nanos, 'nanosecond', {local: true});
}

/** The moment in its zone. A region's offset at that local time is looked up; no zone means UTC. */
export function dateTimeOf(moment: Moment): DateTimeValue {
  const {seconds, nanos} = localSeconds(moment);
  const zone = moment.zone ?? {offsetSeconds: 0};
  if (zone.region === undefined) {
    return new DateTimeValue(seconds - zone.offsetSeconds, nanos, 'nanosecond', {zone});
  }
  const resolved = zoneAtLocal(zone.region, seconds, zone.offsetSeconds);
  return new DateTimeValue(seconds - resolved.offsetSeconds, nanos, 'nanosecond', {zone: resolved});
}

function localSeconds({days = 0, nanosOfDay = 0}: Moment): {
  readonly seconds: number;
  readonly nanos: number;
} {
  const ofDay = Math.floor(nanosOfDay / nanosPerSecond);
  return {seconds: days * secondsPerDay + ofDay, nanos: nanosOfDay - ofDay * nanosPerSecond};
}

/** The region's offset at a local time; of two that fit, the one that was there before. */
export function zoneAtLocal(region: string, localSecondsNow: number, before?: number): Zone {
  if (before !== undefined && zoneOffset(region, localSecondsNow - before) === before) {
    return {offsetSeconds: before, region};
  }
  const early = zoneOffset(region, localSecondsNow - secondsPerDay);
  const guess = zoneOffset(region, localSecondsNow - early);
  if (zoneOffset(region, localSecondsNow - early) === early) return {offsetSeconds: early, region};
  return {offsetSeconds: zoneOffset(region, localSecondsNow - guess), region};
}

/** The same instant in another zone. */
export function inZone(moment: Moment, zone: Zone): Moment {
  const from = moment.zone?.offsetSeconds;
  if (from === undefined) return {...moment, zone};
  const {seconds, nanos} = localSeconds(moment);
  const utc = seconds - from;
  const to =
    zone.region === undefined
      ? zone
      : {offsetSeconds: zoneOffset(zone.region, utc), region: zone.region};
  const local = utc + to.offsetSeconds;
  const days = Math.floor(local / secondsPerDay);
  return {
    days: moment.days === undefined ? undefined : days,
    nanosOfDay: (local - days * secondsPerDay) * nanosPerSecond + nanos,
    zone: to,
  };
}

/** The same class of value from another moment. */
function like(value: TemporalValue, moment: Moment): TemporalValue {
  if (value instanceof DateValue) return dateOf(moment);
  if (value instanceof TimeValue) {
    return value.offsetSeconds === undefined ? localTimeOf(moment) : zonedTimeOf(moment);
  }
  return value.local ? localDateTimeOf(moment) : dateTimeOf(moment);
}

/** A time moved by a duration, or the sum of two; undefined for anything else. */
export function movedTime(value: Value, by: DurationValue, sign: 1 | -1): Value | undefined {
  if (value instanceof DurationValue) {
    return normalDuration(
      value.months + sign * by.months,
      value.days + sign * by.days,
      value.seconds + sign * by.seconds,
      value.nanos + sign * by.nanos,
    );
  }
  if (!isMoment(value)) return undefined;
  const moment = momentOf(value);
  const {days, nanosOfDay = 0} = moment;
  const seconds = sign * by.seconds;
  if (days === undefined) {
    const ofDay = (seconds % secondsPerDay) * nanosPerSecond + sign * by.nanos;
    return like(value, {...moment, nanosOfDay: modulo(nanosOfDay + ofDay, nanosPerDay)});
  }
  const movedDays = movedMonths(days, sign * by.months) + sign * by.days;
  requireInstantSeconds(movedDays * secondsPerDay + seconds);
  if (value instanceof DateValue) {
    return new DateValue(movedDays + Math.trunc(seconds / secondsPerDay));
  }
  const movedDate = like(value, {...moment, days: movedDays}) as DateTimeValue;
  return laterBy(movedDate, seconds, sign * by.nanos);
}

/** An instant so much later; in a region its offset may be another one then. */
function laterBy(value: DateTimeValue, seconds: number, nanos: number): DateTimeValue {
  const total = value.nanos + nanos;
  const carry = Math.floor(total / nanosPerSecond);
  const epochSeconds = value.epochSeconds + seconds + carry;
  const {zone, local, precision} = value;
  const region = zone?.region;
  const shown =
    region === undefined ? zone : {offsetSeconds: zoneOffset(region, epochSeconds), region};
  return new DateTimeValue(epochSeconds, total - carry * nanosPerSecond, precision, {
    local,
    ...(shown === undefined ? {} : {zone: shown}),
  });
}

export function movedMonths(days: number, months: number): number {
  if (months === 0) return days;
  const {year, month, day} = civilFromDays(days);
  const index = year * 12 + (month - 1) + months;
  const toYear = Math.floor(index / 12);
  const toMonth = index - toYear * 12 + 1;
  return daysFromCivil(toYear, toMonth, Math.min(day, daysInMonth(toYear, toMonth)));
}

export function modulo(value: number, by: number): number {
  return ((value % by) + by) % by;
}
