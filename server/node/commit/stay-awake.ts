/**
 * Behind a lone client's commit the network thread looks for the next request for a moment instead
 * of going to sleep at once: a client that waits for each answer sends it soon, and an idle
 * processor that an interrupt wakes costs about as much as the request (25 us on a virtual one),
 * with cold caches on top. Where nothing comes in that time, it looks less and less often.
 * Source: docs/design/0035-less-for-each-small-write.md.
 */
import type {Clock} from '#server/platform/clock.ts';

/** Longer than a client in the same machine needs, and than a processor needs to wake up. */
const awakeMs = 0.2;
/** Commits behind which nobody looks, at most. */
const passedOverMax = 1_024;

export class StayAwake {
  readonly #clock: Clock;
  readonly #nextTurn: (look: () => void) => void;
  #passedOver = 0;
  /** Of which so many are left. */
  #left = 0;

  constructor(clock: Clock, nextTurn: (look: () => void) => void = setImmediate) {
    this.#clock = clock;
    this.#nextTurn = nextTurn;
  }

  /** A commit was answered. `hasCome`: whether the next request has. */
  waitFor(hasCome: () => boolean): void {
    if (this.#left > 0) {
      this.#left -= 1;
      return;
    }
    const until = this.#clock.monotonic() + awakeMs;
    const look = (): void => {
      if (hasCome()) this.#passedOver = 0;
      else if (this.#clock.monotonic() < until) this.#nextTurn(look);
      else {
        this.#passedOver = Math.min(passedOverMax, 2 * this.#passedOver + 1);
        this.#left = this.#passedOver;
      }
    };
    this.#nextTurn(look);
  }
}
