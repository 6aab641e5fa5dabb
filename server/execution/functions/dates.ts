/**
 * Dates and times: `date()`, `sysdate()`, `duration()`, `date.*` and the methods of dates.
 *
 * An instant is UTC. Functions of `date.*` that count do so in a unit (`ms` unless named) and
 * accept dates wherever they accept counts. The time that functions see is the statement's start,
 * so that all rows see one. A text that is no date answers null.
 */
import {civilFromDays, dayOfWeek, daysFromCivil} from '#server/model/calendar.ts';
import {isNumberValue, longMax, longMin, normalInteger} from '#server/model/number.ts';
import {formatByPattern, parseByPattern} from '#server/model/temporal-pattern.ts';
import {
  dateTimeFromEpoch,
  durationOf,
  epochOf,
  parseDateTime,
  secondsPerDay,
  withPrecision,
} from '#server/model/temporal.ts';
import {
  DateTimeValue,
  DateValue,
  type DurationValue,
  type MapValue,
  type TimePrecision,
  type Value,
} from '#server/model/value.ts';
import {add, describe} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import {argument, bigintAt, integerAt, refuse, textAt} from './arguments.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {formatText} from './text-format.ts';
import {fromLocal, shownIn} from './time-zone.ts';

const precisions: Readonly<Record<string, TimePrecision>> = {
  second: 'second',
  millisecond: 'millisecond',
  microsecond: 'microsecond',
  nanosecond: 'nanosecond',
};

interface Unit {
  readonly months?: number;
  readonly days?: number;
  readonly nanos?: bigint;
}

const nanosPerSecond = 1_000_000_000n;
const units: Readonly<Record<string, Unit>> = {
  year: {months: 12},
  quarter: {months: 3},
  month: {months: 1},
  week: {days: 7},
  day: {days: 1},
  hour: {nanos: 3600n * nanosPerSecond},
  minute: {nanos: 60n * nanosPerSecond},
  second: {nanos: nanosPerSecond},
  millisecond: {nanos: 1_000_000n},
  microsecond: {nanos: 1_000n},
  nanosecond: {nanos: 1n},
};

const unitNames: Readonly<Record<string, string>> = {
  y: 'year',
  w: 'week',
  d: 'day',
  h: 'hour',
  m: 'minute',
  min: 'minute',
  s: 'second',
  sec: 'second',
  ms: 'millisecond',
  milli: 'millisecond',
  us: 'microsecond',
  micro: 'microsecond',
  ns: 'nanosecond',
  nano: 'nanosecond',
};

/** `d`, `day` and `days` in any case. */
function unitOf(text: string): Unit {
  const lower = text.trim().toLowerCase();
  const name = unitNames[lower] ?? lower.replace(/s$/, '');
  return (
    units[unitNames[name] ?? name] ?? refuse(`there is no unit of time '${text.slice(0, 40)}'`)
  );
}

/** Length of a unit that always has the same one. */
function fixedNanos(text: string): bigint {
  const {nanos, days, months} = unitOf(text);
  if (nanos !== undefined) return nanos;
  if (days !== undefined) return BigInt(days) * 86_400n * nanosPerSecond;
  return refuse(`a ${months === 12 ? 'year' : 'month'} has no fixed length`);
}

/** The instant of a count of units since 1970, of a date, or of a text; undefined for none. */
function instantOf(value: Value, unit = 'ms'): DateTimeValue | undefined {
  if (value instanceof DateTimeValue) return value;
  if (value instanceof DateValue) {
    return new DateTimeValue(value.epochDays * secondsPerDay, 0, 'millisecond');
  }
  if (isNumberValue(value)) return fromNanos(bigintAt([value], 0, 'a date') * fixedNanos(unit));
  return typeof value === 'string' ? parseDateTime(value, 'nanosecond') : undefined;
}

function fromNanos(nanos: bigint): DateTimeValue {
  if (
    nanos / nanosPerSecond > 31_556_889_864_403n ||
    nanos / nanosPerSecond < -31_556_889_864_403n
  ) {
    refuse('the time is too far away');
  }
  const precise = dateTimeFromEpoch(nanos, 'nanosecond');
  return precise.nanos % 1_000_000 === 0 ? withPrecision(precise, 'millisecond') : precise;
}

function requireInstant(args: readonly Value[], at: number, name: string): DateTimeValue {
  const value = argument(args, at);
  return instantOf(value) ?? refuse(`${name} needs a time, not ${describe(value)}`);
}

