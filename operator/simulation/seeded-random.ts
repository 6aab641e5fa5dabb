/** Chance of a simulated world, from a seed (xorshift128 over a splitmix start). */
import type {Random} from '#server/platform/clock.ts';

export class SeededRandom implements Random {
  readonly #state: Uint32Array;

  constructor(seed: number) {
    let word = seed >>> 0;
    this.#state = Uint32Array.from({length: 4}, () => {
      word = (word + 0x9e3779b9) >>> 0;
      let mixed = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
      mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
      return (mixed ^ (mixed >>> 16)) >>> 0;
    });
  }

  u32(): number {
    const [a = 1, b = 0, c = 0, d = 0] = this.#state;
    const mixed = (a ^ (a << 11)) >>> 0;
    const next = (d ^ (d >>> 19) ^ mixed ^ (mixed >>> 8)) >>> 0;
    this.#state.set([b, c, d, next]);
    return next;
  }

  fill(target: Uint8Array): void {
    for (let index = 0; index < target.length; index++) target[index] = this.u32() & 255;
  }

  /** A number from 0 to `count` - 1. */
  below(count: number): number {
    return this.u32() % count;
  }

  chance(probability: number): boolean {
    return this.u32() / 2 ** 32 < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }
}
