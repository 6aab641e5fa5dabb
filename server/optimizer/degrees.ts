/**
 * How many edges a vertex has, and of which types the vertices at their other ends are.
 *
 * From the number of edges of a type and the types of their ends: the mean over the vertices that
 * may have them. A hub has more, and most walks meet one; that only makes what is dear dearer.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {type Direction, reversed} from '#server/plan/node.ts';
import type {EdgeStatistics, Statistics} from '#server/plan/statistics.ts';

/** What is known of the vertices in a slot. */
export interface VertexTypes {
  /** All are of this type or a subtype. */
  readonly type?: string | undefined;
  /** Shares by their very type. */
  readonly shares?: ReadonlyMap<string, number>;
}

interface Hop {
  readonly direction: Direction;
  /** Empty: all. */
  readonly types: readonly string[];
}

/** Edges of a vertex of which nothing is known. */
const degreeAssumed = 8;

export class Degrees {
  readonly #catalog: Catalog;
  readonly #statistics: Statistics;

  constructor(catalog: Catalog, statistics: Statistics) {
    this.#catalog = catalog;
    this.#statistics = statistics;
  }

  /** Edges of one vertex, and what is at their other ends. */
  hop(
    from: VertexTypes | undefined,
    {direction, types}: Hop,
  ): {
    readonly degree: number;
    readonly far: VertexTypes;
  } {
    const names = types.length > 0 ? types : this.#edgeTypes();
    const ways = direction === 'both' ? (['out', 'in'] as const) : [direction];
    const met = new Map<string, number>();
    let edges = 0;
    for (const name of names) {
      const known = this.#statistics.edges(name);
      if (known === undefined) return {degree: degreeAssumed, far: {}};
      for (const way of ways) {
        const share = this.#shareOf(known[near[way]], from?.type);
        edges += known.count * share;
        for (const [type, part] of known[near[reversed[way]]]) {
          met.set(type, (met.get(type) ?? 0) + known.count * share * part);
        }
      }
    }
    const shares = new Map([...met].map(([type, count]) => [type, count / Math.max(edges, 1e-9)]));
    const [only] = shares.size === 1 ? shares.keys() : [];
    const degree = edges / this.#vertices(from, names, ways);
    return {degree, far: {shares, ...(only !== undefined && {type: only})}};
  }

  /** Edges between two given vertices: mostly none, so mostly a share below 1. */
  connected(from: VertexTypes | undefined, to: VertexTypes | undefined, hop: Hop): number {
    const {degree, far} = this.hop(from, hop);
    const type = to?.type;
    const share = type === undefined ? 1 : (this.typeShare(far, type) ?? 1);
    const ends =
      type === undefined
        ? this.#vertices(undefined, hop.types, [reversed[hop.direction]])
        : (this.#statistics.recordCount(type) ?? 1_000);
    return (degree * share) / Math.max(1, ends);
  }

  /** The share of the vertices that are of a type; undefined: not known. */
  typeShare(vertices: VertexTypes, name: string): number | undefined {
    const type = this.#catalog.type(name);
    if (type === undefined) return 0;
    if (vertices.shares !== undefined) return this.#shareOf(vertices.shares, name);
    if (vertices.type === undefined) return undefined;
    const known = this.#catalog.type(vertices.type);
    if (known === undefined || type.familyIds.has(known.id)) return 1;
    if (!known.familyIds.has(type.id)) return 0;
    const [part, all] = [name, vertices.type].map(each => this.#statistics.recordCount(each));
    return part === undefined || all === undefined ? undefined : part / Math.max(1, all);
  }

  /** The vertices of the type; of those of which nothing is known, all that have such edges. */
  #vertices(
    from: VertexTypes | undefined,
    edgeTypes: readonly string[],
    ways: readonly Direction[],
  ): number {
    const names =
      from?.type === undefined
        ? new Set(
            edgeTypes.flatMap(name =>
              ways.flatMap(way => {
                const known = this.#statistics.edges(name);
                return known === undefined ? [] : [...known[near[way]].keys()];
              }),
            ),
          )
        : [from.type];
    let vertices = 0;
    for (const name of names) vertices += this.#statistics.recordCount(name) ?? 0;
    return Math.max(1, vertices);
  }

  #shareOf(shares: ReadonlyMap<string, number>, name: string | undefined): number {
    const type = name === undefined ? undefined : this.#catalog.type(name);
    if (type === undefined) return 1;
    return type.family.reduce((sum, member) => sum + (shares.get(member.name) ?? 0), 0);
  }

  #edgeTypes(): readonly string[] {
    return [...this.#catalog.types]
      .filter(type => type.kind === 'edge' && type.superTypes.length === 0)
      .map(type => type.name);
  }
}

/** Where an edge begins that is followed in a direction. */
const near: Readonly<Record<Direction, keyof Pick<EdgeStatistics, 'from' | 'to'>>> = {
  out: 'from',
  in: 'to',
  both: 'from',
};
