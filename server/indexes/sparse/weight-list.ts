/**
 * The records that have a weight in one dimension, in memory: a run a bucket, positions in order.
 * Eight bytes a record. Never changed once built.
 */
import {assert} from '#server/base/assert.ts';
import {mergeRuns} from '../ranked/merged-runs.ts';

export interface WeightRun {
  readonly bucket: number;
  readonly positions: Uint32Array;
  readonly weights: Float32Array;
}

export class WeightList {
  /** The runs, ordered by bucket, ascending; none is empty. */
  readonly runs: readonly WeightRun[];
  /** Records. */
  readonly count: number;

  constructor(runs: readonly WeightRun[]) {
    this.runs = runs;
    this.count = runs.reduce((sum, {positions}) => sum + positions.length, 0);
  }

  get bytes(): number {
    return 64 + this.runs.length * 256 + this.count * 8;
  }

  runOf(bucket: number): WeightRun | undefined {
    return this.runs.find(run => run.bucket === bucket);
  }

  /** This list with some records changed; `changes` are in the order of record ids. */
  changed(changes: readonly ChangedWeight[]): WeightList {
    const builder = new WeightListBuilder();
    mergeRuns(this.runs, changes, {
      keep: ({bucket, positions, weights}, from, to) => {
        for (let at = from; at < to; at += 1) {
          builder.add(bucket, positions[at] as number, weights[at] as number);
        }
      },
      change: ({bucket, position, weight}) => {
        if (weight !== undefined) builder.add(bucket, position, weight);
      },
    });
    return builder.finish();
  }
}

/** `weight`: undefined where there is none any more. */
export interface ChangedWeight {
  readonly bucket: number;
  readonly position: number;
  readonly weight: number | undefined;
}

/** Takes weights in order of record ids. */
export class WeightListBuilder {
  readonly #runs: WeightRun[] = [];
  #bucket = -1;
  #positions: number[] = [];
  #weights: number[] = [];

  add(bucket: number, position: number, weight: number): void {
    if (bucket !== this.#bucket) {
      this.#end();
      assert(bucket > this.#bucket, 'weights come in order of record ids');
      this.#bucket = bucket;
    }
    this.#positions.push(position);
    this.#weights.push(weight);
  }

  finish(): WeightList {
    this.#end();
    return new WeightList(this.#runs);
  }

  #end(): void {
    if (this.#positions.length === 0) return;
    this.#runs.push({
      bucket: this.#bucket,
      positions: Uint32Array.from(this.#positions),
      weights: Float32Array.from(this.#weights),
    });
    this.#positions = [];
    this.#weights = [];
  }
}
