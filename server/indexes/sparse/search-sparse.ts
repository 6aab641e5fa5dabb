/**
 * The `k` records whose sparse vectors have the greatest dot product with a query's, exact.
 *
 * With the modifier IDF each dimension counts as much as it is rare: ln(1 + (n - d + 0.5) /
 * (d + 0.5)) for d of n records that have it. A record without any dimension of the query is not
 * among them, whatever `k`.
 *
 * Where there are many postings the records are split into parts, which are searched in the order
 * of what a record of each could score at most: the best are met early, and once no part is left
 * that could hold a better one the others are passed over. The answer is the same.
 */
import {BestRecords, type ScoredRid} from '../ranked/best-records.ts';
import type {Effort} from '../ranked/effort.ts';
import {blockRows, indexAtOrBehind, type ScoredRun, type WindowSums} from '../ranked/scored-run.ts';
import {boundOf, isHopeless, sumWindows} from '../ranked/windowed-sum.ts';
import type {SparseVector} from './sparse-vector.ts';
import type {WeightList, WeightRun} from './weight-list.ts';

/** More parts of a bucket cost more than they save. */
const partsMax = 256;

/** Where a search reads from. */
export interface SparseSource {
  weights(dimension: number): WeightList;
  /** Records that have a vector; asked with the modifier IDF only. */
  readonly records: number;
}

export interface SparseSearch {
  readonly query: SparseVector;
  readonly source: SparseSource;
  readonly modifier: 'NONE' | 'IDF';
  readonly k: number;
  readonly effort: Effort;
  /** Positions of one window (`svc.sparseVectorScoringWindow`). */
  readonly windowRows: number;
  /** Postings of a part, from which on records are split. */
  readonly partPostings: number;
  /** Told of a search whose records were split into so many parts. */
  readonly onSplit?: ((parts: number) => void) | undefined;
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
}

export function searchSparse(search: SparseSearch): readonly ScoredRid[] {
  const {query, source, modifier, k, effort, windowRows, accept} = search;
  if (k < 1) return [];
  const lists = query.dimensions.map(dimension => source.weights(dimension));
  const factors = query.weights.map((weight, at) => {
    const {count} = lists[at] as WeightList;
    return modifier === 'IDF' ? weight * inverseFrequency(source.records, count) : weight;
  });
  const parts = partsOf(lists, factors, search.partPostings);
  if (parts.length > new Set(parts.map(({bucket}) => bucket)).size) search.onSplit?.(parts.length);
  const best = new BestRecords(k);
  for (const {bucket, runs, span, bound} of parts) {
    if (isHopeless(bound, best.threshold)) break;
    const accepted = accept && ((position: number) => accept(bucket, position));
    sumWindows({bucket, runs, span, best, effort, windowRows, accept: accepted});
  }
  return best.sorted();
}

/** Records of one bucket that lie one behind the other. */
interface Part {
  readonly bucket: number;
  readonly runs: readonly SparseRun[];
  readonly span: {readonly from: number; readonly to: number};
  /** An upper bound of what one of its records scores. */
  readonly bound: number;
}

/** What could score most comes first. */
function partsOf(
  lists: readonly WeightList[],
  factors: readonly number[],
  partPostings: number,
): readonly Part[] {
  const buckets = new Set(lists.flatMap(({runs}) => runs.map(({bucket}) => bucket)));
  const parts: Part[] = [];
  for (const bucket of [...buckets].sort((one, other) => one - other)) {
    const runs: SparseRun[] = [];
    for (const [at, list] of lists.entries()) {
      const run = list.runOf(bucket);
      if (run !== undefined) runs.push(new SparseRun(run, factors[at] as number));
    }
    const ends = [...bordersOf(runs, partPostings), Number.POSITIVE_INFINITY];
    for (const [at, to] of ends.entries()) {
      const span = {from: ends[at - 1] ?? 0, to};
      parts.push({bucket, runs, span, bound: boundOfSpan(runs, span)});
    }
  }
  return parts.sort((one, other) => other.bound - one.bound);
}

/** Positions between parts: those of the longest run, evenly. */
function bordersOf(runs: readonly SparseRun[], partPostings: number): readonly number[] {
  const postings = runs.reduce((sum, {positions}) => sum + positions.length, 0);
  const longest = runs.reduce((one, other) =>
    other.positions.length > one.positions.length ? other : one,
  ).positions;
  const count = Math.min(Math.ceil(postings / partPostings), partsMax, longest.length);
  return Array.from({length: Math.max(0, count - 1)}, (_, at) => {
    return longest[Math.floor(((at + 1) * longest.length) / count)] as number;
  });
}

function boundOfSpan(runs: readonly SparseRun[], {from, to}: Part['span']): number {
  let bound = 0;
  for (const run of runs) {
    const first = indexAtOrBehind(run.positions, 0, from);
    bound += boundOf(run, first, indexAtOrBehind(run.positions, first, to));
  }
  return bound;
}

function inverseFrequency(records: number, withDimension: number): number {
  return Math.log(1 + (records - withDimension + 0.5) / (withDimension + 0.5));
}

/** The least and the greatest weight of each block, kept for each run. */
const blocksOfRuns = new WeakMap<WeightRun, Blocks>();

interface Blocks {
  readonly least: Float32Array;
  readonly greatest: Float32Array;
}

class SparseRun implements ScoredRun {
  readonly positions: Uint32Array;
  readonly blockBounds: Float32Array;
  readonly #weights: Float32Array;
  readonly #factor: number;

  constructor(run: WeightRun, factor: number) {
    this.positions = run.positions;
    this.#weights = run.weights;
    this.#factor = factor;
    const {least, greatest} = blocksOf(run);
    this.blockBounds = (factor < 0 ? least : greatest).map(weight => weight * factor);
  }

  scoreAt(at: number): number {
    return (this.#weights[at] as number) * this.#factor;
  }

  addTo({sums, met}: WindowSums, base: number, from: number, to: number): void {
    const positions = this.positions;
    const weights = this.#weights;
    const factor = this.#factor;
    for (let at = from; at < to; at += 1) {
      const slot = (positions[at] as number) - base;
      sums[slot] = (sums[slot] as number) + (weights[at] as number) * factor;
      met[slot >>> 5] = (met[slot >>> 5] as number) | (1 << (slot & 31));
    }
  }
}

function blocksOf(run: WeightRun): Blocks {
  let blocks = blocksOfRuns.get(run);
  if (blocks === undefined) {
    blocks = makeBlocks(run.weights);
    blocksOfRuns.set(run, blocks);
  }
  return blocks;
}

function makeBlocks(weights: Float32Array): Blocks {
  const count = Math.ceil(weights.length / blockRows);
  const least = new Float32Array(count).fill(Number.POSITIVE_INFINITY);
  const greatest = new Float32Array(count).fill(Number.NEGATIVE_INFINITY);
  for (let at = 0; at < weights.length; at += 1) {
    const block = Math.floor(at / blockRows);
    const weight = weights[at] as number;
    if (weight < (least[block] as number)) least[block] = weight;
    if (weight > (greatest[block] as number)) greatest[block] = weight;
  }
  return {least, greatest};
}
