/**
 * The best `k` records met so far: a heap whose root is the worst of them.
 *
 * Better is a higher score, of equal scores the lesser record id. Invariant: records are offered
 * in any order and the outcome is the same.
 */
import {Rid} from '#server/model/value.ts';

export interface ScoredRid {
  readonly rid: Rid;
  readonly score: number;
}

export class BestRecords {
  readonly #max: number;
  readonly #scores: number[] = [];
  readonly #buckets: number[] = [];
  readonly #positions: number[] = [];

  constructor(max: number) {
    this.#max = max;
  }

  /** A record must score more than that, or as much under a lesser id. */
  get threshold(): number {
    return this.#scores.length < this.#max ? Number.NEGATIVE_INFINITY : (this.#scores[0] as number);
  }

  get isFull(): boolean {
    return this.#scores.length >= this.#max;
  }

  /** Whether the record would be taken. */
  takes(score: number, bucket: number, position: number): boolean {
    if (this.#scores.length < this.#max) return true;
    return this.#max > 0 && isWorse(this.#at(0), {score, bucket, position});
  }

  offer(score: number, bucket: number, position: number): void {
    if (!this.takes(score, bucket, position)) return;
    const record = {score, bucket, position};
    if (this.#scores.length < this.#max) {
      this.#rise(this.#scores.length, record);
    } else {
      this.#sink(0, record);
    }
  }

  /** Best first. */
  sorted(): readonly ScoredRid[] {
    const ranked = this.#scores.map((_score, at) => this.#at(at));
    ranked.sort((one, other) => (isWorse(one, other) ? 1 : -1));
    return ranked.map(({score, bucket, position}) => ({rid: new Rid(bucket, position), score}));
  }

  #rise(from: number, record: Ranked): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = this.#at(parent);
      if (!isWorse(record, above)) break;
      this.#put(at, above);
      at = parent;
    }
    this.#put(at, record);
  }

  #sink(from: number, record: Ranked): void {
    const count = this.#scores.length;
    let at = from;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= count) break;
      if (child + 1 < count && isWorse(this.#at(child + 1), this.#at(child))) child += 1;
      const below = this.#at(child);
      if (!isWorse(below, record)) break;
      this.#put(at, below);
      at = child;
    }
    this.#put(at, record);
  }

  #at(at: number): Ranked {
    return {
      score: this.#scores[at] as number,
      bucket: this.#buckets[at] as number,
      position: this.#positions[at] as number,
    };
  }

  #put(at: number, {score, bucket, position}: Ranked): void {
    this.#scores[at] = score;
    this.#buckets[at] = bucket;
    this.#positions[at] = position;
  }
}

interface Ranked {
  readonly score: number;
  readonly bucket: number;
  readonly position: number;
}

function isWorse(one: Ranked, other: Ranked): boolean {
  if (one.score !== other.score) return one.score < other.score;
  if (one.bucket !== other.bucket) return one.bucket > other.bucket;
  return one.position > other.position;
}
