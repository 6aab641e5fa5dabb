/**
 * One term's records in one bucket, in order of positions, with what each adds to a score.
 *
 * Both searches that add up scores (text and sparse vectors) are made of such runs; the sum is
 * taken by windowed-sum.ts. Bounds per block of `blockRows` let it pass over what cannot win.
 */
export const blockRows = 128;

export interface ScoredRun {
  /** Ascending, each once. */
  readonly positions: Uint32Array;
  /** What the record at `at` of `positions` adds. */
  scoreAt(at: number): number;
  /** Adds what each record of [from, to) adds to `sums[position - base]`, and marks it. */
  addTo(sums: WindowSums, base: number, from: number, to: number): void;
  /** An upper bound of what any record of a block adds. */
  readonly blockBounds: Float32Array;
}

/** Sums of a window of positions, and which positions have one: a bit each. */
export interface WindowSums {
  readonly sums: Float64Array;
  readonly met: Uint32Array;
}

/** First index at or behind `from` whose position is not less than `target`; gallops. */
export function indexAtOrBehind(positions: Uint32Array, from: number, target: number): number {
  const {length} = positions;
  if (from >= length || (positions[from] as number) >= target) return from;
  let step = 1;
  let low = from;
  while (low + step < length && (positions[low + step] as number) < target) {
    low += step;
    step *= 2;
  }
  let high = Math.min(low + step, length);
  low += 1;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((positions[middle] as number) < target) low = middle + 1;
    else high = middle;
  }
  return low;
}
