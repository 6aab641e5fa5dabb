/**
 * Dates and date-times as text in their usual form, and their parts.
 *
 * Written: `2024-01-02`, `2024-01-02 03:04:05` with as many fraction digits (0, 3, 6 or 9) as
 * the value needs. Read: the same, `T` for the blank, seconds optional, an offset or `Z` that
 * is normalised to UTC. A day or a time that does not exist is no date (never rolled over).
 */
import {Refusal} from '#server/base/errors.ts';
import {civilFromDays, daysFromCivil, isCivilDate} from './calendar.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  type TimePrecision,
  type TimeValue,
} from './value.ts';

export const secondsPerDay = 86_400;
/** What a part of a duration may come to: what 64 bits hold. */
const durationPartMax = 2 ** 63;
/** Instants lie less than a thousand million years before or after 1970. */
const instantSecondsMax = 1e9 * 366 * secondsPerDay;
const nanosPerUnit = {
  second: 1_000_000_000,
  millisecond: 1_000_000,
  microsecond: 1_000,
  nanosecond: 1,
} as const satisfies Record<TimePrecision, number>;

const datePart = String.raw`([+-]?\d{4,6})-(\d\d)-(\d\d)`;
const timePart = String.raw`(\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?`;
const offsetPart = String.raw`(Z|[+-]\d\d(?::?\d\d)?)`;
const dateTimePattern = new RegExp(`^${datePart}(?:[T ]${timePart} ?${offsetPart}?)?$`, 'i');

/** Reads a day; a date-time text gives its day in UTC. */
export function parseDate(text: string): DateValue | undefined {
  const dateTime = parseDateTime(text, 'nanosecond');
  if (dateTime === undefined) return undefined;
  return new DateValue(Math.floor(dateTime.epochSeconds / secondsPerDay));
}

