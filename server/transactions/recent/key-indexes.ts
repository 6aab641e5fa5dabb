/**
 * By key, the index of the last commit that touched it, of commits that are not forgotten yet.
 *
 * Keys come in the order of commits and are forgotten in that order, so they lie in generations,
 * of which the oldest is let go as a whole. One Map that keys are put into and taken out of for
 * ever would do as well, but every time it grows anew it leaves its former table behind, which
 * points at the next one: once such a table is old garbage, all keys behind it grow old, too.
 */
import type {LogIndex} from '../commit.ts';

interface Generation {
  readonly indexes: Map<string, LogIndex>;
  /** The greatest of them. */
  last: LogIndex;
}

const generationKeysMin = 1_024;
/** A generation holds at least this share of all keys, so that there are few. */
const generationShare = 1 / 4;

export class KeyIndexes {
  #newest: Generation = {indexes: new Map(), last: 0};
  /** Oldest first. */
  readonly #older: Generation[] = [];
  #olderKeys = 0;

  /** Keys that take memory; one of several generations counts as often. */
  get size(): number {
    return this.#olderKeys + this.#newest.indexes.size;
  }

  /** A commit that is newer than all before, or the same as the last. */
  set(key: string, index: LogIndex): void {
    const {size} = this.#newest.indexes;
    if (size >= generationKeysMin && size >= this.#olderKeys * generationShare) this.#beginNext();
    this.#newest.indexes.set(key, index);
    this.#newest.last = index;
  }

  /** Whether a commit behind `since` touched the key. Cost: the generations behind it. */
  isBehind(key: string, since: LogIndex): boolean {
    const {indexes, last} = this.#newest;
    if (last <= since) return false;
    if ((indexes.get(key) ?? 0) > since) return true;
    for (let at = this.#older.length - 1; at >= 0; at -= 1) {
      const generation = this.#older[at] as Generation;
      if (generation.last <= since) return false;
      if ((generation.indexes.get(key) ?? 0) > since) return true;
    }
    return false;
  }

  /** The keys that commits behind `since` touched, some perhaps more than once. */
  *behind(since: LogIndex): Iterable<string> {
    for (const {indexes, last} of [...this.#older, this.#newest]) {
      if (last <= since) continue;
      for (const [key, index] of indexes) if (index > since) yield key;
    }
  }

  /** Nobody asks about commits up to `index` any more. */
  forgetThrough(index: LogIndex): void {
    for (;;) {
      const oldest = this.#older[0];
      if (oldest === undefined || oldest.last > index) return;
      this.#older.shift();
      this.#olderKeys -= oldest.indexes.size;
    }
  }

  #beginNext(): void {
    const {indexes, last} = this.#newest;
    this.#older.push(this.#newest);
    this.#olderKeys += indexes.size;
    this.#newest = {indexes: new Map(), last};
  }
}
