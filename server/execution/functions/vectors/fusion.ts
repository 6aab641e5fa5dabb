/**
 * Fusion of ranked lists into one: by ranks (RRF) or by scores that are made comparable first
 * (DBSF, LINEAR). Pure, and the one place where it is done.
 *
 * Each step is rounded to 32 bits, in the order of the sources, so that every surface and member
 * answers the same digits. Equal scores are in the order of record ids. Source: docs/functions.md;
 * G. Cormack et al., Reciprocal Rank Fusion, SIGIR 2009.
 */
import {compareRids, ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';

export const fusionStrategies = ['RRF', 'DBSF', 'LINEAR'] as const;
export type FusionStrategy = (typeof fusionStrategies)[number];

export interface RankedItem {
  readonly rid: Rid;
  /** Greater is better. NaN: it has none, which RRF alone can do without. */
  readonly score: number;
}

export interface FusionSource {
  /** Best first. */
  readonly items: readonly RankedItem[];
  readonly weight: number;
}

/** The constant of RRF that is usual. */
export const rankConstant = 60;

/** Every record of the sources once, best first. Of a source a record counts where it is best. */
export function fuse(
  sources: readonly FusionSource[],
  strategy: FusionStrategy,
  constant: number = rankConstant,
): readonly RankedItem[] {
  const fused = new Map<string, {readonly rid: Rid; score: number}>();
  for (const {items, weight} of sources) {
    const single = firstOfEach(items);
    const shares = sharesOf(single, strategy, constant);
    for (let at = 0; at < single.length; at++) {
      const {rid} = single[at] as RankedItem;
      // Ranks are weighed before they are rounded, scores behind it.
      const share = shares[at] ?? 0;
      const more = Math.fround(strategy === 'RRF' ? weight / share : Math.fround(weight) * share);
      const key = ridText(rid);
      const found = fused.get(key);
      if (found === undefined) fused.set(key, {rid, score: more});
      else found.score = Math.fround(found.score + more);
    }
  }
  return [...fused.values()].sort(compareRanked);
}

/** Best first; of equal scores the lower record id. */
export function compareRanked(left: RankedItem, right: RankedItem): number {
  return right.score - left.score || compareRids(left.rid, right.rid);
}

function firstOfEach(items: readonly RankedItem[]): readonly RankedItem[] {
  const seen = new Set<string>();
  return items.filter(({rid}) => {
    const key = ridText(rid);
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}

/** The divisor of the weight for RRF, else the score from 0 to 1. */
function sharesOf(
  items: readonly RankedItem[],
  strategy: FusionStrategy,
  constant: number,
): Float64Array {
  if (strategy === 'RRF') return Float64Array.from(items, (_, at) => constant + at + 1);
  const scores = Float64Array.from(items, ({score}) => Math.fround(score));
  const [low, high] = strategy === 'LINEAR' ? extremesOf(scores) : bandOf(scores);
  const range = strategy === 'LINEAR' ? Math.fround(high - low) : high - low;
  return scores.map(score => {
    if (range === 0) return 1;
    const within = Math.max(low, Math.min(high, score));
    const above = strategy === 'LINEAR' ? Math.fround(within - low) : within - low;
    return Math.fround(above / range);
  });
}

function extremesOf(scores: Float64Array): readonly [number, number] {
  return [
    scores.reduce((a, b) => Math.min(a, b), Infinity),
    scores.reduce((a, b) => Math.max(a, b), -Infinity),
  ];
}

/** Three deviations about the mean. */
function bandOf(scores: Float64Array): readonly [number, number] {
  const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
  const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
  const deviation = Math.sqrt(squares / scores.length);
  return [mean - 3 * deviation, mean + 3 * deviation];
}
