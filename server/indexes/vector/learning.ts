/**
 * The way of an index with PRODUCT quantization from floats to codes, in small turns.
 *
 * While there are few vectors their rows are floats. Once there are as many as are learnt from, a
 * book of centroids is trained on them, then every row is written as codes beside the floats; what
 * is written meanwhile is written to both. At the end the codes take the place of the floats.
 */
import {assert} from '#server/base/assert.ts';
import {trainCodebook} from './codebook.ts';
import {CodeSpace, scaledFor} from './code-space.ts';
import type {KernelMaker, VectorSpace} from './vector-space.ts';

export interface LearningOptions {
  readonly subspaces: number;
  readonly clusters: number;
  readonly trainingLimit: number;
}

const rowsPerTurn = 8;

export class Learning {
  readonly #floats: VectorSpace;
  readonly #options: LearningOptions;
  #training: ReturnType<typeof trainCodebook> | undefined;
  #samples = 0;
  #codes: CodeSpace | undefined;
  /** Rows below are codes already. */
  #encoded = 0;

  readonly #makeKernels: KernelMaker;

  constructor(floats: VectorSpace, options: LearningOptions, makeKernels: KernelMaker) {
    this.#makeKernels = makeKernels;
    this.#floats = floats;
    this.#options = options;
  }

  get isUnderWay(): boolean {
    return this.#training !== undefined || this.#codes !== undefined;
  }

  get byteLength(): number {
    return 4 * this.#samples + (this.#codes?.byteLength ?? 0);
  }

  /** A row of the floats was written. */
  written(row: number, vector: Float32Array): void {
    if (row < this.#encoded) this.#codes?.write(row, vector);
  }

  /** A turn, with `rows` rows there are; the codes once all rows are in them. */
  step(rows: number): CodeSpace | undefined {
    if (this.#codes !== undefined) return this.#encode(this.#codes, rows);
    if (this.#training === undefined) {
      if (rows < this.#options.trainingLimit) return undefined;
      this.#training = trainCodebook(this.#shape, this.#sample(rows));
    }
    const {done, value} = this.#training.next();
    if (done !== true) return undefined;
    const {dimensions, similarity} = this.#floats.shape;
    this.#training = undefined;
    this.#samples = 0;
    this.#codes = new CodeSpace({dimensions, similarity}, value, this.#makeKernels);
    return undefined;
  }

  get #shape(): {dimensions: number; subspaces: number; clusters: number} {
    const {subspaces, clusters} = this.#options;
    return {dimensions: this.#floats.shape.dimensions, subspaces, clusters};
  }

  /** Rows that lie evenly among all; those of nodes that are gone are as good. */
  #sample(rows: number): Float32Array {
    const {dimensions} = this.#floats.shape;
    const count = this.#options.trainingLimit;
    const samples = new Float32Array(count * dimensions);
    for (let at = 0; at < count; at++) {
      samples.set(this.#vectorOf(Math.floor((at * rows) / count)), at * dimensions);
    }
    this.#samples = samples.length;
    return samples;
  }

  #vectorOf(row: number): Float32Array {
    const vector = this.#floats.vectorOf(row);
    assert(vector !== undefined, 'what is learnt from are floats');
    return scaledFor(this.#floats.shape.similarity, vector);
  }

  #encode(codes: CodeSpace, rows: number): CodeSpace | undefined {
    assert(codes.reserve(rows), 'codes are smaller than the floats that have room');
    const end = Math.min(rows, this.#encoded + rowsPerTurn);
    for (; this.#encoded < end; this.#encoded++) {
      codes.write(this.#encoded, this.#vectorOf(this.#encoded));
    }
    return this.#encoded === rows ? codes : undefined;
  }
}
