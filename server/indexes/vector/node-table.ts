/**
 * The nodes of a graph of neighbours as packed words: which record, in which state, with which
 * neighbours on the lowest level; and where a record's node is.
 *
 * Words of a node: bucket, low half of the position, high part of the position and state, a
 * fingerprint of the vector, number of neighbours, neighbours. They lie outside of the heap in a
 * memory that grows in place. A node's number is the number of its vector's row.
 */
import {assert} from '#server/base/assert.ts';
import {Rid} from '#server/model/value.ts';
import {GrowingMemory, type MemoryAdvice} from './growing-memory.ts';
import {NodeFinder} from './node-finder.ts';

/** A node is one of: free, waiting to be linked, linked, or dead and still passed through. */
export const nodeState = {free: 0, waiting: 1, linked: 2, dead: 3, gone: 4} as const;
export type NodeState = (typeof nodeState)[keyof typeof nodeState];

const headWords = 5;
const positionBits = 2 ** 32;

export class NodeTable {
  readonly linksMax: number;
  readonly words: number;
  readonly #memory: GrowingMemory;
  #table: Uint32Array;
  #capacity = 0;
  #count = 0;
  readonly #free: number[] = [];
  readonly #finder = new NodeFinder(this);

  /** A node has at most `linksMax` neighbours. */
  constructor(linksMax: number, advise?: MemoryAdvice) {
    this.linksMax = linksMax;
    this.words = headWords + linksMax;
    this.#memory = new GrowingMemory(0, advise);
    this.#table = new Uint32Array(this.#memory.buffer);
    this.#refresh();
  }

  /** Nodes are below this number. */
  get count(): number {
    return this.#count;
  }

  get byteLength(): number {
    return 4 * this.#table.length + this.#finder.byteLength;
  }

  /** The packed words of all nodes; borrowed until the next node is added. */
  get packed(): Uint32Array {
    return this.#table.subarray(0, this.#count * this.words);
  }

  /** The node that the next `add` takes. */
  get next(): number {
    return this.#free.at(-1) ?? this.#count;
  }

  /** Room for nodes below `count`; false where a memory cannot be that large. */
  reserve(count: number): boolean {
    if (count <= this.#capacity) return true;
    // Nodes are added one by one: grow by an eighth, so that it happens seldom.
    if (!this.#memory.reserve(Math.ceil(count * 1.125) * this.words * 4)) return false;
    this.#refresh();
    return true;
  }

  /** A node that waits to be linked; the record has none, and there is room. */
  add(bucket: number, position: number, fingerprint: number): number {
    const node = this.#free.pop() ?? this.#count;
    if (node === this.#count) this.#count++;
    assert(node < this.#capacity, 'the node has room');
    const at = node * this.words;
    this.#table[at] = bucket;
    this.#table[at + 1] = position % positionBits;
    this.#table[at + 2] = Math.floor(position / positionBits) | (nodeState.waiting << 16);
    this.#table[at + 3] = fingerprint;
    this.#table[at + 4] = 0;
    this.#finder.add(node);
    return node;
  }

  /** Takes nodes as `packed` gave them, into an empty table. Nodes of records are found again. */
  load(packed: Uint32Array): void {
    assert(this.#count === 0, 'the table is empty');
    const count = packed.length / this.words;
    assert(this.reserve(count), 'the nodes have room');
    this.#count = count;
    this.#table.set(packed);
    for (let node = 0; node < count; node++) {
      const state = this.stateOf(node);
      if (state === nodeState.free) this.#free.push(node);
      else if (state === nodeState.waiting || state === nodeState.linked) {
        this.#finder.add(node);
      }
    }
  }

  nodeOf(bucket: number, position: number): number | undefined {
    return this.#finder.nodeOf(bucket, position);
  }

  /** Records of a bucket that have a node. */
  countIn(bucket: number): number {
    return this.#finder.countIn(bucket);
  }

  ridOf(node: number): Rid {
    return new Rid(this.bucketOf(node), this.positionOf(node));
  }

  bucketOf(node: number): number {
    return this.#table[node * this.words] ?? 0;
  }

  positionOf(node: number): number {
    const at = node * this.words;
    const high = (this.#table[at + 2] ?? 0) & 0xffff;
    return high * positionBits + (this.#table[at + 1] ?? 0);
  }

  fingerprintOf(node: number): number {
    return this.#table[node * this.words + 3] ?? 0;
  }

  stateOf(node: number): NodeState {
    return ((this.#table[node * this.words + 2] ?? 0) >>> 16) as NodeState;
  }

  setState(node: number, state: NodeState): void {
    const at = node * this.words + 2;
    this.#table[at] = ((this.#table[at] ?? 0) & 0xffff) | (state << 16);
  }

  /** The record has no node any more; the node stays, as what `state` says. */
  forget(node: number, state: NodeState): void {
    this.#finder.remove(node);
    this.setState(node, state);
  }

  /** Nobody names the node as a neighbour: it may be taken again. */
  free(node: number): void {
    this.setState(node, nodeState.free);
    this.#table[node * this.words + 4] = 0;
    this.#free.push(node);
  }

  linkCount(node: number): number {
    return this.#table[node * this.words + 4] ?? 0;
  }

  link(node: number, at: number): number {
    return this.#table[node * this.words + headWords + at] ?? 0;
  }

  setLinks(node: number, links: ArrayLike<number>, count: number): void {
    const at = node * this.words + headWords;
    for (let index = 0; index < count; index++) this.#table[at + index] = links[index] ?? 0;
    this.#table[at - 1] = count;
  }

  /** False when the list is full. */
  append(node: number, link: number): boolean {
    const at = node * this.words + headWords;
    const count = this.#table[at - 1] ?? 0;
    if (count >= this.linksMax) return false;
    this.#table[at + count] = link;
    this.#table[at - 1] = count + 1;
    return true;
  }

  #refresh(): void {
    this.#table = new Uint32Array(this.#memory.buffer);
    this.#capacity = Math.floor(this.#table.length / this.words);
  }
}
