/**
 * A clock that goes on by a step whenever it is read. With a step as long as a slice, every look at
 * the clock ends a slice: how often a statement gives the thread away is then how often it looks,
 * which depends on its work alone and on no machine.
 */
import type {Clock} from '#server/platform/clock.ts';

export class SteppingClock implements Clock {
  /** Milliseconds by which each reading is later than the one before. */
  stepMs = 0;
  #now = 0;

  now(): number {
    return Date.UTC(2026, 0, 1) + Math.floor(this.#now);
  }

  monotonic(): number {
    this.#now += this.stepMs;
    return this.#now;
  }
}
