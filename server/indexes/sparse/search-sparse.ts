/**
 * The `k` records whose sparse vectors have the greatest dot product with a query's, exact.
 *
 * With the modifier IDF each dimension counts as much as it is rare: ln(1 + (n - d + 0.5) /
 * (d + 0.5)) for d of n records that have it. A record without any dimension of the query is not
 * among them, whatever `k`.
 */
import {BestRecords, type ScoredRid} from '../ranked/best-records.ts';
import type {Effort} from '../ranked/effort.ts';
import {blockRows, type ScoredRun, type WindowSums} from '../ranked/scored-run.ts';
import {sumWindows} from '../ranked/windowed-sum.ts';
import type {SparseVector} from './sparse-vector.ts';
import type {WeightList, WeightRun} from './weight-list.ts';

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
  const best = new BestRecords(k);
  const buckets = new Set(lists.flatMap(({runs}) => runs.map(({bucket}) => bucket)));
  for (const bucket of [...buckets].sort((one, other) => one - other)) {
    const runs: SparseRun[] = [];
    for (const [at, list] of lists.entries()) {
      const run = list.runOf(bucket);
      if (run !== undefined) runs.push(new SparseRun(run, factors[at] as number));
    }
    const accepted = accept && ((position: number) => accept(bucket, position));
    sumWindows({bucket, runs, best, effort, windowRows, accept: accepted});
  }
  return best.sorted();
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
