/**
 * Seeded chance for the generated network: the same seed gives the same choices on every machine.
 *
 * Only sums, products, quotients and square roots are used, which every processor rounds alike
 * (IEEE 754); `Math.pow` and its kin may differ from one build of the runtime to the next.
 */
export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  /** A number from 0 up to before 1 (mulberry32). */
  share(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 up to before `bound`. */
  below(bound: number): number {
    return Math.floor(this.share() * bound);
  }

  /** True in `percent` of a hundred draws. */
  in100(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** One of `items`, the first ones by far the most often. */
  pickEarly<T>(items: readonly T[]): T {
    const share = this.share();
    const item = items[Math.floor(share * share * share * items.length)];
    if (item === undefined) throw new Error('there is nothing to pick from');
    return item;
  }

  /** Up to `count` different ones of `items`, in the order of the draws. */
  some<T>(items: readonly T[], count: number): readonly T[] {
    const left = [...items];
    const chosen: T[] = [];
    while (chosen.length < count && left.length > 0) {
      chosen.push(...left.splice(this.below(left.length), 1));
    }
    return chosen;
  }

  /**
   * A whole number from `least` to `most` whose density falls with the third power: twice `least`
   * on average, and now and then many times that.
   */
  powerLaw(least: number, most: number): number {
    return Math.min(most, Math.floor(least / Math.sqrt(1 - this.share())));
  }

  /** A point in time from `start` up to `end`, mostly soon; `start` itself when that is later. */
  soonAfter(start: number, end: number): number {
    const share = this.share();
    return start + Math.floor(share * share * share * Math.max(0, end - start));
  }
}
