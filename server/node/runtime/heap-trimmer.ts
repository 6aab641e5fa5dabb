/**
 * Gives memory back to the system after a burst: one request of many megabytes must not leave the
 * process large for ever.
 *
 * V8 collects its old objects, and frees the buffers that they own, only when more of them are
 * made; under ordinary load that can take hours. So every second what they take is compared with
 * what was left by the last collection; where it has grown by more than a step, V8 is made to begin
 * one, and once more a little later, since a burst is often not over at the first time. What grows
 * again and again is what the load needs, and is collected less and less often.
 *
 * V8 collects in small steps between other work, and keeps what it has compiled. A collection in
 * one go stops the process meanwhile, gives back the nursery too, and loses the code of most of the
 * way of a request: all that was compiled for objects of which there are none at that moment (the
 * next thousands of requests take twice as long). So it is for a server that has had little to do
 * for some time, and more and more seldom.
 *
 * What the C library keeps free is given back where the whole process has grown, and once when the
 * server has fallen quiet. What a quiet server does by itself, such as the linking of vectors,
 * makes it larger too: then V8 is made to begin a collection, and both are given back.
 *
 * Where the machine (or the container) has little left, what is kept only to answer faster goes
 * first; where the container has next to nothing left, both are given back at every look.
 * Source: docs/design/0028-giving-memory-back.md.
 */
import {getHeapSpaceStatistics, setFlagsFromString} from 'node:v8';
import {runInNewContext} from 'node:vm';
import type {Clock, Timers} from '#server/platform/clock.ts';
import {isNearLimit, memoryLeft, memoryLimit} from '#server/platform/real/process-memory.ts';
import {processorWaitMs} from '#server/platform/real/processor-wait.ts';

const lookMs = 1_000;
const growthBytes = 48 * 1024 * 1024;

/** The waits between two times that something is given back; each that was needed doubles it. */
interface Waits {
  /** Less growth is let be. */
  readonly growthBytes: number;
  readonly minMs: number;
  readonly maxMs: number;
  /** A second collection follows the first one after this time in any case. */
  readonly secondMs: number;
}

const stepWaits: Waits = {growthBytes, minMs: 5_000, maxMs: 30_000, secondMs: 15_000};
const wholeWaits: Waits = {
  growthBytes,
  minMs: 20_000,
  maxMs: 640_000,
  secondMs: Number.POSITIVE_INFINITY,
};
/** Work that a server does by itself leaves less behind than a burst of requests. */
const restWaits: Waits = {...wholeWaits, growthBytes: 8 * 1024 * 1024};
/** A process that computes, or would, for less than this share is quiet, after so long. */
const quietShare = 0.4;
const quietMs = 15_000;
/** V8 begins a collection when buffers have grown by 64 MB; memory that is not touched is free. */
const beginningBytes = 65 * 1024 * 1024;

/** Nothing is kept that can be made again where less is left for all processes. */
const availableBytesMin = 192 * 1024 * 1024;

export interface MemoryKeeperOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Gives back what the C library keeps free. */
  readonly trim: () => void;
  /** Lets go of what is kept only to answer faster. */
  readonly shed: () => void;
  /** The share of the time since the last call for which the process computed, or would have. */
  readonly busyShare: () => number;
}

/** How much memory grew since some of it was last given back. */
class Growth {
  readonly #waits: Waits;
  #floor: number;
  #waitMs: number;
  #givenAt = Number.NEGATIVE_INFINITY;
  #secondIsDue = false;

  constructor(bytes: number, waits: Waits) {
    this.#waits = waits;
    this.#floor = bytes;
    this.#waitMs = waits.minMs;
  }

