/**
 * Gives memory back to the system after a burst: one request of 100 MB must not leave the process
 * large for ever.
 *
 * V8 collects its old objects, and frees the buffers that they own, only when more of them are
 * made; under ordinary load that can take hours. So every second the resident memory is compared
 * with what it was after the last collection; where it has grown by more than a step, everything
 * is collected, and once more a little later, since a burst is often not over at the first time. A
 * collection stops the process for some 50 ms: what grows again and again is what the load needs,
 * and is collected less and less often, every 30 s at last. The way that gives most pages back
 * takes twice as long, so it waits until the thread has little to do; a busy thread is left alone
 * for some time altogether.
 *
 * Where the machine (or the container) has little left, what is kept only to answer faster goes
 * first.
 */
import {setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import type {Clock, Timers} from '#server/platform/clock.ts';

const lookMs = 1_000;
const secondLookMs = 15_000;
const growthBytes = 48 * 1024 * 1024;
const waitMsMin = 5_000;
const waitMsMax = 30_000;
/** Of its time, from which on the main thread is busy. */
const busyShare = 0.5;
/** A busy thread allocates so much that V8 collects by itself, in small steps: it may take long. */
const busyWaitMs = 25_000;

/** With less left for all processes, nothing is kept that can be made again. */
const availableBytesMin = 192 * 1024 * 1024;

export interface MemoryKeeperOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Gives back what the C library keeps free. */
  readonly trim: () => void;
  /** Lets go of what is kept only to answer faster. */
  readonly shed: () => void;
}

/** Looks until the returned function is called. */
export function keepMemorySmall(options: MemoryKeeperOptions): () => void {
  const {clock, timers, trim, shed} = options;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  let floor = process.memoryUsage.rss();
  let waitMs = waitMsMin;
  let collectedAt = Number.NEGATIVE_INFINITY;
  let secondIsDue = false;
  let load = performance.eventLoopUtilization();
  /** Since when there is something to collect. */
  let grownAt: number | undefined;
  let cancel = timers.after(lookMs, look);
  function look(): void {
    const now = clock.monotonic();
    if (process.availableMemory() < availableBytesMin) shed();
    const hasGrown = process.memoryUsage.rss() > floor + growthBytes;
    if (hasGrown) grownAt ??= now;
    else grownAt = undefined;
    const before = load;
    load = performance.eventLoopUtilization();
    const isBusy = performance.eventLoopUtilization(load, before).utilization > busyShare;
    const sinceMs = now - collectedAt;
    const isDue = hasGrown ? sinceMs >= waitMs : secondIsDue && sinceMs >= secondLookMs;
    const leavesItToV8 = isBusy && now - (grownAt ?? now) < busyWaitMs;
    if (isDue && !leavesItToV8) {
      collect({type: 'major', execution: 'sync', flavor: isBusy ? 'regular' : 'last-resort'});
      trim();
      floor = process.memoryUsage.rss();
      secondIsDue = hasGrown || isBusy;
      waitMs = hasGrown ? Math.min(waitMs * 2, waitMsMax) : waitMsMin;
      collectedAt = clock.monotonic();
    }
    cancel = timers.after(lookMs, look);
  }
  return () => cancel();
}
