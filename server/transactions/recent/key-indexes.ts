/**
 * Keeps for each key the index of the last commit that touched it, of commits not forgotten yet.
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
  /** Oldest first; the last one takes what comes. */
  readonly #generations: Generation[] = [{indexes: new Map(), last: 0}];
  /** How many keys the generations before the last one hold. */
  #olderKeys = 0;

  /** Keys that take memory; one of several generations counts as often. */
  get size(): number {
    return this.#olderKeys + this.#newest.indexes.size;
  }

  get #newest(): Generation {
    return this.#generations[this.#generations.length - 1] as Generation;
  }

  /** A commit that is newer than all before, or the same as the last. */
  set(key: string, index: LogIndex): void {
    const {size} = this.#newest.indexes;
    if (size >= generationKeysMin && size >= this.#olderKeys * generationShare) {
      this.#olderKeys += size;
      this.#generations.push({indexes: new Map(), last: index});
    }
    const newest = this.#newest;
    newest.indexes.set(key, index);
    newest.last = index;
  }

  /** Whether a commit behind `since` touched the key. Cost: the generations behind it. */
  isBehind(key: string, since: LogIndex): boolean {
    for (let at = this.#generations.length - 1; at >= 0; at -= 1) {
      const {indexes, last} = this.#generations[at] as Generation;
      if (last <= since) return false;
      if ((indexes.get(key) ?? 0) > since) return true;
    }
    return false;
  }

  /** The keys that commits behind `since` touched, some perhaps more than once. */
  *behind(since: LogIndex): Iterable<string> {
    for (const {indexes, last} of this.#generations) {
      if (last <= since) continue;
      for (const [key, index] of indexes) if (index > since) yield key;
    }
  }

  /** Nobody asks about commits up to `index` any more. */
  forgetThrough(index: LogIndex): void {
    while (this.#generations.length > 1) {
      const oldest = this.#generations[0] as Generation;
      if (oldest.last > index) return;
      this.#generations.shift();
      this.#olderKeys -= oldest.indexes.size;
    }
  }
}
