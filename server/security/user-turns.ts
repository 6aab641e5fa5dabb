/**
 * How requests of users share the turns of the event loop with those of others.
 *
 * The runtime hands out all requests that have come before it looks at connections again, so a user
 * with a thousand connections would let everybody wait for a thousand requests. When requests of
 * users have followed each other for two milliseconds the next ones wait for later turns, of which
 * each user has as many as the others (../platform/real/turns.ts says how much fits in one). Root
 * never waits, and nobody does as long as the thread has time to spare.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';
import {FairQueue} from './fair-queue.ts';

/** How long requests may follow each other before the next ones wait. */
const rowMsMax = 2;
/** The thread has looked at its connections where so much time lies between two of them. */
const gapMs = 1;

export class UserTurns {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #waiting = new FairQueue<() => void>();
  /** When the row of requests began that follow each other, and when the last one did. */
  #rowAt = Number.NEGATIVE_INFINITY;
  #lastAt = Number.NEGATIVE_INFINITY;

  constructor({clock, timers}: {readonly clock: Clock; readonly timers: Timers}) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /**
   * When a request of the user may be carried out; undefined: now.
   *
   * @param now - When it came, of the monotonic clock.
   */
  next(user: string, now: number): Promise<void> | undefined {
    if (this.#waiting.size === 0) {
      if (now - this.#lastAt > gapMs) this.#rowAt = now;
      this.#lastAt = now;
      if (now - this.#rowAt < rowMsMax) return undefined;
    }
    void this.#timers.yield().then(() => this.#letOne());
    return new Promise(resolve => this.#waiting.push(user, resolve));
  }

  /** Comes once for each that waits. */
  #letOne(): void {
    this.#waiting.shift()?.();
    if (this.#waiting.size > 0) return;
    this.#rowAt = this.#clock.monotonic();
    this.#lastAt = this.#rowAt;
  }
}
