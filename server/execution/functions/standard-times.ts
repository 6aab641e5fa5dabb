/**
 * `std.*` of times: made from texts, from maps of parts, from other times with parts replaced;
 * cut to a unit; and durations. `plan/functions/standard.ts` lists them.
 *
 * A map may name a base (`date`, `time`, `datetime`); parts that are given take the place of the
 * base's. Days are said by month and day, by week, by quarter or by their number in the year.
 */
import {words} from '#server/base/words.ts';
import {civilFromDays, dayOfWeek, daysFromCivil} from '#server/model/calendar.ts';
import {isIntegerValue, isNumberValue, makeInteger, numberOf} from '#server/model/number.ts';
import {secondsPerDay} from '#server/model/temporal.ts';
import {DateTimeValue, DurationValue, type MapValue, type Value} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {describe} from '../expressions/arithmetic.ts';
import {
  dateOf,
  dateTimeOf,
  inZone,
  isMoment,
  localDateTimeOf,
  localTimeOf,
  modulo,
  type Moment,
  momentOf,
  nanosPerSecond,
  type TemporalValue,
  type Zone,
  zonedTimeOf,
} from '../expressions/moment.ts';
import {typeError} from '../expressions/strict-operators.ts';
import {weekOf} from '../expressions/temporal-parts.ts';
import {zoneOffset} from './time-zone.ts';
import {durationOfParts} from './duration-parts.ts';
import {argumentError} from './standard-values.ts';
import {daysOnly, monthsOnly, secondsOnly, timeBetween} from './time-span.ts';
import {
  calendarDay,
  ordinalDay,
  quarterDay,
  readDate,
  readDateTime,
  readDuration,
  readTime,
  readZone,
  weekDay,
} from './time-text.ts';

/** One class of times: what it has, and how a moment becomes a value of it. */
interface TimeClass {
  readonly hasDays: boolean;
  readonly hasTime: boolean;
  readonly hasZone: boolean;
  readonly read: (text: string) => Moment;
  readonly make: (moment: Moment) => TemporalValue;
}

const readDay = (text: string): Moment => ({
  days: readDate(text),
  nanosOfDay: undefined,
  zone: undefined,
});

const classes: Readonly<Record<string, TimeClass>> = {
  date: {hasDays: true, hasTime: false, hasZone: false, read: readDay, make: dateOf},
  time: {hasDays: false, hasTime: true, hasZone: true, read: readTime, make: zonedTimeOf},
  localTime: {hasDays: false, hasTime: true, hasZone: false, read: readTime, make: localTimeOf},
  dateTime: {hasDays: true, hasTime: true, hasZone: true, read: readDateTime, make: dateTimeOf},
  localDateTime: {
    hasDays: true,
    hasTime: true,
    hasZone: false,
    read: readDateTime,
    make: localDateTimeOf,
  },
};

function now(kind: TimeClass, zone: Value | undefined, millis: number): TemporalValue {
  const utc: Moment = momentOf(
    new DateTimeValue(Math.floor(millis / 1000), modulo(millis, 1000) * 1_000_000, 'nanosecond', {
      zone: {offsetSeconds: 0},
    }),
  );
  const shown = typeof zone === 'string' ? inZone(utc, readZone(zone)) : utc;
  return kind.make(shown);
}

function constructor(kind: TimeClass): ScalarFunction {
  return (args, call) => {
    const [value] = args;
    if (value === undefined) return now(kind, undefined, call.startedAt);
    if (typeof value === 'string') return made(kind, textMoment(kind, value));
    if (isMoment(value)) return made(kind, momentOf(value));
    if (value instanceof Map) return fromMap(kind, value, call);
    throw typeError(`a text, map or time is needed, not ${describe(value)}`);
  };
}

function textMoment(kind: TimeClass, text: string): Moment {
  const moment = kind.read(text);
  const zone = moment.zone;
  if (zone === undefined || !kind.hasZone || !Number.isNaN(zone.offsetSeconds)) return moment;
  return {...moment, zone};
}

/** Takes from a moment what the class has; a missing zone is UTC. */
function made(kind: TimeClass, moment: Moment): Value {
  const days = kind.hasDays ? moment.days : undefined;
  const nanosOfDay = kind.hasTime ? (moment.nanosOfDay ?? 0) : undefined;
  if (kind.hasDays && days === undefined) {
    throw argumentError('a date is needed to make a date of', 'InvalidArgumentValue');
  }
  const zone = kind.hasZone ? (moment.zone ?? {offsetSeconds: 0}) : undefined;
  return kind.make({days, nanosOfDay, zone: withOffset(zone, days)});
}