/** Reads an instant (a text without an offset is UTC) and cuts it to `precision`. */
export function parseDateTime(text: string, precision: TimePrecision): DateTimeValue | undefined {
  const match = dateTimePattern.exec(text.trim());
  if (match === null) return undefined;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const hour = Number(match[4] ?? '0');
  const minute = Number(match[5] ?? '0');
  const second = Number(match[6] ?? '0');
  if (!isCivilDate(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined;
  const offset = parseOffset(match[8]);
  if (offset === undefined) return undefined;
  const seconds =
    daysFromCivil(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset;
  const nanos = Number((match[7] ?? '').padEnd(9, '0'));
  return new DateTimeValue(seconds, cutNanos(nanos, precision), precision);
}

/** Seconds east of UTC of `Z`, `+02`, `+0200`, `+02:00`; undefined when impossible. */
export function parseOffset(text: string | undefined): number | undefined {
  if (text === undefined || text === 'Z' || text === 'z') return 0;
  const digits = text.slice(1).replace(':', '').padEnd(4, '0');
  const hours = Number(digits.slice(0, 2));
  const minutes = Number(digits.slice(2, 4));
  if (hours > 18 || minutes > 59) return undefined;
  const seconds = hours * 3600 + minutes * 60;
  return text.startsWith('-') ? -seconds : seconds;
}

/** The same instant with what is finer than `precision` cut off. */
export function withPrecision(value: DateTimeValue, precision: TimePrecision): DateTimeValue {
  return new DateTimeValue(
    value.epochSeconds,
    cutNanos(value.nanos, precision),
    precision,
    value.zone === undefined ? {local: value.local} : {local: value.local, zone: value.zone},
  );
}

function cutNanos(nanos: number, precision: TimePrecision): number {
  return nanos - (nanos % nanosPerUnit[precision]);
}

/** An instant from a count of `precision` units since 1970-01-01 00:00 UTC. */
export function dateTimeFromEpoch(units: bigint, precision: TimePrecision): DateTimeValue {
  const nanos = units * BigInt(nanosPerUnit[precision]);
  let seconds = nanos / 1_000_000_000n;
  if (nanos < 0n && seconds * 1_000_000_000n !== nanos) seconds -= 1n;
  return new DateTimeValue(Number(seconds), Number(nanos - seconds * 1_000_000_000n), precision);
}

/** Count of `precision` units since 1970-01-01 00:00 UTC. */
export function epochOf(value: DateTimeValue | DateValue, precision: TimePrecision): bigint {
  const unit = BigInt(nanosPerUnit[precision]);
  const nanos = BigInt(epochSecondsOf(value)) * 1_000_000_000n + BigInt(nanosOf(value));
  const units = nanos / unit;
  return nanos < 0n && units * unit !== nanos ? units - 1n : units;
}

export function epochSecondsOf(value: DateTimeValue | DateValue): number {
  return value instanceof DateValue ? value.epochDays * secondsPerDay : value.epochSeconds;
}

export function nanosOf(value: DateTimeValue | DateValue): number {
  return value instanceof DateValue ? 0 : value.nanos;
}

export function dateText(value: DateValue): string {
  const {year, month, day} = civilFromDays(value.epochDays);
  return `${yearText(year)}-${twoDigits(month)}-${twoDigits(day)}`;
}

/** `2024-01-02 03:04:05.678`; local and zoned values in ISO form with `T` and their offset. */
export function dateTimeText(value: DateTimeValue): string {
  const offset = value.zone?.offsetSeconds ?? 0;
  const seconds = value.epochSeconds + offset;
  const days = Math.floor(seconds / secondsPerDay);
  const iso = value.local || value.zone !== undefined;
  const date = dateText(new DateValue(days));
  const ofDay = seconds - days * secondsPerDay;
  if (!iso) return `${date} ${timeOfDayText(ofDay, value.nanos)}`;
  const time = shortTimeText(ofDay, value.nanos);
  const region = value.zone?.region === undefined ? '' : `[${value.zone.region}]`;
  return `${date}T${time}${value.zone === undefined ? '' : offsetText(offset)}${region}`;
}

export function timeText(value: TimeValue): string {
  const offset = value.offsetSeconds === undefined ? '' : offsetText(value.offsetSeconds);
  return shortTimeText(value.secondOfDay, value.nanos) + offset;
}

/** A time without seconds where there are none: `12:30`. */
function shortTimeText(secondOfDay: number, nanos: number): string {
  const text = timeOfDayText(secondOfDay, nanos);
  return text.endsWith(':00') ? text.slice(0, -3) : text;
}

/**
 * ISO 8601: `P1Y2M3DT4H5M6.7S`, `PT0S` when nothing is in it. Hours, minutes and seconds have one
 * sign, each part before them its own.
 */
export function durationText(value: DurationValue): string {
  const part = (count: number, letter: string): string => (count === 0 ? '' : `${count}${letter}`);
  const years = Math.trunc(value.months / 12);
  const date = part(years, 'Y') + part(value.months % 12, 'M') + part(value.days, 'D');
  const nanos = BigInt(value.seconds) * 1_000_000_000n + BigInt(value.nanos);
  const size = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? -1 : 1;
  const whole = Number(size / 1_000_000_000n);
  const fraction = String(size % 1_000_000_000n)
    .padStart(9, '0')
    .replace(/0+$/, '');
  const seconds = `${whole % 60}${fraction === '' ? '' : `.${fraction}`}`;
  const time =
    part(sign * Math.floor(whole / 3600), 'H') +
    part(sign * (Math.floor(whole / 60) % 60), 'M') +
    (seconds === '0' ? '' : `${sign < 0 ? '-' : ''}${seconds}S`);
  if (time !== '') return `P${date}T${time}`;
  return date === '' ? 'PT0S' : `P${date}`;
}

/**
 * A duration of parts that were computed; every part is a whole number of 64 bits.
 *
 * @throws {Refusal} `arithmetic` for any other part: no stored form of it could be read back.
 */
export function durationOf(
  months: number,
  days: number,
  seconds: number,
  nanos: number,
): DurationValue {
  for (const part of [months, days, seconds, nanos]) {
    if (Number.isInteger(part) && Math.abs(part) <= durationPartMax) continue;
    throw new Refusal('arithmetic', `a duration cannot have a part of ${part}`, {
      detail: {type: 'ArithmeticError', reason: 'NumberOutOfRange'},
    });
  }
  return new DurationValue(months, days, seconds, nanos);
}

/** @throws {Refusal} `arithmetic` for an instant beyond the calendar. */
export function requireInstantSeconds(epochSeconds: number): void {
  if (Number.isInteger(epochSeconds) && Math.abs(epochSeconds) < instantSecondsMax) return;
  throw new Refusal(
    'arithmetic',
    'the date lies more than a thousand million years away from 1970',
    {
      detail: {type: 'ArithmeticError', reason: 'NumberOutOfRange'},
    },
  );
}

/** Days of 24 hours, and all that is smaller, in seconds; to the nearest double. */
export function secondsOf({days, seconds, nanos}: DurationValue): number {
  return days * 86_400 + seconds + nanos / 1e9;
}

function timeOfDayText(secondOfDay: number, nanos: number): string {
  const hour = twoDigits(Math.floor(secondOfDay / 3600));
  const minute = twoDigits(Math.floor(secondOfDay / 60) % 60);
  return `${hour}:${minute}:${twoDigits(secondOfDay % 60)}${fractionText(nanos)}`;
}

function fractionText(nanos: number): string {
  if (nanos === 0) return '';
  const digits = String(nanos).padStart(9, '0');
  if (nanos % 1_000_000 === 0) return `.${digits.slice(0, 3)}`;
  return nanos % 1_000 === 0 ? `.${digits.slice(0, 6)}` : `.${digits}`;
}

export function offsetText(offsetSeconds: number): string {
  if (offsetSeconds === 0) return 'Z';
  const size = Math.abs(offsetSeconds);
  const hours = twoDigits(Math.floor(size / 3600));
  const seconds = size % 60 === 0 ? '' : `:${twoDigits(size % 60)}`;
  const minutes = twoDigits(Math.floor(size / 60) % 60);
  return `${offsetSeconds < 0 ? '-' : '+'}${hours}:${minutes}${seconds}`;
}

export function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0');
  return year < 0 ? `-${digits}` : year > 9999 ? `+${digits}` : digits;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
