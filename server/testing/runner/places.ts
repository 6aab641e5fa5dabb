/**
 * Decides how many test files run at once. Some fill a processor; some wait for disks and clocks
 * most of their time. There is a place more at each look at a machine that has a processor to
 * spare, whoever else keeps it busy, and one less, down to the least number, where it has none.
 */
import {cpus} from 'node:os';
import {performance} from 'node:perf_hooks';
import type {Timers} from '#server/platform/clock.ts';
import {createTimers} from '#server/platform/real/clock.ts';

export interface PlacesOptions {
  readonly least: number;
  readonly most: number;
  /** How many processors had nothing to do since it was asked last. */
  readonly idle?: () => number;
  readonly timers?: Timers;
}

const lookEveryMs = 500;
/** Idle processors: from the first number on there is a place more, below the other one less. */
const idleForMore = 0.35;
const idleForLess = 0.1;

/** Does all that `next` hands out, several at once, and settles when the last is done. */
export async function inPlaces(
  next: () => Promise<void> | undefined,
  {least, most, idle = idleProcessors(), timers = createTimers()}: PlacesOptions,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let places = least;
  const fill = (): void => {
    while (running.size < places) {
      const work = next();
      if (work === undefined) return;
      const one = work.finally(() => running.delete(one));
      running.add(one);
    }
  };
  let isTimeToLook = false;
  let stopPause = (): void => {};
  const pause = (): Promise<void> =>
    new Promise(resolve => {
      stopPause = timers.after(lookEveryMs, () => {
        isTimeToLook = true;
        resolve();
      });
    });
  let pausing = pause();
  fill();
  while (running.size > 0) {
    await Promise.race([...running, pausing]);
    if (isTimeToLook) {
      isTimeToLook = false;
      pausing = pause();
      const spare = idle();
      if (spare >= idleForMore) places = Math.min(most, places + 1);
      else if (spare < idleForLess) places = Math.max(least, places - 1);
    }
    fill();
  }
  stopPause();
}

function idleProcessors(): () => number {
  const busy = (): number => {
    const times = cpus().map(({times: {user, nice, sys, irq}}) => user + nice + sys + irq);
    return times.reduce((sum, one) => sum + one, 0);
  };
  let last = {at: performance.now(), busy: busy()};
  return () => {
    const now = {at: performance.now(), busy: busy()};
    const idle = cpus().length - (now.busy - last.busy) / (now.at - last.at);
    last = now;
    return idle;
  };
}
