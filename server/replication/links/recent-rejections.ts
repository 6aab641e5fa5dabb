/**
 * Who was turned away lately, for the alerts of the cluster: whoever dials on for hours is one line
 * with a count, and a flood of others pushes the oldest out.
 */
import type {Clock} from '#server/platform/clock.ts';

export interface Rejected {
  readonly remoteAddress: string;
  readonly reason: string;
  readonly times: number;
  /** Monotonic time of the last one. */
  readonly lastAt: number;
}

const rememberedMax = 20;
const rememberedMs = 10 * 60_000;

export class RecentRejections {
  readonly #clock: Clock;
  /** The latest come last. */
  readonly #rejected = new Map<string, Rejected>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(remoteAddress: string, reason: string): void {
    const key = `${remoteAddress} ${reason}`;
    const times = (this.#rejected.get(key)?.times ?? 0) + 1;
    this.#rejected.delete(key);
    this.#rejected.set(key, {remoteAddress, reason, times, lastAt: this.#clock.monotonic()});
    const [oldest] = this.#rejected.keys();
    if (this.#rejected.size > rememberedMax && oldest !== undefined) this.#rejected.delete(oldest);
  }

  /** Lists the rejections of the last ten minutes, the latest first. */
  list(): readonly Rejected[] {
    const since = this.#clock.monotonic() - rememberedMs;
    return [...this.#rejected.values()].filter(({lastAt}) => lastAt > since).toReversed();
  }
}
