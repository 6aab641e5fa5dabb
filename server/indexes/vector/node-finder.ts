/**
 * Which node a record has: a table of the numbers of nodes alone, as a node itself says whose it
 * is. A record takes some six bytes in it, where a map of numbers takes forty.
 *
 * Open addressing, the next free slot is taken; what is removed leaves no mark, as those behind it
 * move up. Invariant: of a node that is in the table the record does not change.
 */
import {assert} from '#server/base/assert.ts';

/** What a node tells of its record. */
export interface NodeRecords {
  bucketOf(node: number): number;
  positionOf(node: number): number;
}

const slotsFirst = 64;
const filledMax = 0.7;

export class NodeFinder {
  readonly #records: NodeRecords;
  /** Numbers of nodes and 1; 0: free. */
  #slots = new Uint32Array(slotsFirst);
  #count = 0;
  readonly #counts = new Map<number, number>();

  constructor(records: NodeRecords) {
    this.#records = records;
  }

  get byteLength(): number {
    return this.#slots.byteLength;
  }

  /** Records of a bucket that have a node. */
  countIn(bucket: number): number {
    return this.#counts.get(bucket) ?? 0;
  }

  nodeOf(bucket: number, position: number): number | undefined {
    const records = this.#records;
    const slots = this.#slots;
    for (let at = this.#first(bucket, position); ; at = this.#next(at)) {
      const node = (slots[at] ?? 0) - 1;
      if (node < 0) return undefined;
      if (records.positionOf(node) === position && records.bucketOf(node) === bucket) return node;
    }
  }

  /** The node's record has none in the table. */
  add(node: number): void {
    if (this.#count + 1 > filledMax * this.#slots.length) this.#grow();
    this.#put(node);
    this.#count++;
    const bucket = this.#records.bucketOf(node);
    this.#counts.set(bucket, this.countIn(bucket) + 1);
  }

  /** Nothing is done where the node is not in the table. */
  remove(node: number): void {
    const slots = this.#slots;
    let hole = this.#firstOf(node);
    for (; slots[hole] !== node + 1; hole = this.#next(hole)) if (slots[hole] === 0) return;
    const mask = slots.length - 1;
    for (let at = this.#next(hole); slots[at] !== 0; at = this.#next(at)) {
      const first = this.#firstOf((slots[at] ?? 0) - 1);
      // Who began his way behind the hole is found without it.
      if (((at - first) & mask) < ((at - hole) & mask)) continue;
      slots[hole] = slots[at] ?? 0;
      hole = at;
    }
    slots[hole] = 0;
    this.#count--;
    const bucket = this.#records.bucketOf(node);
    this.#counts.set(bucket, this.countIn(bucket) - 1);
  }

  #put(node: number): void {
    let at = this.#firstOf(node);
    while (this.#slots[at] !== 0) at = this.#next(at);
    this.#slots[at] = node + 1;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (const slot of before) if (slot !== 0) this.#put(slot - 1);
    assert(this.#count < this.#slots.length, 'a slot is free');
  }

  #firstOf(node: number): number {
    return this.#first(this.#records.bucketOf(node), this.#records.positionOf(node));
  }

  #first(bucket: number, position: number): number {
    return mixedRecord(bucket, position) & (this.#slots.length - 1);
  }

  #next(at: number): number {
    return (at + 1) & (this.#slots.length - 1);
  }
}

/** 32 bits of a record id. Source: MurmurHash3's finalizer. */
export function mixedRecord(bucket: number, position: number): number {
  let bits = Math.imul(bucket + 1, 0x9e3779b1) ^ Math.imul(position >>> 0, 0x85ebca77);
  bits ^= Math.floor(position / 2 ** 32);
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
