/**
 * The records that have a term in a field, in memory: a run a bucket, positions in order.
 *
 * Of each record: how often the term is there (up to `frequencyMax`) and the byte of the field's
 * length (similarity.ts). Seven bytes a record. Never changed once built.
 */
import {assert} from '#server/base/assert.ts';

export const frequencyMax = 0xffff;

export interface PostingRun {
  readonly bucket: number;
  readonly positions: Uint32Array;
  readonly frequencies: Uint16Array;
  readonly norms: Uint8Array;
}

export class PostingList {
  /** By bucket, ascending; none is empty. */
  readonly runs: readonly PostingRun[];
  /** Records. */
  readonly count: number;

  constructor(runs: readonly PostingRun[]) {
    this.runs = runs;
    this.count = runs.reduce((sum, {positions}) => sum + positions.length, 0);
  }

  get bytes(): number {
    return 64 + this.runs.length * 256 + this.count * 7;
  }

  runOf(bucket: number): PostingRun | undefined {
    return this.runs.find(run => run.bucket === bucket);
  }
}

export const noPostings: PostingList = new PostingList([]);

/** Takes postings in order of record ids. */
export class PostingListBuilder {
  readonly #runs: PostingRun[] = [];
  #bucket = -1;
  #count = 0;
  #positions = new Uint32Array(0);
  #frequencies = new Uint16Array(0);
  #norms = new Uint8Array(0);

  add(bucket: number, position: number, frequency: number, norm: number): void {
    if (bucket !== this.#bucket) {
      this.#end();
      assert(bucket > this.#bucket, 'postings come in order of record ids');
      this.#bucket = bucket;
    }
    if (this.#count === this.#positions.length) this.#grow();
    this.#positions[this.#count] = position;
    this.#frequencies[this.#count] = Math.min(frequency, frequencyMax);
    this.#norms[this.#count] = norm;
    this.#count += 1;
  }

  finish(): PostingList {
    this.#end();
    return this.#runs.length === 0 ? noPostings : new PostingList(this.#runs);
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
