/**
 * The last two values that were read in one snapshot: a statement that goes over the edges of a hub
 * asks for the hub at every edge, and a write reads what was just tested. A snapshot does not
 * change, so what was read once is right for as long as it is open. A lookup in the store costs
 * many times as much.
 */
import type {Reader} from '#server/storage/store.ts';

/** The largest value that is kept, a few bytes more for each open snapshot. */
const valueBytesMax = 4 << 10;

interface Read {
  readonly key: Uint8Array;
  readonly value: Buffer;
}

export class RecentReads {
  #newest: Read | undefined;
  #older: Read | undefined;

  /** What `reader`, always the same one, answers for the key. The answer is not to be changed. */
  get(key: Uint8Array, reader: Pick<Reader, 'get'>): Buffer | undefined {
    const newest = this.#newest;
    if (newest !== undefined && isSameKey(newest.key, key)) return newest.value;
    const older = this.#older;
    if (older !== undefined && isSameKey(older.key, key)) {
      this.#keep(older);
      return older.value;
    }
    const value = reader.get(key);
    if (value !== undefined && value.length <= valueBytesMax) {
      this.#keep({key: new Uint8Array(key), value});
    }
    return value;
  }

  #keep(read: Read): void {
    this.#older = this.#newest;
    this.#newest = read;
  }
}

/** Keys that are near each other differ in their last bytes. */
function isSameKey(left: Uint8Array, right: Uint8Array): boolean {
  if (left.length !== right.length) return false;
  for (let at = left.length - 1; at >= 0; at -= 1) if (left[at] !== right[at]) return false;
  return true;
}
