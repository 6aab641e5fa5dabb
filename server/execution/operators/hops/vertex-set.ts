/**
 * A set of vertices: a bit a position, in blocks of 65,536 positions of a bucket.
 *
 * Adding one that is there is setting a bit, and costs many times less than a set of ids in a Map;
 * vertices come out by bucket and position, whatever the order in which they came in.
 * The blocks are those of packed edges (caches/adjacency-chunk.ts). Counts its memory.
 */
import {Rid} from '#server/model/value.ts';
import {
  type AdjacencyChunk,
  type ChunkSelection,
  chunkBits,
  chunkVertices,
} from '#server/caches/adjacency-chunk.ts';
import type {Budget} from '../../budget.ts';

export const wordsPerBlock = chunkVertices / 32;
const blockBytes = chunkVertices / 8;

/** Blocks by number; those without a vertex are holes. */
type Blocks = (Uint32Array | undefined)[];

export interface VertexBlock {
  readonly bucket: number;
  readonly number: number;
  readonly words: Uint32Array;
}

export class VertexSet {
  size = 0;
  readonly #budget: Budget;
  readonly #buckets = new Map<number, Blocks>();
  #blocks = 0;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  add({bucket, position}: Rid): void {
    const blocks = this.#blocksOf(bucket);
    const number = Math.floor(position / chunkVertices);
    const words = blocks[number] ?? this.#open(blocks, number);
    this.#mark(words, position % chunkVertices);
  }

  /** Adds the far ends of the selected ones among the entries [start, end). */
  addEnds({chunk, wanted}: ChunkSelection, ends: ChunkEnds, start: number, end: number): void {
    const {codes, others} = chunk;
    const {bucket} = ends;
    if (bucket !== undefined) {
      this.#addAll(others, start, end, this.#blocksOf(bucket));
      return;
    }
    for (let at = start; at < end; at++) {
      const code = codes[at] as number;
      if (wanted[code] === 0) continue;
      const blocks = this.#blocksOf(ends.buckets[code] as number);
      const position = others[at] as number;
      const words = blocks[position >>> chunkBits] ?? this.#open(blocks, position >>> chunkBits);
      this.#mark(words, position & (chunkVertices - 1));
    }
  }

  /** Yields the blocks, ordered by bucket and number. */
  *blocks(): Generator<VertexBlock, void, undefined> {
    for (const bucket of [...this.#buckets.keys()].sort((one, other) => one - other)) {
      const blocks = this.#buckets.get(bucket) ?? [];
      for (const key of Object.keys(blocks)) {
        const number = Number(key);
        const words = blocks[number];
        if (words !== undefined) yield {bucket, number, words};
      }
    }
  }

  /** Gives its memory back to the budget; the set is empty then. */
  release(): void {
    this.#budget.release(this.#blocks * blockBytes);
    this.#blocks = 0;
    this.size = 0;
    this.#buckets.clear();
  }

  #addAll(others: Uint32Array, start: number, end: number, blocks: Blocks): void {
    let added = 0;
    for (let at = start; at < end; at++) {
      const position = others[at] as number;
      const words = blocks[position >>> chunkBits] ?? this.#open(blocks, position >>> chunkBits);
      const word = (position & (chunkVertices - 1)) >>> 5;
      const before = words[word] as number;
      const after = (before | (1 << (position & 31))) >>> 0;
      if (after === before) continue;
      words[word] = after;
      added++;
    }
    this.size += added;
  }

  #mark(words: Uint32Array, place: number): void {
    const before = words[place >>> 5] as number;
    const after = (before | (1 << (place & 31))) >>> 0;
    if (after === before) return;
    words[place >>> 5] = after;
    this.size++;
  }

  #blocksOf(bucket: number): Blocks {
    let blocks = this.#buckets.get(bucket);
    if (blocks === undefined) {
      blocks = [];
      this.#buckets.set(bucket, blocks);
    }
    return blocks;
  }

  #open(blocks: Blocks, number: number): Uint32Array {
    const words = new Uint32Array(wordsPerBlock);
    blocks[number] = words;
    this.#blocks++;
    this.#budget.keep(blockBytes);
    return words;
  }
}

/** The buckets where the selected edges of a chunk end. */
export interface ChunkEnds {
  /** The bucket that the shape of each number has. */
  readonly buckets: readonly number[];
  /** The only one, when every edge of a range is selected and ends there. */
  readonly bucket: number | undefined;
}

export function endsOf(chunk: AdjacencyChunk, {wanted, isWhole}: ChunkSelection): ChunkEnds {
  const buckets = chunk.shapes.map(shape => shape.otherBucket);
  const used = new Set(buckets.filter((_bucket, code) => wanted[code] === 1));
  const [only] = used;
  return {buckets, bucket: isWhole && used.size === 1 ? only : undefined};
}

/** The ids in a block, in their order. */
export function* vertexIds({bucket, number, words}: VertexBlock): Generator<Rid, void, undefined> {
  const first = number * chunkVertices;
  for (let word = 0; word < wordsPerBlock; word++) {
    for (let bits = words[word] as number; bits !== 0; ) {
      const bit = bits & -bits;
      bits ^= bit;
      yield new Rid(bucket, first + word * 32 + 31 - Math.clz32(bit));
    }
  }
}