  /** Whether some of it is to be given back now; then `given` is called next. */
  isDue(bytes: number, now: number): boolean {
    const {growthBytes: most, minMs, maxMs, secondMs} = this.#waits;
    const sinceMs = now - this.#givenAt;
    if (bytes > this.#floor + most) {
      if (sinceMs < this.#waitMs) return false;
      this.#secondIsDue = true;
      this.#waitMs = Math.min(this.#waitMs * 2, maxMs);
      return true;
    }
    if (sinceMs >= 2 * maxMs) this.#waitMs = minMs;
    if (!this.#secondIsDue || sinceMs < secondMs) return false;
    this.#secondIsDue = false;
    return true;
  }

  /** Reports how much memory is left. */
  given(bytes: number, now: number): void {
    this.#floor = bytes;
    this.#givenAt = now;
  }
}

/** Looks until the returned function is called. */
export function keepMemorySmall(options: MemoryKeeperOptions): () => void {
  const {clock, timers, trim, shed, busyShare} = options;
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: object) => void;
  const first = bytesOfV8();
  const old = new Growth(first.old, stepWaits);
  const whole = new Growth(first.whole, wholeWaits);
  const resident = new Growth(process.memoryUsage.rss(), stepWaits);
  const atRest = new Growth(process.memoryUsage.rss(), restWaits);
  let quietSince = clock.monotonic();
  /** One was begun at the last look, and is over by now. */
  let hasCollected = false;
  let isTrimmed = false;
  let cancel = timers.after(lookMs, look);
  function look(): void {
    const now = clock.monotonic();
    if (memoryLeft() < Math.min(availableBytesMin, memoryLimit() / 8)) shed();
    const isNear = isNearLimit();
    if (busyShare() > quietShare) [quietSince, isTrimmed] = [now, false];
    const isQuiet = now - quietSince >= quietMs;
    let bytes = bytesOfV8();
    if (isQuiet && whole.isDue(bytes.whole, now)) {
      collect({type: 'major', execution: 'sync', flavor: 'last-resort'});
      bytes = bytesOfV8();
      whole.given(bytes.whole, now);
      hasCollected = true;
    }
    if (hasCollected) old.given(bytes.old, now);
    const fallsQuiet = isQuiet && !isTrimmed;
    if (resident.isDue(process.memoryUsage.rss(), now) || hasCollected || fallsQuiet || isNear) {
      trim();
      isTrimmed = isQuiet;
      resident.given(process.memoryUsage.rss(), now);
      if (isQuiet) atRest.given(process.memoryUsage.rss(), now);
    }
    const restsLarger = isQuiet && isTrimmed && atRest.isDue(process.memoryUsage.rss(), now);
    hasCollected = old.isDue(bytes.old, now) || restsLarger || isNear;
    if (hasCollected) beginCollection();
    cancel = timers.after(lookMs, look);
  }
  return () => cancel();
}

/**
 * Measures all threads of the process together, in processors: a long read on a thread keeps the
 * processors from a collection, which then takes a second in place of a tenth of it. The time that
 * the event loop does not wait would be another thing: for a single client the network thread waits
 * for the disk by itself (docs/design/0035).
 *
 * Where the network thread is kept from a processor, it is busy too: a container that may use a
 * quarter of one would otherwise be quiet under the most that it can carry. `waitedMs`: how long it
 * was, since its start.
 */
export function processBusyShare(clock: Clock, waitedMs = processorWaitMs): () => number {
  const take = (): {readonly usedMs: number; readonly at: number} => {
    const {user, system} = process.cpuUsage();
    return {usedMs: (user + system) / 1_000 + waitedMs(), at: clock.monotonic()};
  };
  let before = take();
  return () => {
    const now = take();
    const share = (now.usedMs - before.usedMs) / (now.at - before.at);
    before = now;
    return share;
  };
}

function beginCollection(): void {
  try {
    new ArrayBuffer(beginningBytes);
  } catch (error) {
    // Where addresses are scarce; V8 has collected what it could then.
    if (!(error instanceof RangeError)) throw error;
  }
}

/** What its heap takes with the buffers that its objects own; `old` is that without the nursery. */
function bytesOfV8(): {readonly whole: number; readonly old: number} {
  const nursery = getHeapSpaceStatistics().find(({space_name: name}) => name === 'new_space');
  const {heapTotal, external} = process.memoryUsage();
  const whole = heapTotal + external;
  return {whole, old: whole - (nursery?.space_size ?? 0)};
}