/** A time of day alone cannot have a region that has no offset yet: it is the one of that day. */
function withOffset(zone: Zone | undefined, days: number | undefined): Zone | undefined {
  if (zone?.region === undefined || !Number.isNaN(zone.offsetSeconds)) return zone;
  const near = zoneOffset(zone.region, (days ?? 0) * secondsPerDay);
  return {offsetSeconds: near, region: zone.region};
}

function isEmptyMap(map: MapValue): boolean {
  return map.size === 0 || (map.size === 1 && map.has('timezone'));
}

function fromMap(kind: TimeClass, map: MapValue, call: CallContext): Value {
  if ([...map.values()].includes(null)) return null;
  if (isEmptyMap(map)) return now(kind, map.get('timezone'), call.startedAt);
  const epoch = epochMoment(map);
  const dateBase = baseOf(map, ['datetime', 'date']);
  const timeBase = baseOf(map, ['datetime', 'time']);
  const zone = zoneOf(map);
  const base = shifted(epoch, timeBase ?? epoch, dateBase, zone, kind);
  const days = kind.hasDays ? dayOf(map, base.days) : undefined;
  const nanosOfDay = kind.hasTime ? timeOf(map, base.nanosOfDay) : undefined;
  return made(kind, {days, nanosOfDay, zone: base.zone});
}

/** The bases as one moment, in the zone that is asked for. */
function shifted(
  epoch: Moment | undefined,
  time: Moment | undefined,
  date: Moment | undefined,
  zone: Zone | undefined,
  kind: TimeClass,
): Moment {
  const days = date?.days ?? epoch?.days;
  const from = time?.zone;
  const known: Moment = {days, nanosOfDay: time?.nanosOfDay, zone: from};
  if (zone === undefined || !kind.hasZone) return {...known, zone: kind.hasZone ? from : undefined};
  const to = withOffset(zone, days) ?? zone;
  if (from === undefined || known.nanosOfDay === undefined) return {...known, zone: to};
  const resolved = from.region === undefined ? known : momentOf(dateTimeOf(known));
  return inZone(resolved, to);
}

function baseOf(map: MapValue, names: readonly string[]): Moment | undefined {
  for (const name of names) {
    const value = map.get(name);
    if (value === undefined) continue;
    if (!isMoment(value)) throw typeError(`${name} needs a time, not ${describe(value)}`);
    return momentOf(value);
  }
  return undefined;
}

function epochMoment(map: MapValue): Moment | undefined {
  const [seconds, millis] = [part(map, 'epochSeconds'), part(map, 'epochMillis')];
  if (seconds === undefined && millis === undefined) return undefined;
  const total = seconds ?? Math.floor((millis ?? 0) / 1000);
  const nanos = seconds === undefined ? modulo(millis ?? 0, 1000) * 1_000_000 : 0;
  return momentOf(new DateTimeValue(total, nanos, 'nanosecond', {zone: {offsetSeconds: 0}}));
}

function zoneOf(map: MapValue): Zone | undefined {
  const zone = map.get('timezone');
  if (zone === undefined) return undefined;
  if (typeof zone !== 'string') throw typeError('a time zone is a text');
  return readZone(zone);
}

function part(map: MapValue, name: string): number | undefined {
  const value = map.get(name);
  if (value === undefined || value === null) return undefined;
  if (!isIntegerValue(value)) {
    throw typeError(`${name} needs a whole number, not ${describe(value)}`);
  }
  return Number(value);
}

function dayOf(map: MapValue, base: number | undefined): number {
  const civil = base === undefined ? undefined : civilFromDays(base);
  const given = (name: string): number | undefined => part(map, name);
  const year = given('year');
  const day = dayOfParts(given, year, base, civil);
  if (day === undefined) {
    throw argumentError('there is no such day, or parts of it are missing', 'InvalidArgumentValue');
  }
  return day;
}

