/**
 * What a commit does to the buckets of its database: how many records more there are in each, and
 * whether positions were given in it. Most commits concern one.
 */
import {appended} from '#server/base/appended.ts';

export interface BucketChange {
  readonly bucketId: number;
  /** The change of the record count. */
  countDelta: number;
  /** The high-water mark of the bucket's positions travels along. */
  takesPositions: boolean;
}

/** Up to this many a linear look is cheaper. */
const fewMax = 8;

export class BucketChanges {
  #all: BucketChange[] = [];
  #byId: Map<number, BucketChange> | undefined;

  /** One a bucket. */
  get all(): readonly BucketChange[] {
    return this.#all;
  }

  /** Undefined: nothing has changed. */
  find(bucketId: number): BucketChange | undefined {
    return this.#byId === undefined
      ? this.#all.find(change => change.bucketId === bucketId)
      : this.#byId.get(bucketId);
  }

  /** The bucket's, to be changed. */
  of(bucketId: number): BucketChange {
    const known = this.find(bucketId);
    if (known !== undefined) return known;
    const change = {bucketId, countDelta: 0, takesPositions: false};
    this.#all = appended(this.#all, change);
    this.#byId?.set(bucketId, change);
    if (this.#byId === undefined && this.#all.length > fewMax) {
      this.#byId = new Map(this.#all.map(one => [one.bucketId, one]));
    }
    return change;
  }
}
