/**
 * The order in which packed operations are best applied: about that of their keys.
 *
 * A store's table in memory is a list that is searched from its top for each key. Edges come in
 * any order of their vertices, and each search misses the processor's caches; one that begins where
 * the last one ended finds everything there. An order that is nearly right does as well as the
 * right one, so each key becomes a number of 46 bits, the rest of a word says which operation it
 * is, and the words are sorted by the machine. Operations of one key keep their order.
 */
import {isAdjacencyKey} from '#server/layout/adjacency-key.ts';
import {isRecordKey} from '#server/layout/record-key.ts';

const ordinalBits = 18;
/** The most operations that can be ordered; more of them stay as they are. */
export const orderedOperationsMax = 1 << ordinalBits;
const ordinalMask = orderedOperationsMax - 1;
const lowBits = 32 - ordinalBits;
const lowMask = (1 << lowBits) - 1;
/** Follows the namespace and a four-byte number: a position, or the parts of an index key. */
const bodyAt = 5;

/** Numbers of keys with the operations that they belong to. */
export class KeyOrder {
  /** Pairs of a low and a high half: the machines that this runs on begin with the low one. */
  readonly #halves: Uint32Array;
  readonly #words: BigUint64Array;
  #count = 0;

  /** Room for `count` keys, at most `orderedOperationsMax`. */
  constructor(count: number) {
    this.#words = new BigUint64Array(count);
    this.#halves = new Uint32Array(this.#words.buffer);
  }

  /** The key of the next operation begins at `at`. */
  add(bytes: Uint8Array, at: number): void {
    const byte = (offset: number): number => bytes[at + offset] ?? 0;
    const upper = (byte(bodyAt) << 8) | byte(bodyAt + 1);
    const lower =
      ((byte(bodyAt + 2) << 24) |
        (byte(bodyAt + 3) << 16) |
        (byte(bodyAt + 4) << 8) |
        byte(bodyAt + 5)) >>>
      0;
    // Of six bytes 35 bits: positions are small numbers, and parts of a key differ at their front.
    const isPosition = isRecordKey(bytes, at) || isAdjacencyKey(bytes, at);
    const high = isPosition
      ? ((upper & 0x7) << 18) | (lower >>> 14)
      : (upper << 5) | (lower >>> 27);
    const low = isPosition ? lower & lowMask : (lower >>> 13) & lowMask;
    const space = ((byte(0) >>> 4) << 29) | (byte(4) << 21);
    this.#halves[2 * this.#count] = (low << ordinalBits) | this.#count;
    this.#halves[2 * this.#count + 1] = space | high;
    this.#count += 1;
  }

  /** The numbers of the operations, from 0 in the order of `add`, in the order of their keys. */
  *sorted(): Generator<number> {
    this.#words.subarray(0, this.#count).sort();
    for (let at = 0; at < this.#count; at++) yield (this.#halves[2 * at] as number) & ordinalMask;
  }
}
