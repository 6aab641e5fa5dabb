/**
 * The time for which this process could listen: what consensus counts silence in.
 *
 * A process that was stopped, or got no processor, heard nobody meanwhile, which says nothing about
 * the others. Between two looks this clock therefore goes on by `stepMaxMs` at most: a leader that
 * wakes up first asks its followers instead of giving up, a follower does not campaign against a
 * leader whose messages wait in its sockets. Time never decides what is true (note 10), so a clock
 * that is slow costs nothing but patience.
 */
import type {Clock} from '#server/platform/clock.ts';

export class ElectionClock {
  readonly #clock: Clock;
  readonly #stepMaxMs: number;
  #lookedAt: number;
  #now = 0;

  constructor(clock: Clock, stepMaxMs: number) {
    this.#clock = clock;
    this.#stepMaxMs = stepMaxMs;
    this.#lookedAt = clock.monotonic();
  }

  /** Milliseconds; never goes back. */
  now(): number {
    const at = this.#clock.monotonic();
    this.#now += Math.min(Math.max(0, at - this.#lookedAt), this.#stepMaxMs);
    this.#lookedAt = at;
    return this.#now;
  }
}
