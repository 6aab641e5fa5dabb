/**
 * Hops of many vertices, one scan for as many of them as possible.
 *
 * A row says by its key from which vertex it comes, so one scan may name a vertex only once: a
 * list that names it again (two rows of a batch with one vertex) is cut there into another scan.
 */
import {EdgeCursor, edgeRanges} from '#server/indexes/edge-cursor.ts';
import type {Rid} from '#server/model/value.ts';
import type {Direction} from '#server/plan/node.ts';
import type {Reader} from '#server/storage/store.ts';
import type {EdgeTypes, Hop, Source} from '../graph.ts';
import {type RidKey, ridKey} from '../operators/vertex-ids.ts';

export interface HopRequest {
  readonly vertices: readonly Rid[];
  readonly direction: Direction;
  readonly types: EdgeTypes;
}

export class HopSource implements Source<Hop> {
  readonly #reader: Reader;
  readonly #request: HopRequest;
  #cursor: EdgeCursor | undefined;
  /** Vertices [start, next) are those of the cursor. */
  #start = 0;
  #next = 0;

  constructor(reader: Reader, request: HopRequest) {
    this.#reader = reader;
    this.#request = request;
  }

  next(max: number): readonly Hop[] | undefined {
    for (;;) {
      const hops = this.#cursor?.next(max);
      if (hops !== undefined) {
        const start = this.#start;
        return start === 0 ? hops : hops.map(hop => ({...hop, source: hop.source + start}));
      }
      if (this.#next >= this.#request.vertices.length) return undefined;
      this.#open();
    }
  }

  close(): void {
    this.#cursor?.close();
    this.#next = this.#request.vertices.length;
  }

  #open(): void {
    const {vertices, direction, types} = this.#request;
    this.#cursor?.close();
    this.#start = this.#next;
    const seen = new Set<RidKey>();
    for (; this.#next < vertices.length; this.#next++) {
      const key = ridKey(vertices[this.#next] as Rid);
      if (seen.has(key)) break;
      seen.add(key);
    }
    const part = seen.size === vertices.length ? vertices : vertices.slice(this.#start, this.#next);
    const ranges = edgeRanges(part, direction, types);
    this.#cursor = new EdgeCursor(this.#reader, ranges, types, {distinct: true});
  }
}
