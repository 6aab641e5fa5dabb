/** One term's postings in one bucket as a run of scores (ranked/scored-run.ts). */
import {blockRows, type ScoredRun, type WindowSums} from '../ranked/scored-run.ts';
import type {PostingRun} from './posting-list.ts';
import type {TermScorer} from './similarity.ts';

/**
 * The greatest frequency and the least length of each block, kept by run: no scorer changes them.
 */
const blocksOfRuns = new WeakMap<PostingRun, Blocks>();

interface Blocks {
  readonly frequencies: Uint16Array;
  readonly norms: Uint8Array;
}

export class TextRun implements ScoredRun {
  readonly positions: Uint32Array;
  readonly blockBounds: Float32Array;
  readonly #run: PostingRun;
  readonly #scorer: TermScorer;

  constructor(run: PostingRun, scorer: TermScorer) {
    this.#run = run;
    this.#scorer = scorer;
    this.positions = run.positions;
    const {frequencies, norms} = blocksOf(run);
    this.blockBounds = new Float32Array(frequencies.length);
    for (let block = 0; block < frequencies.length; block += 1) {
      this.blockBounds[block] = scorer.score(frequencies[block] as number, norms[block] as number);
    }
  }

  scoreAt(at: number): number {
    const {frequencies, norms} = this.#run;
    return this.#scorer.score(frequencies[at] as number, norms[at] as number);
  }

  addTo({sums, met}: WindowSums, base: number, from: number, to: number): void {
    const {positions, frequencies, norms} = this.#run;
    const scorer = this.#scorer;
    for (let at = from; at < to; at += 1) {
      const slot = (positions[at] as number) - base;
      const score = scorer.score(frequencies[at] as number, norms[at] as number);
      sums[slot] = (sums[slot] as number) + score;
      met[slot >>> 5] = (met[slot >>> 5] as number) | (1 << (slot & 31));
    }
  }
}

function blocksOf(run: PostingRun): Blocks {
  let blocks = blocksOfRuns.get(run);
  if (blocks === undefined) {
    blocks = makeBlocks(run);
    blocksOfRuns.set(run, blocks);
  }
  return blocks;
}

function makeBlocks({positions, frequencies, norms}: PostingRun): Blocks {
  const count = Math.ceil(positions.length / blockRows);
  const made = {frequencies: new Uint16Array(count), norms: new Uint8Array(count).fill(255)};
  for (let at = 0; at < positions.length; at += 1) {
    const block = Math.floor(at / blockRows);
    const frequency = frequencies[at] as number;
    const norm = norms[at] as number;
    if (frequency > (made.frequencies[block] as number)) made.frequencies[block] = frequency;
    if (norm < (made.norms[block] as number)) made.norms[block] = norm;
  }
  return made;
}
