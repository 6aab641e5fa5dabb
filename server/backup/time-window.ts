/**
 * The hours of a day in which backups may begin: two times of the clock on the wall, both included,
 * which may lie on either side of midnight.
 */

/** Both ends are minutes since midnight. A `start` behind `end` reaches over midnight. */
export interface TimeWindow {
  readonly start: number;
  readonly end: number;
}

/** Parses `HH:mm`; undefined when it is none. */
export function minuteOfDay(time: string): number | undefined {
  const [, hour, minute] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(time) ?? [];
  return hour === undefined || minute === undefined
    ? undefined
    : Number(hour) * 60 + Number(minute);
}

/** @param minute - Since midnight, on the clock of the time zone that the window is meant in. */
export function isInside({start, end}: TimeWindow, minute: number): boolean {
  return start <= end ? minute >= start && minute <= end : minute >= start || minute <= end;
}