function dayOfParts(
  given: (name: string) => number | undefined,
  year: number | undefined,
  base: number | undefined,
  civil: ReturnType<typeof civilFromDays> | undefined,
): number | undefined {
  const [week, weekDayGiven] = [given('week'), given('dayOfWeek') ?? given('weekDay')];
  if (week !== undefined || weekDayGiven !== undefined) {
    const known = base === undefined ? undefined : weekOf(base);
    const inYear = year ?? given('weekYear') ?? known?.year;
    const number = week ?? known?.week;
    if (inYear === undefined || number === undefined) return undefined;
    return weekDay(inYear, number, weekDayGiven ?? (base === undefined ? 1 : dayOfWeek(base)));
  }
  const inYear = year ?? civil?.year;
  if (inYear === undefined) return undefined;
  const [quarter, dayOfQuarter] = [given('quarter'), given('dayOfQuarter')];
  if (quarter !== undefined || dayOfQuarter !== undefined) {
    return dayInQuarter(inYear, {quarter, day: dayOfQuarter}, base, civil);
  }
  const ordinal = given('ordinalDay');
  if (ordinal !== undefined) return ordinalDay(inYear, ordinal);
  const [month, day] = [given('month'), given('day')];
  if (month === undefined && civil === undefined && day !== undefined) return undefined;
  return calendarDay(inYear, month ?? civil?.month ?? 1, day ?? civil?.day ?? 1);
}

function dayInQuarter(
  year: number,
  given: {readonly quarter: number | undefined; readonly day: number | undefined},
  base: number | undefined,
  civil: ReturnType<typeof civilFromDays> | undefined,
): number | undefined {
  const known = civil === undefined ? undefined : Math.floor((civil.month - 1) / 3) + 1;
  const quarter = given.quarter ?? known;
  if (quarter === undefined) return undefined;
  if (given.day !== undefined || civil === undefined || base === undefined) {
    return quarterDay(year, quarter, given.day ?? 1);
  }
  // The same month of the quarter, the same day of that month.
  return calendarDay(year, (quarter - 1) * 3 + ((civil.month - 1) % 3) + 1, civil.day);
}

function timeOf(map: MapValue, base: number | undefined): number {
  const nanosNow = (base ?? 0) % nanosPerSecond;
  const secondsNow = Math.floor((base ?? 0) / nanosPerSecond);
  const bounded = (name: string, known: number, max: number): number => {
    const value = part(map, name);
    if (value === undefined) return known;
    if (value < 0 || value > max) {
      throw argumentError(`${name} is a number from 0 to ${max}`, 'InvalidArgumentValue');
    }
    return value;
  };
  const hour = bounded('hour', Math.floor(secondsNow / 3600), 23);
  const minute = bounded('minute', Math.floor(secondsNow / 60) % 60, 59);
  const second = bounded('second', secondsNow % 60, 59);
  const millis = part(map, 'millisecond');
  const micros = part(map, 'microsecond');
  const nanos = part(map, 'nanosecond');
  const fraction = subSecond({millis, micros, nanos}, nanosNow);
  return (hour * 3600 + minute * 60 + second) * nanosPerSecond + fraction;
}

/** Each part counts what the coarser one that is given leaves open. */
function subSecond(
  given: {
    readonly millis: number | undefined;
    readonly micros: number | undefined;
    readonly nanos: number | undefined;
  },
  known: number,
): number {
  const {millis, micros, nanos} = given;
  const any = millis ?? micros ?? nanos;
  if (any === undefined) return known;
  const keepMillis = millis === undefined && (micros ?? nanos ?? 0) < 1_000_000;
  const ofMillis = millis ?? (keepMillis && (micros ?? 0) < 1_000 ? Math.floor(known / 1e6) : 0);
  const ofMicros = micros ?? ((nanos ?? 0) < 1_000 ? Math.floor(known / 1e3) % 1000 : 0);
  const ofNanos = nanos ?? known % 1000;
  const total = ofMillis * 1_000_000 + ofMicros * 1_000 + ofNanos;
  if (total < 0 || total >= nanosPerSecond) {
    throw argumentError('parts of a second are less than one', 'InvalidArgumentValue');
  }
  return total;
}

/** The first day of the unit that a day is in; undefined for units of the time of day. */
function cutDay(unit: string, days: number): number | undefined {
  const {year, month} = civilFromDays(days);
  switch (unit) {
    case 'millennium':
      return daysFromCivil(Math.floor(year / 1000) * 1000, 1, 1);
    case 'century':
      return daysFromCivil(Math.floor(year / 100) * 100, 1, 1);
    case 'decade':
      return daysFromCivil(Math.floor(year / 10) * 10, 1, 1);
    case 'year':
      return daysFromCivil(year, 1, 1);
    case 'weekyear':
      return weekDay(weekOf(days).year, 1, 1);
    case 'quarter':
      return daysFromCivil(year, Math.floor((month - 1) / 3) * 3 + 1, 1);
    case 'month':
      return daysFromCivil(year, month, 1);
    case 'week':
      return days - dayOfWeek(days) + 1;
    case 'day':
      return days;
    default:
      return undefined;
  }
}