function counted(value: DateTimeValue, unit: string): Value {
  const count = epochOf(value, 'nanosecond') / fixedNanos(unit);
  return count > longMax || count < longMin
    ? refuse('the time is too far away')
    : normalInteger(count);
}

/** Reads a text, by a pattern or in the usual form; undefined when it is no such date. */
function readDate(text: string, pattern: string, zone: string): DateTimeValue | undefined {
  const read =
    pattern === '' ? parseDateTime(text, 'nanosecond') : parseByPattern(text.trim(), pattern);
  if (read === undefined) return undefined;
  const cut = read.nanos % 1_000_000 === 0 ? withPrecision(read, 'millisecond') : read;
  return zone === '' || /Z|[+-]\d\d:?\d\d$/.test(text) ? cut : fromLocal(cut, zone);
}

function now(call: CallContext): DateTimeValue {
  return dateTimeFromEpoch(BigInt(Math.floor(call.startedAt)), 'millisecond');
}

function date(args: readonly Value[], call: CallContext): Value {
  if (args.length === 0) return now(call);
  const value = argument(args, 0);
  if (value === null) return null;
  if (typeof value !== 'string') return instantOf(value) ?? null;
  if (args.length === 1 && /^-?\d{5,19}$/.test(value)) {
    return fromNanos(BigInt(value) * 1_000_000n);
  }
  return readDate(value, textAt(args, 1), textAt(args, 2)) ?? null;
}

function sysdate(args: readonly Value[], call: CallContext): Value {
  const pattern = textAt(args, 0);
  const zone = textAt(args, 1);
  if (pattern === '') return now(call);
  return formatByPattern(zone === '' ? now(call) : shownIn(now(call), zone), pattern);
}

function duration(args: readonly Value[]): DurationValue {
  const count = integerAt(args, 0, 'duration');
  const {months = 0, days = 0, nanos = 0n} = unitOf(textAt(args, 1));
  const total = BigInt(count) * nanos;
  const seconds = total / nanosPerSecond;
  const rest = Number(total - seconds * nanosPerSecond);
  return durationOf(count * months, count * days, Number(seconds), rest);
}

/** A count stays a count, a date a date. */
function addTime(args: readonly Value[]): Value {
  const moved = add(requireInstant(args, 0, 'date.add'), duration(args.slice(1)));
  if (!isNumberValue(argument(args, 0))) return moved;
  return moved instanceof DateTimeValue ? counted(moved, 'ms') : moved;
}

function convertTime(args: readonly Value[]): Value {
  const count = bigintAt(args, 0, 'date.convert') * fixedNanos(textAt(args, 1));
  const converted = count / fixedNanos(textAt(args, 2));
  return converted > longMax || converted < longMin
    ? refuse('the time is too far away')
    : normalInteger(converted);
}

interface Week {
  readonly year: number;
  readonly week: number;
}

/** ISO 8601: the week belongs to the year of its Thursday. */
function isoWeek(epochDays: number): Week {
  const thursday = epochDays - dayOfWeek(epochDays) + 4;
  const {year} = civilFromDays(thursday);
  return {year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1};
}

/** The fields of an instant in UTC, named as users ask for them. */
function fieldsOf(value: DateTimeValue): Map<string, Value> {
  const days = Math.floor(value.epochSeconds / secondsPerDay);
  const second = value.epochSeconds - days * secondsPerDay;
  const civil = civilFromDays(days);
  const week = isoWeek(days);
  return new Map<string, Value>([
    ['year', civil.year],
    ['month', civil.month],
    ['day', civil.day],
    ['hour', Math.floor(second / 3600)],
    ['minute', Math.floor(second / 60) % 60],
    ['second', second % 60],
    ['millisecond', Math.floor(value.nanos / 1_000_000)],
    ['dayOfWeek', dayOfWeek(days)],
    ['dayOfYear', days - daysFromCivil(civil.year, 1, 1) + 1],
    ['weekOfYear', week.week],
    ['weekBasedYear', week.year],
    ['timezone', 'Etc/UTC'],
  ]);
}

const fieldAliases: Readonly<Record<string, string>> = {
  years: 'year',
  months: 'month',
  days: 'day',
  d: 'day',
  hours: 'hour',
  h: 'hour',
  minutes: 'minute',
  m: 'minute',
  seconds: 'second',
  s: 'second',
  milliseconds: 'millisecond',
  millis: 'millisecond',
  ms: 'millisecond',
  week: 'weekOfYear',
  w: 'weekOfYear',
  weekday: 'dayOfWeek',
};

