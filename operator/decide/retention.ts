/**
 * Which archives of a database go: those beyond a number, or those that no tier keeps.
 *
 * Tiers keep the oldest archive of each of the latest hours, days, ISO weeks, months and years in
 * which there are archives. The newest archive is always kept, and so is whatever has a name that
 * says no time: it is somebody else's.
 * Source: docs/backup.md.
 */
import type {ScheduleSpec} from '#operator/api/svc-backup.ts';
import {dateOf} from './cron.ts';

interface Dated {
  readonly name: string;
  readonly ms: number;
}

const NAME = /-backup-(\d{4})(\d{2})(\d{2})-(\d{2})(\d{2})(\d{2})(\d{3})?\.zip$/;
const DAY_MS = 86_400_000;

export function expired(
  names: readonly string[],
  {maxFiles, tiered}: ScheduleSpec['retention'],
): readonly string[] {
  const dated = names.flatMap(datedOf).toSorted((a, b) => b.ms - a.ms);
  if (tiered === undefined) return dated.slice(maxFiles ?? 10).map(({name}) => name);
  const kept = new Set(dated.slice(0, 1).map(({name}) => name));
  const tiers: readonly (readonly [number, (ms: number) => string])[] = [
    [tiered.hourly, ms => String(Math.floor(ms / 3_600_000))],
    [tiered.daily, ms => String(Math.floor(ms / DAY_MS))],
    // Weeks begin on Monday; 1970-01-05 was one.
    [tiered.weekly, ms => String(Math.floor((Math.floor(ms / DAY_MS) - 4) / 7))],
    [tiered.monthly, ms => monthOf(ms)],
    [tiered.yearly, ms => monthOf(ms).slice(0, 4)],
  ];
  for (const [count, bucketOf] of tiers) {
    // From the newest to the oldest: what comes last in a bucket is its oldest.
    const oldest = new Map<string, string>();
    for (const {name, ms} of dated) oldest.set(bucketOf(ms), name);
    for (const name of [...oldest.values()].slice(0, count)) kept.add(name);
  }
  return dated.filter(({name}) => !kept.has(name)).map(({name}) => name);
}

function monthOf(ms: number): string {
  const {year, month} = dateOf(Math.floor(ms / DAY_MS));
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}`;
}

/** The time in the name, which the server writes in UTC. */
function datedOf(name: string): readonly Dated[] {
  const [, ...parts] = NAME.exec(name) ?? [];
  if (parts.length === 0) return [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, milli = 0] = parts.map(
    part => Number(part ?? 0),
  );
  const days = daysSince1970(year, month, day);
  const ms = days * DAY_MS + hour * 3_600_000 + minute * 60_000 + second * 1_000 + milli;
  return [{name, ms}];
}

function daysSince1970(year: number, month: number, day: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra =
    yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}
