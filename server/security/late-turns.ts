/**
 * When refusals that come late are told: each after its delay, and one behind the other.
 *
 * Who is refused together asks together again, at every delay's end, and the answers to all of
 * them take the thread that everybody's requests need in one piece. Behind each other they take it
 * in pieces of one answer, and never more than a part of it, however many ask. They are kept apart
 * by moments alone: nothing waits but the timers.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';

/** Between two refusals: an answer takes a small part of it. */
const gapMs = 5;

export class LateTurns {
  readonly #clock: Clock;
  readonly #timers: Timers;
  #last = Number.NEGATIVE_INFINITY;

  constructor({clock, timers}: {readonly clock: Clock; readonly timers: Timers}) {
    this.#clock = clock;
    this.#timers = timers;
  }

  /** Resolves after the delay, when it is the caller's turn. */
  after(delayMs: number): Promise<void> {
    const now = this.#clock.monotonic();
    this.#last = Math.max(now + delayMs, this.#last + gapMs);
    return new Promise(resolve => void this.#timers.after(this.#last - now, resolve));
  }
}
