/**
 * Hops of many vertices, in the order of the list: from packed edges in memory where there are
 * any, from the keys elsewhere, one scan for as many vertices as possible.
 *
 * A row says by its key from which vertex it comes, so one scan may name a vertex only once: a
 * list that names it again (two rows of a batch with one vertex) is cut there into another scan.
 */
import {EdgeCursor, edgeRanges} from '#server/indexes/edge-cursor.ts';
import type {Rid} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import type {ChunkSelection, EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {Hop, Source} from '../graph.ts';
import {type RidKey, ridKey} from '../operators/hops/vertex-ids.ts';
import {hopOf, type PackedEdges, placeInChunk} from './packed-edges.ts';

export interface HopRequest {
  readonly vertices: readonly Rid[];
  readonly choice: EdgeChoice;
}

export class HopSource implements Source<Hop> {
  readonly #reader: Reader;
  readonly #packed: PackedEdges;
  readonly #request: HopRequest;
  #cursor: EdgeCursor | undefined;
  /** Vertices [start, next) are those of the cursor. */
  #start = 0;
  #next = 0;
  /** What is left of the packed edges of the vertex before `next`. */
  #selection: ChunkSelection | undefined;
  #entry = 0;
  #end = 0;

  constructor(reader: Reader, packed: PackedEdges, request: HopRequest) {
    this.#reader = reader;
    this.#packed = packed;
    this.#request = request;
  }

  next(max: number): readonly Hop[] | undefined {
    const hops: Hop[] = [];
    while (hops.length < max) {
      if (this.#selection !== undefined) this.#unpack(hops, max);
      else if (this.#cursor !== undefined) {
        // What is packed before it is given first.
        if (hops.length > 0) return hops;
        const read = this.#read(max);
        if (read !== undefined) return read;
      } else if (this.#next < this.#request.vertices.length) this.#open();
      else break;
    }
    return hops.length === 0 ? undefined : hops;
  }

  close(): void {
    this.#cursor?.close();
    this.#cursor = undefined;
    this.#selection = undefined;
    this.#next = this.#request.vertices.length;
  }

  #unpack(hops: Hop[], max: number): void {
    const {chunk, wanted} = this.#selection as ChunkSelection;
    const source = this.#next - 1;
    while (this.#entry < this.#end && hops.length < max) {
      const entry = this.#entry++;
      if (wanted[chunk.codes[entry] as number] === 1) hops.push(hopOf(chunk, entry, source));
    }
    if (this.#entry === this.#end) this.#selection = undefined;
  }

  #read(max: number): readonly Hop[] | undefined {
    const hops = this.#cursor?.next(max);
    if (hops === undefined) {
      this.#cursor?.close();
      this.#cursor = undefined;
      return undefined;
    }
    const start = this.#start;
    // A portion is mostly of one chunk, or of many alike.
    this.#packed.noteRead(this.#request.vertices[start + (hops[0]?.source ?? 0)], hops.length);
    return start === 0 ? hops : hops.map(hop => ({...hop, source: hop.source + start}));
  }

  /** Begins with the next vertices. */
  #open(): void {
    const {vertices, choice} = this.#request;
    const first = vertices[this.#next] as Rid;
    const selection = this.#packed.of(first);
    if (selection !== undefined) {
      this.#next++;
      selection.move(placeInChunk(first));
      this.#entry = selection.start;
      this.#end = selection.end;
      if (this.#entry < this.#end) this.#selection = selection;
      return;
    }
    this.#start = this.#next;
    const seen = new Set<RidKey>();
    for (; this.#next < vertices.length; this.#next++) {
      const vertex = vertices[this.#next] as Rid;
      const key = ridKey(vertex);
      if (seen.has(key) || (this.#next > this.#start && this.#packed.of(vertex))) break;
      seen.add(key);
      this.#packed.noteRead(vertex, 0);
    }
    const part = seen.size === vertices.length ? vertices : vertices.slice(this.#start, this.#next);
    this.#cursor = new EdgeCursor(this.#reader, edgeRanges(part, choice.direction, choice.types), {
      ...choice,
      distinct: true,
    });
  }
}
