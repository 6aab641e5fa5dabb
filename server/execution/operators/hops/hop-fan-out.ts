/**
 * Hops of many starting vertices of which some are the same one: each is read once, and its
 * hops are given again wherever it stands in the list.
 *
 * Order: the list's, of one vertex the hops' own. Of a vertex that comes again the hops are
 * kept until the list's end; past `keptHopsMax` it is read again instead, so memory is bounded
 * whatever the degrees. A test drops hops before they are kept or repeated.
 */
import type {Rid} from '#server/model/value.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {Graph, Hop, Source} from '../../graph.ts';
import {type RidKey, ridKey} from './vertex-ids.ts';

/** Keeps some of the hops; `vertices` as their sources count them. */
export type HopFilter = (hops: readonly Hop[], vertices: readonly Rid[]) => readonly Hop[];

export interface HopStep {
  readonly choice: EdgeChoice;
  readonly filter?: HopFilter | undefined;
}

/** A hop a place, and for each the place in the list of starts that it belongs to. */
export interface PlacedHops {
  readonly hops: readonly Hop[];
  readonly places: readonly number[];
}

const keptHopsMax = 100_000;

export class HopFanOut {
  /** The distinct starts: what the hops' `source` counts. */
  readonly vertices: readonly Rid[];
  readonly #graph: Graph;
  readonly #step: HopStep;
  /** The vertex of each start, and how often each vertex is a start. */
  readonly #vertexAt: readonly number[];
  readonly #counts: readonly number[];
  readonly #source: Source<Hop>;
  readonly #kept = new Map<number, readonly Hop[]>();
  #keptHops = 0;
  #place = 0;
  /** Hops read and not yet given. */
  #ahead: readonly Hop[] = [];
  #aheadAt = 0;
  #ended = false;
  /** The hops so far of the vertex that is being read; undefined when they are not kept. */
  #keeping: Hop[] | undefined = [];
  /** Vertices below are read to their end. */
  #readBefore = 0;
  /** How many hops were given of the vertex that was read before. */
  #given = 0;
  #again: Source<Hop> | undefined;

  constructor(graph: Graph, starts: readonly Rid[], step: HopStep) {
    const numbers = new Map<RidKey, number>();
    const vertices: Rid[] = [];
    const counts: number[] = [];
    this.#vertexAt = starts.map(rid => {
      const key = ridKey(rid);
      let number = numbers.get(key);
      if (number === undefined) {
        number = vertices.length;
        numbers.set(key, number);
        vertices.push(rid);
        counts.push(0);
      }
      counts[number] = (counts[number] as number) + 1;
      return number;
    });
    this.#graph = graph;
    this.#step = step;
    this.#counts = counts;
    this.vertices = vertices;
    this.#source = graph.hops(vertices, step.choice);
  }

  /** The next up to `max` hops, maybe none; undefined at the end. */
  next(max: number): PlacedHops | undefined {
    if (this.vertices.length === this.#vertexAt.length) return this.#nextDistinct(max);
    const hops: Hop[] = [];
    const places: number[] = [];
    const into = {hops, places, max};
    while (hops.length < max) {
      const vertex = this.#vertexAt[this.#place];
      if (vertex === undefined) return hops.length === 0 ? undefined : into;
      const done =
        vertex < this.#readBefore ? this.#giveAgain(vertex, into) : this.#give(vertex, into);
      if (!done) return into;
    }
    return into;
  }

  close(): void {
    this.#source.close();
    this.#again?.close();
    this.#kept.clear();
  }

  #nextDistinct(max: number): PlacedHops | undefined {
    const read = this.#source.next(max);
    if (read === undefined) return undefined;
    const hops = this.#filtered(read);
    return {hops, places: hops.map(hop => hop.source)};
  }

  #filtered(hops: readonly Hop[]): readonly Hop[] {
    const {filter} = this.#step;
    return filter === undefined || hops.length === 0 ? hops : filter(hops, this.vertices);
  }

  /** Gives hops of a vertex at its first place; false when the caller should have a turn. */
  #give(vertex: number, into: {hops: Hop[]; places: number[]; max: number}): boolean {
    while (into.hops.length < into.max) {
      const hop = this.#ahead[this.#aheadAt];
      if (hop === undefined && !this.#ended) {
        const read = this.#source.next(into.max);
        this.#ended = read === undefined;
        this.#ahead = this.#filtered(read ?? []);
        this.#aheadAt = 0;
        if (this.#ahead.length === 0 && !this.#ended) return false;
        continue;
      }
      if (hop === undefined || hop.source !== vertex) {
        this.#leaveFirst(vertex);
        return true;
      }
      this.#aheadAt++;
      into.hops.push(hop);
      into.places.push(this.#place);
      this.#keep(vertex, hop);
    }
    return true;
  }

  #keep(vertex: number, hop: Hop): void {
    if (this.#keeping === undefined || (this.#counts[vertex] as number) <= 1) return;
    if (this.#keptHops >= keptHopsMax) {
      this.#keptHops -= this.#keeping.length;
      this.#keeping = undefined;
      return;
    }
    this.#keeping.push(hop);
    this.#keptHops++;
  }

  #leaveFirst(vertex: number): void {
    this.#readBefore = vertex + 1;
    if ((this.#counts[vertex] as number) > 1 && this.#keeping !== undefined) {
      this.#kept.set(vertex, this.#keeping);
    }
    this.#keeping = [];
    this.#place++;
  }

  #giveAgain(vertex: number, into: {hops: Hop[]; places: number[]; max: number}): boolean {
    const kept = this.#kept.get(vertex);
    if (kept === undefined) return this.#readAgain(vertex, into);
    const end = Math.min(kept.length, this.#given + into.max - into.hops.length);
    for (; this.#given < end; this.#given++) {
      into.hops.push(kept[this.#given] as Hop);
      into.places.push(this.#place);
    }
    if (this.#given < kept.length) return true;
    this.#given = 0;
    this.#place++;
    return true;
  }

  #readAgain(vertex: number, into: {hops: Hop[]; places: number[]; max: number}): boolean {
    const {choice} = this.#step;
    this.#again ??= this.#graph.hops([this.vertices[vertex] as Rid], choice);
    const read = this.#again.next(into.max - into.hops.length);
    if (read === undefined) {
      this.#again.close();
      this.#again = undefined;
      this.#place++;
      return true;
    }
    const own = read.map(hop => ({...hop, source: vertex}));
    for (const hop of this.#filtered(own)) {
      into.hops.push(hop);
      into.places.push(this.#place);
    }
    return into.hops.length > 0;
  }
}
