/**
 * The records that have a term in a field, in memory: a run a bucket, positions in order.
 *
 * A record has how often the term is there (up to `frequencyMax`) and the byte of the field's
 * length (similarity.ts): seven bytes a record. Never changed once built.
 */
import {assert} from '#server/base/assert.ts';
import {mergeRuns} from '../ranked/merged-runs.ts';

export const frequencyMax = 0xffff;

export interface PostingRun {
  readonly bucket: number;
  readonly positions: Uint32Array;
  readonly frequencies: Uint16Array;
  readonly norms: Uint8Array;
}

/** A posting that is new or another one; undefined: there is none any more. */
export interface ChangedPosting {
  readonly bucket: number;
  readonly position: number;
  readonly posting: {readonly frequency: number; readonly norm: number} | undefined;
}

export class PostingList {
  /** The runs, ordered by bucket, ascending; none is empty. */
  readonly runs: readonly PostingRun[];
  /** Records. */
  readonly count: number;
  /** The sum over all records, each up to `frequencyMax`. */
  readonly frequencySum: number;

  constructor(runs: readonly PostingRun[], frequencySum: number) {
    this.runs = runs;
    this.count = runs.reduce((sum, {positions}) => sum + positions.length, 0);
    this.frequencySum = frequencySum;
  }

  get bytes(): number {
    return 64 + this.runs.length * 256 + this.count * 7;
  }

  runOf(bucket: number): PostingRun | undefined {
    return this.runs.find(run => run.bucket === bucket);
  }

  /** This list with some records changed; `changes` are in the order of record ids. */
  changed(changes: readonly ChangedPosting[]): PostingList {
    const builder = new PostingListBuilder();
    mergeRuns(this.runs, changes, {
      keep: (run, from, to) => builder.addRun(run, from, to),
      change: ({bucket, position, posting}) => {
        if (posting !== undefined) {
          builder.add(bucket, position, posting.frequency, posting.norm);
        }
      },
    });
    return builder.finish();
  }
}

export const noPostings: PostingList = new PostingList([], 0);

/** Takes postings in order of record ids. */
export class PostingListBuilder {
  readonly #runs: PostingRun[] = [];
  #bucket = -1;
  #count = 0;
  #frequencySum = 0;
  #positions = new Uint32Array(0);
  #frequencies = new Uint16Array(0);
  #norms = new Uint8Array(0);

  add(bucket: number, position: number, frequency: number, norm: number): void {
    this.#begin(bucket);
    if (this.#count === this.#positions.length) this.#grow();
    const counted = Math.min(frequency, frequencyMax);
    this.#positions[this.#count] = position;
    this.#frequencies[this.#count] = counted;
    this.#frequencySum += counted;
    this.#norms[this.#count] = norm;
    this.#count += 1;
  }

  /** Rows [from, to) of a run, as they are. */
  addRun(run: PostingRun, from: number, to: number): void {
    if (from === to) return;
    this.#begin(run.bucket);
    while (this.#positions.length < this.#count + to - from) this.#grow();
    this.#positions.set(run.positions.subarray(from, to), this.#count);
    this.#frequencies.set(run.frequencies.subarray(from, to), this.#count);
    this.#norms.set(run.norms.subarray(from, to), this.#count);
    for (let at = from; at < to; at += 1) this.#frequencySum += run.frequencies[at] as number;
    this.#count += to - from;
  }

  finish(): PostingList {
    this.#end();
    return this.#runs.length === 0 ? noPostings : new PostingList(this.#runs, this.#frequencySum);
  }

  #begin(bucket: number): void {
    if (bucket === this.#bucket) return;
    this.#end();
    assert(bucket > this.#bucket, 'postings come in order of record ids');
    this.#bucket = bucket;
  }

  #end(): void {
    if (this.#count === 0) return;
    this.#runs.push({
      bucket: this.#bucket,
      positions: this.#positions.slice(0, this.#count),
      frequencies: this.#frequencies.slice(0, this.#count),
      norms: this.#norms.slice(0, this.#count),
    });
    this.#count = 0;
  }

  #grow(): void {
    const length = Math.max(16, this.#positions.length * 2);
    const {positions, frequencies, norms} = {
      positions: new Uint32Array(length),
      frequencies: new Uint16Array(length),
      norms: new Uint8Array(length),
    };
    positions.set(this.#positions);
    frequencies.set(this.#frequencies);
    norms.set(this.#norms);
    this.#positions = positions;
    this.#frequencies = frequencies;
    this.#norms = norms;
  }
}
