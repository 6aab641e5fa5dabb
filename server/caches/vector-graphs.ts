/** The graphs of one database: made where an index is searched, and told what changes. */
import {indexIdOf, indexRange} from '#server/layout/index-key.ts';
import type {DenseOptions} from '#server/indexes/dense-vectors.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import {type GraphEnvironment, VectorGraph} from './vector-graph.ts';

export class VectorGraphs {
  readonly #environment: GraphEnvironment;
  readonly #graphs = new Map<number, VectorGraph>();
  #feed: ChangeSubscription | undefined;

  constructor(environment: GraphEnvironment) {
    this.#environment = environment;
  }

  /** The graph of an index, if any is kept; begins to listen when nobody has yet. */
  open(indexId: number, options: DenseOptions): VectorGraph | undefined {
    if (this.#environment.memory.bytesMax === 0) return undefined;
    this.#feed ??= this.#environment.database.onChange(this.#listener());
    let graph = this.#graphs.get(indexId);
    if (graph === undefined) {
      graph = new VectorGraph(indexId, options, this.#environment, this.#feed.lastIndex);
      this.#graphs.set(indexId, graph);
    }
    return graph;
  }

  figuresOf(indexId: number): VectorGraph['figures'] {
    return this.#graphs.get(indexId)?.figures ?? {vectors: 0, waiting: 0, bytes: 0};
  }

  get figures(): {readonly graphs: number; readonly vectors: number; readonly waiting: number} {
    const each = Array.from(this.#graphs.values(), ({figures}) => figures);
    return {
      graphs: each.length,
      vectors: each.reduce((sum, {vectors}) => sum + vectors, 0),
      waiting: each.reduce((sum, {waiting}) => sum + waiting, 0),
    };
  }

  async settled(): Promise<void> {
    for (const graph of this.#graphs.values()) await graph.settled();
  }

  close(): void {
    this.#feed?.end();
    this.#feed = undefined;
    for (const graph of this.#graphs.values()) graph.close();
    this.#graphs.clear();
  }

  #listener(): ChangeListener {
    return {
      indexChanged: (bytes, at, end, index) => {
        this.#graphs.get(indexIdOf(bytes, at))?.entryChanged(bytes, end, index);
      },
      rangeEmptied: (start, end, index) => {
        for (const [indexId, graph] of this.#graphs) {
          const range = indexRange(indexId);
          const isApart =
            Buffer.compare(end, range.start) <= 0 || Buffer.compare(range.end, start) <= 0;
          if (!isApart) graph.emptied(index);
        }
      },
    };
  }
}
