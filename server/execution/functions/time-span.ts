/**
 * The duration from one time to another.
 *
 * What one of the two has no part in is left out: without a day in both, only times of day count;
 * a missing time is midnight, a missing zone is that of the other.
 */
import {civilFromDays} from '#server/model/calendar.ts';
import {durationOf, secondsPerDay} from '#server/model/temporal.ts';
import type {DurationValue} from '#server/model/value.ts';
import {normalDuration} from '../expressions/duration-arithmetic.ts';
import {
  inZone,
  type Moment,
  momentOf,
  movedMonths,
  nanosPerSecond,
  type TemporalValue,
  zoneAtLocal,
} from '../expressions/moment.ts';

interface Pair {
  readonly from: Required<Moment>;
  readonly to: Required<Moment>;
  readonly hasDays: boolean;
}

/** Both in one zone, with everything that is missing filled in. */
function paired(left: TemporalValue, right: TemporalValue): Pair {
  const [a, b] = [momentOf(left), momentOf(right)];
  const hasDays = a.days !== undefined && b.days !== undefined;
  const zone = a.zone ?? b.zone;
  const shown = a.zone !== undefined && b.zone !== undefined ? inZone(b, a.zone) : b;
  // Without a day in both, both are on the same one: that of the zone's offset, where there is any.
  const day = a.days ?? b.days ?? 0;
  const filled = (moment: Moment): Required<Moment> => ({
    days: hasDays ? (moment.days ?? 0) : day,
    nanosOfDay: moment.nanosOfDay ?? 0,
    zone: moment.zone ?? zone,
  });
  return {from: filled(a), to: filled(hasDays ? shown : keptTime(b, shown)), hasDays};
}

/** Times of day alone are compared as they are shown in one zone. */
function keptTime(original: Moment, shown: Moment): Moment {
  return original.zone === undefined ? original : shown;
}

/** Order of two local moments. */
function order(left: Required<Moment>, right: Required<Moment>): number {
  return (left.days ?? 0) - (right.days ?? 0) || (left.nanosOfDay ?? 0) - (right.nanosOfDay ?? 0);
}

function monthsBetween({from, to}: Pair): number {
  const [a, b] = [civilFromDays(from.days ?? 0), civilFromDays(to.days ?? 0)];
  let months = b.year * 12 + b.month - (a.year * 12 + a.month);
  const moved = (): Required<Moment> => ({...from, days: movedMonths(from.days ?? 0, months)});
  if (months > 0 && order(moved(), to) > 0) months--;
  else if (months < 0 && order(moved(), to) < 0) months++;
  return months;
}

function daysBetween(from: Required<Moment>, to: Required<Moment>): number {
  const days = (to.days ?? 0) - (from.days ?? 0);
  const [a, b] = [from.nanosOfDay ?? 0, to.nanosOfDay ?? 0];
  if (days > 0 && b < a) return days - 1;
  return days < 0 && b > a ? days + 1 : days;
}

/** Seconds and nanoseconds between two moments, as instants where there is a zone. */
function elapsed(from: Required<Moment>, to: Required<Moment>): DurationValue {
  const days = (to.days ?? 0) - (from.days ?? 0);
  const nanos = (to.nanosOfDay ?? 0) - (from.nanosOfDay ?? 0);
  const seconds = days * secondsPerDay + offsetOf(from) - offsetOf(to);
  const carry = Math.floor(nanos / nanosPerSecond);
  return normalDuration(0, 0, seconds + carry, nanos - carry * nanosPerSecond);
}

function offsetOf({days, nanosOfDay, zone}: Required<Moment>): number {
  if (zone === undefined) return 0;
  if (zone.region === undefined) return zone.offsetSeconds;
  const local = (days ?? 0) * secondsPerDay + Math.floor((nanosOfDay ?? 0) / nanosPerSecond);
  return zoneAtLocal(zone.region, local, zone.offsetSeconds).offsetSeconds;
}

export function timeBetween(left: TemporalValue, right: TemporalValue): DurationValue {
  const pair = paired(left, right);
  if (!pair.hasDays) return elapsed(pair.from, pair.to);
  const months = monthsBetween(pair);
  const afterMonths = {...pair.from, days: movedMonths(pair.from.days ?? 0, months)};
  const days = daysBetween(afterMonths, pair.to);
  const rest = elapsed({...afterMonths, days: (afterMonths.days ?? 0) + days}, pair.to);
  return durationOf(months, days, rest.seconds, rest.nanos);
}

export function monthsOnly(left: TemporalValue, right: TemporalValue): DurationValue {
  const pair = paired(left, right);
  return durationOf(pair.hasDays ? monthsBetween(pair) : 0, 0, 0, 0);
}

export function daysOnly(left: TemporalValue, right: TemporalValue): DurationValue {
  const {from, to, hasDays} = paired(left, right);
  return durationOf(0, hasDays ? daysBetween(from, to) : 0, 0, 0);
}

export function secondsOnly(left: TemporalValue, right: TemporalValue): DurationValue {
  const {from, to} = paired(left, right);
  return elapsed(from, to);
}
