/** Chance from a seed: the same seed gives the same numbers, on every machine (sfc32). */
import type {Random} from '#server/platform/clock.ts';

export interface SeededRandom extends Random {
  /** A whole number from 0 to `limit` - 1. */
  below(limit: number): number;
  /** True in `percent` of a hundred cases. */
  chance(percent: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

export function createSeededRandom(seed: number): SeededRandom {
  let a = seed >>> 0;
  let b = (seed ^ 0x9e3779b9) >>> 0;
  let c = 0xdeadbeef;
  let counter = 1;
  const u32 = () => {
    const sum = (((a + b) >>> 0) + counter) >>> 0;
    counter = (counter + 1) >>> 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) >>> 0;
    c = ((c << 21) | (c >>> 11)) >>> 0;
    c = (c + sum) >>> 0;
    return sum;
  };
  for (let round = 0; round < 16; round++) u32();
  const below = (limit: number) => u32() % Math.max(1, limit);
  return {
    u32,
    below,
    chance: percent => below(100) < percent,
    pick: items => items[below(items.length)] as (typeof items)[number],
    fill(target) {
      for (let at = 0; at < target.length; at++) target[at] = u32();
    },
  };
}
