/**
 * Times and durations from texts of ISO 8601, in its basic and its extended form: calendar, week,
 * quarter and ordinal dates, parts left out from the right, offsets and regions.
 */
import {dayOfWeek, daysFromCivil, daysInMonth, isLeapYear} from '#server/model/calendar.ts';
import type {DurationValue} from '#server/model/value.ts';
import {type Moment, nanosPerSecond, type Zone} from '../expressions/moment.ts';
import {type DurationParts, durationOfParts} from './duration-parts.ts';
import {argumentError} from './standard-values.ts';

function unreadable(text: string, what: string): Error {
  return argumentError(`'${text.slice(0, 80)}' is no ${what}`, 'InvalidArgumentValue');
}

const year = String.raw`([+-]\d{1,9}|\d{4})`;
const datePatterns: readonly (readonly [
  RegExp,
  (parts: readonly number[]) => number | undefined,
])[] = [
  [new RegExp(`^${year}-?(\\d\\d)-?(\\d\\d)$`), ([y = 0, m = 1, d = 1]) => calendarDay(y, m, d)],
  [new RegExp(`^${year}-?W(\\d\\d)-?(\\d)$`), ([y = 0, w = 1, d = 1]) => weekDay(y, w, d)],
  [new RegExp(`^${year}-?W(\\d\\d)$`), ([y = 0, w = 1]) => weekDay(y, w, 1)],
  [new RegExp(`^${year}-?Q(\\d)-?(\\d\\d)$`), ([y = 0, q = 1, d = 1]) => quarterDay(y, q, d)],
  [new RegExp(`^${year}-?Q(\\d)$`), ([y = 0, q = 1]) => quarterDay(y, q, 1)],
  [new RegExp(`^${year}-?(\\d\\d\\d)$`), ([y = 0, d = 1]) => ordinalDay(y, d)],
  [new RegExp(`^${year}-?(\\d\\d)$`), ([y = 0, m = 1]) => calendarDay(y, m, 1)],
  [new RegExp(`^${year}$`), ([y = 0]) => calendarDay(y, 1, 1)],
];

/** Days since 1970, or undefined for a day that there is not. */
export function calendarDay(y: number, m: number, d: number): number | undefined {
  if (Math.abs(y) > 999_999_999 || m < 1 || m > 12 || d < 1 || d > daysInMonth(y, m)) {
    return undefined;
  }
  return daysFromCivil(y, m, d);
}

export function weekDay(y: number, week: number, day: number): number | undefined {
  const first = firstMonday(y);
  const weeks = (firstMonday(y + 1) - first) / 7;
  if (week < 1 || week > weeks || day < 1 || day > 7) return undefined;
  return first + (week - 1) * 7 + day - 1;
}

/** The Monday of the week that has the year's first Thursday. */
function firstMonday(y: number): number {
  const fourth = daysFromCivil(y, 1, 4);
  return fourth - dayOfWeek(fourth) + 1;
}

export function quarterDay(y: number, quarter: number, day: number): number | undefined {
  if (quarter < 1 || quarter > 4 || day < 1) return undefined;
  const start = daysFromCivil(y, quarter * 3 - 2, 1);
  const end = quarter === 4 ? daysFromCivil(y + 1, 1, 1) : daysFromCivil(y, quarter * 3 + 1, 1);
  return start + day - 1 < end ? start + day - 1 : undefined;
}

export function ordinalDay(y: number, day: number): number | undefined {
  return day >= 1 && day <= (isLeapYear(y) ? 366 : 365)
    ? daysFromCivil(y, 1, 1) + day - 1
    : undefined;
}

export function readDate(text: string): number {
  for (const [pattern, dayOf] of datePatterns) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const day = dayOf(match.slice(1).map(Number));
    if (day !== undefined) return day;
  }
  throw unreadable(text, 'date');
}

const timePattern = new RegExp(
  String.raw`^(\d\d)(?::?(\d\d)(?::?(\d\d)(?:[.,](\d{1,9}))?)?)?` +
    String.raw`(Z|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)?(?:\[([^\]]+)\])?$`,
);

/** The time of day, with a zone where the text has one. */
export function readTime(text: string): Moment {
  const match = timePattern.exec(text);
  if (match === null) throw unreadable(text, 'time');
  const [, hours = '0', minutes = '0', seconds = '0', fraction = '', offset, region] = match;
  const [h, m, s] = [Number(hours), Number(minutes), Number(seconds)];
  if (h > 23 || m > 59 || s > 59) throw unreadable(text, 'time');
  const nanosOfDay = (h * 3600 + m * 60 + s) * nanosPerSecond + Number(fraction.padEnd(9, '0'));
  if (offset === undefined && region === undefined) {
    return {days: undefined, nanosOfDay, zone: undefined};
  }
  const offsetSeconds = offset === undefined ? undefined : readOffset(offset);
  const zone =
    region === undefined
      ? {offsetSeconds: offsetSeconds ?? 0}
      : {offsetSeconds: offsetSeconds ?? Number.NaN, region};
  return {days: undefined, nanosOfDay, zone};
}

export function readDateTime(text: string): Moment {
  const at = text.indexOf('T');
  if (at === -1) return {days: readDate(text), nanosOfDay: undefined, zone: undefined};
  return {...readTime(text.slice(at + 1)), days: readDate(text.slice(0, at))};
}

/** `Z`, `+01`, `+0100`, `+01:00`, `+01:00:30`. */
export function readOffset(text: string): number {
  if (text === 'Z' || text === 'z') return 0;
  const match = /^([+-])(\d\d)(?::?(\d\d))?(?::?(\d\d))?$/.exec(text);
  if (match === null) throw unreadable(text, 'offset');
  const [, sign, hours = '0', minutes = '0', seconds = '0'] = match;
  const size = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (size > 18 * 3600) throw unreadable(text, 'offset');
  return sign === '-' ? -size : size;
}

/** An offset or the name of a region. */
export function readZone(text: string): Zone {
  if (/^(?:[Zz]|[+-]\d)/.test(text)) return {offsetSeconds: readOffset(text)};
  return {offsetSeconds: Number.NaN, region: text};
}

const number = String.raw`([+-]?\d+(?:[.,]\d+)?)`;
const durationPattern = new RegExp(
  `^([+-])?P(?:${number}Y)?(?:${number}M)?(?:${number}W)?(?:${number}D)?` +
    `(T(?:${number}H)?(?:${number}M)?(?:${number}S)?)?$`,
);
const dateShaped = /^P(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)?:?(\d\d(?:[.,]\d+)?)?)?$/;

export function readDuration(text: string): DurationValue {
  const shaped = dateShaped.exec(text);
  if (shaped !== null) {
    const [years, months, days, hours, minutes, seconds] = shaped.slice(1).map(numberOfText);
    return durationOfParts({years, months, days, hours, minutes, seconds});
  }
  const match = durationPattern.exec(text);
  if (match === null || text.endsWith('P') || text.endsWith('T')) {
    throw unreadable(text, 'duration');
  }
  const sign = match[1] === '-' ? -1 : 1;
  const at = (index: number): number | undefined => {
    const found = match[index];
    return found === undefined ? undefined : sign * (numberOfText(found) ?? 0);
  };
  const parts: DurationParts = {
    years: at(2),
    months: at(3),
    weeks: at(4),
    days: at(5),
    hours: at(7),
    minutes: at(8),
    seconds: at(9),
  };
  return durationOfParts(parts);
}

function numberOfText(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text.replace(',', '.'));
}
