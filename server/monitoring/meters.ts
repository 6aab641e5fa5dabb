/**
 * Rates of counters that only grow, for GET `/server`: how often a minute, lately and since
 * somebody asked last.
 *
 * Counts are looked at every ten seconds while the server runs; whatever else is told is computed
 * when it is asked for.
 */
import type {Clock, Timers} from '#server/platform/clock.ts';

/** One counter, and how fast it grew. */
export interface Meter {
  readonly count: number;
  readonly reqPerMinLastMinute: number;
  readonly reqPerMinSinceLastTime: number;
}

export interface MetersOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly timers: Pick<Timers, 'after'>;
  /** The counters now, by name. */
  readonly counts: () => ReadonlyMap<string, number>;
}

interface Look {
  /** Milliseconds of the monotonic clock. */
  readonly at: number;
  readonly counts: ReadonlyMap<string, number>;
}

const minuteMs = 60_000;
const lookEveryMs = 10_000;

export class Meters {
  readonly #options: MetersOptions;
  /** The oldest first; together they reach back a minute. */
  #looks: Look[];
  #asked: Look;
  #cancel: () => void;

  constructor(options: MetersOptions) {
    this.#options = options;
    this.#asked = this.#look();
    this.#looks = [this.#asked];
    this.#cancel = this.#later();
  }

  end(): void {
    this.#cancel();
  }

  /** Every counter; begins anew what is told since the last time. */
  read(): Readonly<Record<string, Meter>> {
    const now = this.#look();
    const asked = this.#asked;
    const [first = now] = this.#looks;
    this.#asked = now;
    return Object.fromEntries(
      Array.from(now.counts, ([name, count]) => [
        name,
        {
          count,
          reqPerMinLastMinute: rate(name, first, now),
          reqPerMinSinceLastTime: rate(name, asked, now),
        },
      ]),
    );
  }

  #look(): Look {
    return {at: this.#options.clock.monotonic(), counts: this.#options.counts()};
  }

  #later(): () => void {
    return this.#options.timers.after(lookEveryMs, () => {
      const now = this.#look();
      this.#looks = [...this.#looks.filter(({at}) => now.at - at <= minuteMs), now];
      this.#cancel = this.#later();
    });
  }
}

/** How often a minute, to two places. */
function rate(name: string, from: Look, to: Look): number {
  const ms = to.at - from.at;
  if (ms <= 0) return 0;
  const grown = (to.counts.get(name) ?? 0) - (from.counts.get(name) ?? 0);
  return Math.round((grown * minuteMs * 100) / ms) / 100;
}
