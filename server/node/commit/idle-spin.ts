/**
 * While a single client commits quickly, the processor is kept from going to sleep: for every
 * commit it would do so twice, for the disk and for the client, and wake up by an interrupt, which
 * takes a virtual processor as long as the request itself, with cold caches on top. Where a commit
 * takes longer, be it the disk's or the client's time, that counts for little, and nothing is kept
 * awake. Source: docs/design/0035-less-for-each-small-write.md.
 */
import type {Clock} from '#server/platform/clock.ts';

/** The time from one commit to the next one, of a client for which it counts. */
const quickMs = 0.5;

/** Keeps the processor that this thread runs on awake for so many microseconds. */
export type SpinFor = (micros: number) => void;

export class IdleSpin {
  readonly #clock: Clock;
  readonly #keepAwake: SpinFor;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, spinFor: SpinFor) {
    this.#clock = clock;
    this.#keepAwake = spinFor;
  }

  /** A single client commits. */
  commits(): void {
    const now = this.#clock.monotonic();
    if (now - this.#lastMs < quickMs) this.#keepAwake(quickMs * 1_000);
    this.#lastMs = now;
  }
}
