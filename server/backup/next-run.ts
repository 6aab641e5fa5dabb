/**
 * When a database is backed up next: a pure function of its schedule and of the run before.
 *
 * A run that was missed, because the server was down or busy, is not made up for. A moment that
 * lies outside the time window moves to the window's next opening where the schedule is an
 * interval, which otherwise might never meet it; a cron expression names its moments itself, so
 * those outside the window are passed over.
 */
import type {Schedule} from './backup-document.ts';
import {nextCron} from './cron.ts';
import {isInside, type TimeWindow} from './time-window.ts';

const minuteMs = 60_000;
/** A window that an expression has not met in so many openings is one that it never meets. */
const windowsMax = 100;

/**
 * @param before - When the last run was due, or the schedule began, in milliseconds since 1970.
 * @param now - Everything up to here is over.
 * @returns Undefined when the expression never falls into its window.
 */
export function nextRun(
  {trigger, window}: Schedule,
  {
    before,
    now,
    timeZone,
  }: {readonly before: number; readonly now: number; readonly timeZone: string},
): number | undefined {
  if (trigger.kind === 'frequency') {
    const due = nextInterval(before, now, trigger.minutes * minuteMs);
    if (window === undefined || isOpen(window, due, timeZone)) return due;
    return openingAfter(window, due, timeZone);
  }
  let due = nextCron(trigger.expression, Math.max(before, now), timeZone);
  if (window === undefined) return due;
  for (let tries = 0; tries < windowsMax; tries++) {
    if (isOpen(window, due, timeZone)) return due;
    // A millisecond before the opening, so that a moment right there is found.
    const opening = openingAfter(window, due, timeZone);
    due = nextCron(trigger.expression, opening - 1, timeZone);
  }
  return undefined;
}

/** The first whole number of intervals behind `before` that is still to come. */
function nextInterval(before: number, now: number, interval: number): number {
  const missed = Math.max(0, Math.floor((now - before) / interval));
  return before + (missed + 1) * interval;
}

function isOpen(window: TimeWindow, at: number, timeZone: string): boolean {
  return isInside(window, minuteAt(at, timeZone));
}

function openingAfter({start}: TimeWindow, after: number, timeZone: string): number {
  return nextCron(`0 ${start % 60} ${Math.floor(start / 60)} * * *`, after, timeZone);
}

/** Minutes since midnight on the wall of the time zone. */
function minuteAt(at: number, timeZone: string): number {
  const [hour = '0', minute = '0'] = clockOf(timeZone).format(at).split(':');
  return Number(hour) * 60 + Number(minute);
}

const clocks = new Map<string, Intl.DateTimeFormat>();

/** A formatter costs many times as much to make as to use. */
function clockOf(timeZone: string): Intl.DateTimeFormat {
  const known = clocks.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  clocks.set(timeZone, made);
  return made;
}
