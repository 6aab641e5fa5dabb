/**
 * How many edges vertices have: from packed edges without looking at them, elsewhere a key each.
 *
 * Invariant: a turn looks at some thousand keys at most, so counting a hub can be paused.
 */
import {EdgeCursor, edgeRanges} from '#server/indexes/edge-cursor.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {Graph, HopCounts} from '../graph.ts';
import type {HopRequest} from './hop-source.ts';
import {type PackedEdges, placeInChunk} from './packed-edges.ts';

const keysPerTurn = 4_096;

export class StoredHopCounts implements HopCounts {
  readonly counts: number[] = [];
  readonly #packed: PackedEdges;
  readonly #cursor: EdgeCursor | undefined;
  /** Vertices that are not packed, their places in the list and what was counted of them. */
  readonly #rest: Rid[] = [];
  readonly #places: number[] = [];
  readonly #restCounts: number[] = [];

  constructor(reader: Reader, packed: PackedEdges, {vertices, choice}: HopRequest) {
    this.#packed = packed;
    for (const [place, vertex] of vertices.entries()) {
      const selection = packed.of(vertex);
      this.counts.push(selection === undefined ? 0 : selection.count(placeInChunk(vertex)));
      if (selection !== undefined) continue;
      this.#rest.push(vertex);
      this.#places.push(place);
      this.#restCounts.push(0);
    }
    if (this.#rest.length === 0) return;
    const ranges = edgeRanges(this.#rest, choice.direction, choice.types);
    this.#cursor = new EdgeCursor(reader, ranges, {...choice, keysOnly: true, distinct: true});
  }

  next(): boolean {
    if (this.#cursor?.countInto(this.#restCounts, keysPerTurn) === true) return true;
    for (const [at, vertex] of this.#rest.entries()) {
      const count = this.#restCounts[at] as number;
      this.counts[this.#places[at] as number] = count;
      this.#packed.noteRead(vertex, count);
    }
    this.#rest.length = 0;
    return false;
  }

  close(): void {
    this.#cursor?.close();
  }
}

/** Counts the edges of one vertex in one go; reads a key an edge where they are not packed. */
export function degreeOf(graph: Graph, vertex: Rid, choice: EdgeChoice): number {
  const counts = graph.degrees([vertex], choice);
  try {
    while (counts.next());
    return counts.counts[0] ?? 0;
  } finally {
    counts.close();
  }
}