function field(args: readonly Value[]): Value {
  const fields = fieldsOf(requireInstant(args, 0, 'date.field'));
  const wanted = textAt(args, 1);
  if (wanted.toLowerCase() === 'quarter') return Math.ceil(Number(fields.get('month')) / 3);
  const name = fieldAliases[wanted.toLowerCase()] ?? wanted;
  for (const [known, value] of fields) {
    if (known.toLowerCase() === name.toLowerCase()) return value;
  }
  return refuse(`a time has no field '${wanted.slice(0, 40)}'`);
}

function fields(args: readonly Value[]): MapValue | null {
  const value = argument(args, 0);
  const read = typeof value === 'string' ? readDate(value, textAt(args, 1), '') : instantOf(value);
  return read === undefined ? null : fieldsOf(read);
}

const usualPattern = 'yyyy-MM-dd HH:mm:ss';

function formatDate(args: readonly Value[]): Value {
  const value = argument(args, 0);
  if (value === null) return null;
  const instant =
    instantOf(value, textAt(args, 1, 'ms')) ??
    refuse(`date.format needs a time, not ${describe(value)}`);
  const zone = textAt(args, 3);
  return formatByPattern(
    zone === '' ? instant : shownIn(instant, zone),
    textAt(args, 2, usualPattern),
  );
}

function parseDateText(args: readonly Value[]): Value {
  if (argument(args, 0) === null) return null;
  const read = readDate(textAt(args, 0), textAt(args, 2), textAt(args, 3));
  return read === undefined ? null : counted(read, textAt(args, 1, 'ms'));
}

function isoText(args: readonly Value[]): string {
  const value = withPrecision(requireInstant(args, 0, 'date.toISO8601'), 'millisecond');
  const pattern = value.nanos === 0 ? "yyyy-MM-dd'T'HH:mm:ss" : "yyyy-MM-dd'T'HH:mm:ss.SSS";
  return `${formatByPattern(value, pattern)}Z`;
}

/** `format` of a date is by a pattern, of anything else by conversions such as `%05d`. */
function formatMethod(args: readonly Value[]): Value {
  const value = argument(args, 0);
  const pattern = textAt(args, 1);
  if (value instanceof DateValue || value instanceof DateTimeValue) {
    const zone = textAt(args, 2);
    const instant = zone === '' ? value : shownIn(requireInstant(args, 0, 'format'), zone);
    return formatByPattern(instant, pattern);
  }
  return formatText(pattern, [value]);
}

function asDateTime(args: readonly Value[]): DateTimeValue | undefined {
  const value = argument(args, 0);
  if (typeof value !== 'string') return instantOf(value);
  if (/^-?\d{5,19}$/.test(value.trim())) return fromNanos(BigInt(value.trim()) * 1_000_000n);
  return readDate(value, textAt(args, 1), '');
}

function withPrecisionNamed(args: readonly Value[]): Value {
  const name = textAt(args, 1).toLowerCase().replace(/s$/, '');
  const precision =
    precisions[name] ?? refuse('the precision is second, millisecond, microsecond or nanosecond');
  return withPrecision(requireInstant(args, 0, 'precision'), precision);
}

export const dates: FunctionFamily = {
  scalars: {
    date,
    sysdate,
    duration,
    'date.add': addTime,
    'date.convert': convertTime,
    'date.currentTimestamp': (_, call) => Math.floor(call.startedAt),
    'date.field': field,
    'date.fields': fields,
    'date.format': formatDate,
    'date.parse': parseDateText,
    'date.fromISO8601': args => {
      const read = parseDateTime(textAt(args, 0), 'millisecond');
      return read === undefined ? null : counted(read, 'ms');
    },
    'date.toISO8601': isoText,
    'date.systemTimezone': () => 'UTC',
    '.asDate': args => {
      const value = argument(args, 0);
      if (value instanceof DateValue) return value;
      const read = asDateTime(args);
      return read === undefined
        ? null
        : new DateValue(Math.floor(read.epochSeconds / secondsPerDay));
    },
    '.asDateTime': args => asDateTime(args) ?? null,
    '.format': formatMethod,
    '.precision': withPrecisionNamed,
  },
};
