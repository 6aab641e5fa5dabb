/**
 * Packed edges on another thread: the chunks that were there when a run was sent, whose arrays both
 * threads see, and what the run read from the keys besides, which is told back so that chunks are
 * made for it as for any other.
 */
import type {LogIndex} from '#server/transactions/commit.ts';
import {AdjacencyChunk, type ChunkParts, chunkVertices} from './adjacency-chunk.ts';

/** A chunk as it holds for one store snapshot. */
export interface PinnedChunk {
  readonly chunk: AdjacencyChunk;
  /** Vertices of the chunk whose edges are read from the keys. */
  readonly dirty: ReadonlySet<number>;
}

/** Where runs find packed edges, and say what they had to read without them. */
export interface PackedAdjacency {
  /** The chunk of vertices [number * 65,536, ...) of a bucket, if there is one for the snapshot. */
  chunkAt(bucket: number, number: number, snapshot: LogIndex): PinnedChunk | undefined;
  /** Reports that `keys` keys of a vertex were read from the store. */
  noteRead(bucket: number, position: number, keys: number): void;
}

/** What is sent to a thread: `dirty` is a copy, the arrays of `parts` are shared. */
export interface SharedChunk {
  readonly bucket: number;
  readonly number: number;
  readonly parts: ChunkParts;
  readonly dirty: ReadonlySet<number>;
}

/** A vertex read from the keys costs a seek: as much as so many keys. */
export const seekKeys = 8;

/** What was read of the vertices of a chunk, in keys; a seek counts as some. */
export interface KeysRead {
  readonly bucket: number;
  readonly number: number;
  keys: number;
}

/** What was sent with one run, which reads one snapshot. */
export class SharedAdjacency implements PackedAdjacency {
  readonly #chunks: ReadonlyMap<string, PinnedChunk>;
  readonly #reads = new Map<string, KeysRead>();

  constructor(chunks: readonly SharedChunk[]) {
    this.#chunks = new Map(
      chunks.map(({bucket, number, parts, dirty}) => [
        placeOf(bucket, number),
        {chunk: new AdjacencyChunk(parts), dirty},
      ]),
    );
  }

  chunkAt(bucket: number, number: number): PinnedChunk | undefined {
    return this.#chunks.get(placeOf(bucket, number));
  }

  noteRead(bucket: number, position: number, keys: number): void {
    const number = Math.floor(position / chunkVertices);
    const place = placeOf(bucket, number);
    const read = this.#reads.get(place);
    if (read === undefined) this.#reads.set(place, {bucket, number, keys: keys + seekKeys});
    else read.keys += keys + seekKeys;
  }

  get keysRead(): readonly KeysRead[] {
    return [...this.#reads.values()];
  }
}

function placeOf(bucket: number, number: number): string {
  return `${bucket}:${number}`;
}
