/**
 * Durations in buckets. Adding one is a search through sixteen bounds and three additions in
 * memory that is there already.
 */

/** Upper bounds of the buckets; an answer from memory takes a tenth of a millisecond. */
export const boundsSeconds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
const boundsMs = Float64Array.from(boundsSeconds, seconds => seconds * 1_000);

export class DurationHistogram {
  /** How many were at most as long as the bound, and longer than the one before it. */
  readonly #counts = new Float64Array(boundsMs.length + 1);
  #sumMs = 0;
  #maxMs = 0;

  add(ms: number): void {
    let at = 0;
    while (at < boundsMs.length && ms > (boundsMs[at] as number)) at++;
    (this.#counts[at] as number)++;
    this.#sumMs += ms;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** The count of each bucket, the one without a bound last; not summed up. */
  get counts(): number[] {
    return [...this.#counts];
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  get sumSeconds(): number {
    return seconds(this.#sumMs);
  }

  get maxSeconds(): number {
    return seconds(this.#maxMs);
  }
}

function seconds(ms: number): number {
  return Number((ms / 1_000).toFixed(6));
}