const unitNanos: Readonly<Record<string, number>> = {
  hour: 3600 * nanosPerSecond,
  minute: 60 * nanosPerSecond,
  second: nanosPerSecond,
  millisecond: 1_000_000,
  microsecond: 1_000,
};

function truncation(kind: TimeClass): ScalarFunction {
  return ([unit = null, value, fields], call) => {
    if (typeof unit !== 'string') throw typeError('the unit is a text');
    if (value !== undefined && !isMoment(value)) {
      throw typeError(`a time is needed, not ${describe(value)}`);
    }
    const moment = momentOf(value ?? now(kind, undefined, call.startedAt));
    const cut = cutMoment(unit.toLowerCase(), moment);
    const map = fields instanceof Map ? fields : new Map<string, Value>();
    const zone = zoneOf(map) ?? cut.zone;
    const days = kind.hasDays ? dayOfFields(map, cut.days) : undefined;
    const nanosOfDay = kind.hasTime ? timeOf(map, cut.nanosOfDay) : undefined;
    return made(kind, {days, nanosOfDay, zone: withOffset(zone, days)});
  };
}

function dayOfFields(map: MapValue, base: number | undefined): number | undefined {
  return base === undefined ? undefined : dayOf(map, base);
}

function cutMoment(unit: string, {days, nanosOfDay, zone}: Moment): Moment {
  const nanos = unitNanos[unit];
  if (nanos !== undefined) {
    const time = nanosOfDay ?? 0;
    return {days, nanosOfDay: time - (time % nanos), zone};
  }
  if (unit === 'day' && days === undefined) return {days, nanosOfDay: 0, zone};
  const day = days === undefined ? undefined : cutDay(unit, days);
  if (day === undefined) {
    throw argumentError(`there is no unit '${unit.slice(0, 40)}' here`, 'InvalidArgumentValue');
  }
  return {days: day, nanosOfDay: 0, zone};
}

const durationNames = [
  ...words('years quarters months weeks days hours minutes seconds milliseconds microseconds'),
  ...words('nanoseconds'),
];

function durationOf([value = null]: readonly Value[]): Value {
  if (value instanceof DurationValue) return value;
  if (typeof value === 'string') return readDuration(value);
  if (!(value instanceof Map)) {
    throw typeError(`a text or map is needed, not ${describe(value)}`);
  }
  const parts: Record<string, number> = {};
  for (const [name, count] of value) {
    if (!durationNames.some(known => known === name)) {
      throw argumentError(`a duration has no '${name.slice(0, 40)}'`, 'InvalidArgumentValue');
    }
    if (count === null) return null;
    if (!isNumberValue(count)) throw typeError(`${name} needs a number, not ${describe(count)}`);
    parts[name] = numberOf(count);
  }
  return durationOfParts(parts);
}

function between(measure: (left: TemporalValue, right: TemporalValue) => Value): ScalarFunction {
  return ([left = null, right = null]) => {
    if (isMoment(left) && isMoment(right)) return measure(left, right);
    throw typeError('a duration lies between two times');
  };
}

function perClass(): Record<string, ScalarFunction> {
  const functions: Record<string, ScalarFunction> = {};
  for (const [name, kind] of Object.entries(classes)) {
    functions[`std.${name}`] = constructor(kind);
    functions[`std.${name}.truncate`] = truncation(kind);
    functions[`std.${name}.realtime`] = ([zone], call) => now(kind, zone, call.clock.now());
  }
  return functions;
}

export const standardTimes: FunctionFamily = {
  scalars: {
    ...perClass(),
    'std.duration': durationOf,
    'std.dateTime.fromEpoch': ([seconds = null, nanos = null]) =>
      new DateTimeValue(Number(seconds), Number(nanos), 'nanosecond', {zone: {offsetSeconds: 0}}),
    'std.dateTime.fromEpochMillis': ([millis = null]) => {
      const count = Number(millis);
      const nanos = modulo(count, 1000) * 1_000_000;
      return new DateTimeValue(Math.floor(count / 1000), nanos, 'nanosecond', {
        zone: {offsetSeconds: 0},
      });
    },
    'std.duration.between': between(timeBetween),
    'std.duration.inMonths': between(monthsOnly),
    'std.duration.inDays': between(daysOnly),
    'std.duration.inSeconds': between(secondsOnly),
    'std.timestamp': (_, call) => makeInteger(BigInt(Math.floor(call.startedAt))),
  },
};
