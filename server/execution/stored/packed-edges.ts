/**
 * The packed edges (caches/adjacency-cache.ts) of one point in time and one choice of edges, by
 * vertex: what hops, degrees and edges between pairs are answered from where they can be.
 *
 * A transaction that has written edges itself sees none: its own are in no chunk.
 */
import {allAdjacency, outgoing} from '#server/layout/adjacency-key.ts';
import type {Rid} from '#server/model/value.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import {
  type AdjacencyChunk,
  type ChunkSelection,
  chunkVertices,
  type EdgeChoice,
  type EdgeShape,
} from '#server/caches/adjacency-chunk.ts';
import type {PinnedChunk, PackedAdjacency} from '#server/caches/shared-adjacency.ts';
import type {Hop, HopEnds, Source} from '../graph.ts';

export class PackedEdges {
  readonly #adjacency: PackedAdjacency | undefined;
  readonly #index: number;
  readonly #choice: EdgeChoice;
  readonly #selections = new Map<AdjacencyChunk, ChunkSelection>();
  /** The chunk asked for last. */
  #bucket = -1;
  #number = -1;
  #held: PinnedChunk | undefined;
  #selection: ChunkSelection | undefined;

  constructor(reader: ReadContext, adjacency: PackedAdjacency | undefined, choice: EdgeChoice) {
    const usable = adjacency !== undefined && !reader.overlays(allAdjacency);
    this.#adjacency = usable ? adjacency : undefined;
    this.#index = usable ? reader.snapshotIndex : 0;
    this.#choice = choice;
  }

  /** The chosen edges of the vertex's chunk; undefined: read its keys. */
  of({bucket, position}: Rid): ChunkSelection | undefined {
    const number = Math.floor(position / chunkVertices);
    if (number !== this.#number || bucket !== this.#bucket) this.#turn(bucket, number);
    const held = this.#held;
    if (held === undefined || held.dirty.has(position - number * chunkVertices)) return undefined;
    return this.#selection;
  }

  /** Reports that `keys` keys of the vertex were read. */
  noteRead(vertex: Rid | undefined, keys: number): void {
    if (vertex !== undefined) this.#adjacency?.noteRead(vertex.bucket, vertex.position, keys);
  }

  #turn(bucket: number, number: number): void {
    this.#bucket = bucket;
    this.#number = number;
    const held = this.#adjacency?.chunkAt(bucket, number, this.#index);
    this.#held = held;
    if (held === undefined) return;
    let selection = this.#selections.get(held.chunk);
    if (selection === undefined) {
      selection = held.chunk.select(this.#choice);
      this.#selections.set(held.chunk, selection);
    }
    this.#selection = selection;
  }
}

/** Position of a vertex in its chunk. */
export function placeInChunk({position}: Rid): number {
  return position % chunkVertices;
}

/** @param source - What the hop's source says. */
export function hopOf(chunk: AdjacencyChunk, entry: number, source: number): Hop {
  const {direction, typeId} = chunk.shapes[chunk.codes[entry] as number] as EdgeShape;
  return {
    source,
    edge: chunk.edgeOf(entry),
    other: chunk.otherOf(entry),
    typeId,
    outgoing: direction === outgoing,
  };
}

/** The hops between the ends of pairs: those that are packed, and behind them what `open` reads. */
export function pairHops(
  pairs: readonly HopEnds[],
  packed: PackedEdges,
  open: (pairs: readonly HopEnds[]) => Source<Hop>,
): Source<Hop> {
  const rest: number[] = [];
  let next = 0;
  let read: Source<Hop> | undefined;
  return {
    next(max) {
      const hops: Hop[] = [];
      for (; next < pairs.length && hops.length < max; next++) {
        const {vertex, other} = pairs[next] as HopEnds;
        const selection = packed.of(vertex);
        if (selection === undefined) {
          rest.push(next);
          packed.noteRead(vertex, 0);
          continue;
        }
        for (const entry of selection.between(placeInChunk(vertex), other)) {
          hops.push(hopOf(selection.chunk, entry, next));
        }
      }
      if (hops.length > 0) return hops;
      if (rest.length === 0) return undefined;
      read ??= open(rest.map(number => pairs[number] as HopEnds));
      return read.next(max)?.map(hop => ({...hop, source: rest[hop.source] as number}));
    },
    close: () => read?.close(),
  };
}
