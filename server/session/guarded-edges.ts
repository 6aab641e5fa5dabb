/**
 * Edges as far as a user may read them: following one asks for the right on its type, since that
 * two records are connected is what an edge says.
 *
 * An edge type that is named is asked for at once. Where every type is followed, the right is asked
 * for the types of the edges that are met, and what is only counted is met one by one then.
 */
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {EdgeTypes, Graph, Hop, HopCounts, Source} from '#server/execution/graph.ts';
import type {RecordValue, Rid} from '#server/model/value.ts';
import type {TypeGuard} from './type-guard.ts';

const hopsAtOnce = 1_024;

export class GuardedEdges {
  readonly #graph: Graph;
  readonly #guard: TypeGuard;
  readonly #catalog: Catalog;
  #allReadable: boolean | undefined;

  constructor(graph: Graph, guard: TypeGuard, catalog: Catalog) {
    this.#graph = graph;
    this.#guard = guard;
    this.#catalog = catalog;
  }

  /** Whether no edge type of the database is kept from the user. */
  get allReadable(): boolean {
    this.#allReadable ??= this.#guard.allowsAll('readRecord', this.#edgeTypeNames());
    return this.#allReadable;
  }

  /** @throws {Refusal} `security.denied` for a type that is named and may not be read. */
  types(names: readonly string[]): EdgeTypes {
    const types = this.#graph.edgeTypes(names);
    for (const name of names) this.#guard.require('readRecord', name);
    return types;
  }

  hops(vertices: readonly Rid[], choice: EdgeChoice): Source<Hop> {
    return this.asked(this.#graph.hops(vertices, choice));
  }

  /** The same edges; the first that may not be read refuses. */
  asked(source: Source<Hop>): Source<Hop> {
    if (this.allReadable) return source;
    return {
      next: max => {
        const hops = source.next(max);
        for (const {typeId} of hops ?? []) this.#require('readRecord', typeId);
        return hops;
      },
      close: () => source.close(),
    };
  }

  degrees(vertices: readonly Rid[], choice: EdgeChoice): HopCounts {
    if (this.allReadable) return this.#graph.degrees(vertices, choice);
    const source = this.hops(vertices, choice);
    const counts = vertices.map(() => 0);
    return {
      counts,
      next() {
        const hops = source.next(hopsAtOnce);
        for (const hop of hops ?? []) counts[hop.source] = (counts[hop.source] ?? 0) + 1;
        return hops !== undefined;
      },
      close: () => source.close(),
    };
  }

  /** A vertex takes its edges with it. @throws {Refusal} `security.denied`. */
  requireDeletable(record: RecordValue): void {
    if (record.kind !== 'vertex') return;
    if (this.#guard.allowsAll('deleteRecord', this.#edgeTypeNames())) return;
    const source = this.#graph.hops([record.rid], {direction: 'both', types: undefined});
    try {
      for (let hops = source.next(hopsAtOnce); hops !== undefined; hops = source.next(hopsAtOnce)) {
        for (const {typeId} of hops) this.#require('deleteRecord', typeId);
      }
    } finally {
      source.close();
    }
  }

  #require(right: 'readRecord' | 'deleteRecord', typeId: number): void {
    const type = this.#catalog.typeById(typeId);
    if (type !== undefined) this.#guard.require(right, type.name);
  }

  #edgeTypeNames(): readonly string[] {
    return [...this.#catalog.types].filter(({kind}) => kind === 'edge').map(({name}) => name);
  }
}
