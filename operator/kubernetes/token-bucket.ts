/**
 * A token bucket: `burst` at once, then `perSecond`. Taking never fails; it says how long to wait.
 *
 * Source: client-go's BucketRateLimiter.
 */
import type {Clock} from '#server/platform/clock.ts';

export class TokenBucket {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #at: number;

  constructor(
    clock: Pick<Clock, 'monotonic'>,
    {perSecond, burst}: {readonly perSecond: number; readonly burst: number},
  ) {
    this.#clock = clock;
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
    this.#at = clock.monotonic();
  }

  /** Milliseconds until the token that was taken is there; 0: at once. */
  take(): number {
    const now = this.#clock.monotonic();
    const gained = ((now - this.#at) / 1_000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained) - 1;
    this.#at = now;
    return this.#tokens >= 0 ? 0 : (-this.#tokens / this.#perSecond) * 1_000;
  }
}
