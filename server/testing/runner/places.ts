/**
 * Decides how many test files run at once. Some fill a processor; some wait for disks and clocks
 * most of their time. One more is begun whenever the machine has a processor to spare, whoever
 * else keeps it busy; while it has none, only the least number run.
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
/** Less is what a processor spares that waits for the disk of a file that fills it. */
const idleToBegin = 0.6;

/** Does all that `next` hands out, several at once, and settles when the last is done. */
export async function inPlaces(
  next: () => Promise<void> | undefined,
  {least, most, idle = idleProcessors(), timers = createTimers()}: PlacesOptions,
): Promise<void> {
  const running = new Set<Promise<void>>();
  const fill = (places: number): void => {
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
  fill(least);
  while (running.size > 0) {
    await Promise.race([...running, pausing]);
    const hasSpare = isTimeToLook && idle() >= idleToBegin && running.size < most;
    fill(hasSpare ? Math.max(least, running.size + 1) : least);
    if (!isTimeToLook) continue;
    isTimeToLook = false;
    pausing = pause();
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
