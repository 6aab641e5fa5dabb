/**
 * Time zones by name or offset: how far local time is ahead of UTC, by the platform's tables.
 */
import {parseOffset} from '#server/model/temporal.ts';
import {DateTimeValue} from '#server/model/value.ts';
import {refuse} from './arguments.ts';

/** Seconds east of UTC in the zone at that instant. */
export function zoneOffset(zone: string, epochSeconds: number): number {
  if (/^(?:UTC|GMT|Z|Etc\/UTC)$/i.test(zone)) return 0;
  const plain = /^(?:UTC|GMT)?([+-]\d\d(?::?\d\d)?)$/.exec(zone);
  const offset = plain === null ? undefined : parseOffset(plain[1]);
  return offset ?? regionOffset(zone, epochSeconds);
}

function regionOffset(zone: string, epochSeconds: number): number {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
  } catch {
    return refuse(`there is no time zone '${zone.slice(0, 60)}'`);
  }
  // The platform's dates reach 275,000 years around 1970.
  if (Math.abs(epochSeconds) > 8.64e12) return 0;
  const parts = new Map(
    format.formatToParts(epochSeconds * 1000).map(part => [part.type, Number(part.value)]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  const local = Date.UTC(
    part('year'),
    part('month') - 1,
    part('day'),
    part('hour'),
    part('minute'),
    part('second'),
  );
  return Math.round(local / 1000) - Math.floor(epochSeconds);
}

/** A text without an offset was read as UTC: the instant if it meant the zone's local time. */
export function fromLocal(value: DateTimeValue, zone: string): DateTimeValue {
  const guess = value.epochSeconds - zoneOffset(zone, value.epochSeconds);
  const seconds = value.epochSeconds - zoneOffset(zone, guess);
  return new DateTimeValue(seconds, value.nanos, value.precision);
}

/** The same instant, shown in the zone's local time. */
export function shownIn(value: DateTimeValue, zone: string): DateTimeValue {
  const offsetSeconds = zoneOffset(zone, value.epochSeconds);
  return new DateTimeValue(value.epochSeconds, value.nanos, value.precision, {
    zone: {offsetSeconds},
  });
}
