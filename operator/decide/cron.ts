/**
 * Cron expressions: five fields, or six with seconds in front; UTC.
 *
 * Fields hold `*`, `?`, numbers, names of months and weekdays, ranges, lists and steps; Sunday is 0
 * and 7. Where day of month and day of week are both restricted, either is enough.
 * Source: docs/backup.md (the server's own scheduler reads the same).
 */

export interface Cron {
  readonly seconds: ReadonlySet<number>;
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Both are restricted. */
  readonly isEitherDay: boolean;
}

const MONTHS = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ');
const WEEKDAYS = 'SUN MON TUE WED THU FRI SAT'.split(' ');
const DAY_MS = 86_400_000;
/** A leap day on a certain weekday comes after 28 years at the latest, or 40 around 2100. */
const DAYS_MAX = 41 * 366;

/** Undefined for what is no expression. */
export function parseCron(text: string): Cron | undefined {
  const parts = text.trim().toUpperCase().split(/\s+/);
  if (parts.length !== 5 && parts.length !== 6) return undefined;
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] =
    parts.length === 6 ? parts : ['0', ...parts];
  const seconds = readField(second, 0, 59);
  const minutes = readField(minute, 0, 59);
  const hours = readField(hour, 0, 23);
  const days = readField(day, 1, 31);
  const months = readField(named(month, MONTHS, 1), 1, 12);
  const given = readField(named(weekday, WEEKDAYS, 0), 0, 7);
  if (!seconds || !minutes || !hours || !days || !months || !given) return undefined;
  const weekdays = new Set([...given].map(one => one % 7));
  const isOpen = (field: string): boolean => /^[*?]$/.test(field);
  return {
    seconds,
    minutes,
    hours,
    days,
    months,
    weekdays,
    isEitherDay: !isOpen(day) && !isOpen(weekday),
  };
}

function named(field: string, words: readonly string[], from: number): string {
  return words.reduce((text, word, index) => text.replaceAll(word, String(index + from)), field);
}

function readField(text: string, min: number, max: number): ReadonlySet<number> | undefined {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const match = /^(?:([*?])|(\d{1,2})(?:-(\d{1,2}))?)(?:\/(\d{1,2}))?$/.exec(part);
    if (match === null) return undefined;
    const [, open, low, high, step] = match;
    const from = open === undefined ? Number(low) : min;
    const upTo = open !== undefined || (high === undefined && step !== undefined) ? max : from;
    const to = high === undefined ? upTo : Number(high);
    const by = step === undefined ? 1 : Number(step);
    if (from < min || to > max || from > to || by === 0) return undefined;
    for (let value = from; value <= to; value += by) values.add(value);
  }
  return values;
}

/** The first moment after `afterMs`; undefined when it never comes. */
export function nextTick(cron: Cron, afterMs: number): number | undefined {
  const startMs = (Math.floor(afterMs / 1_000) + 1) * 1_000;
  const firstDay = Math.floor(startMs / DAY_MS);
  for (let day = firstDay; day < firstDay + DAYS_MAX; day++) {
    if (!isDay(cron, day)) continue;
    const found = firstInDay(cron, day === firstDay ? startMs - day * DAY_MS : 0);
    if (found !== undefined) return day * DAY_MS + found;
  }
  return undefined;
}

function isDay({months, days, weekdays, isEitherDay}: Cron, day: number): boolean {
  const {month, dayOfMonth} = dateOf(day);
  if (!months.has(month)) return false;
  // 1970-01-01 was a Thursday.
  const isWeekday = weekdays.has((day + 4) % 7);
  const isDayOfMonth = days.has(dayOfMonth);
  return isEitherDay ? isWeekday || isDayOfMonth : isWeekday && isDayOfMonth;
}

/** Civil date of a day since 1970-01-01 (Hinnant's algorithm): a pure folder knows no `Date`. */
export function dateOf(day: number): {
  readonly year: number;
  readonly month: number;
  readonly dayOfMonth: number;
} {
  const shifted = day + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear =
    dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const part = Math.floor((5 * dayOfYear + 2) / 153);
  const month = part < 10 ? part + 3 : part - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return {year, month, dayOfMonth: dayOfYear - Math.floor((153 * part + 2) / 5) + 1};
}

function firstInDay({hours, minutes, seconds}: Cron, fromMs: number): number | undefined {
  const sorted = (set: ReadonlySet<number>) => [...set].sort((a, b) => a - b);
  for (const hour of sorted(hours)) {
    if ((hour + 1) * 3_600_000 <= fromMs) continue;
    for (const minute of sorted(minutes)) {
      if (hour * 3_600_000 + (minute + 1) * 60_000 <= fromMs) continue;
      for (const second of sorted(seconds)) {
        const at = hour * 3_600_000 + minute * 60_000 + second * 1_000;
        if (at >= fromMs) return at;
      }
    }
  }
  return undefined;
}
