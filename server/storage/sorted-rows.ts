/**
 * The order that every sorted file keeps: keys ascend strictly. One check for the three stores,
 * made at `put`, so that the mistake is found where it is made and not when the file is built.
 */
import {assert} from '#server/base/assert.ts';

/** Checks keys one after another; copies the last one. */
export class AscendingKeys {
  #last = Buffer.alloc(64);
  #lastLength = 0;

  /** Throws unless `key` is greater than every key before it. */
  check(key: Uint8Array): void {
    assert(
      Buffer.compare(key, this.#last.subarray(0, this.#lastLength)) > 0,
      'keys of a sorted file ascend strictly',
    );
    if (key.length > this.#last.length) this.#last = Buffer.alloc(key.length * 2);
    this.#last.set(key);
    this.#lastLength = key.length;
  }
}
