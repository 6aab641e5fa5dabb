/**
 * `connect`: the edges between two bound ends, a row an edge; without an `edge` slot each pair
 * that is connected passes once.
 *
 * Pairs that come again are decided once. The hops of the `from` ends are read as long as they
 * are few beside the pairs; of what is left each pair is looked up by itself, so the cost never
 * follows the degree of a vertex.
 */
import {type RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {EdgeTypes, Hop, HopEnds, Source} from '../graph.ts';
import {type Operator, type Pause, pause, type Preparation} from '../operator.ts';
import {isAmong, isLoopAgain} from './follow.ts';
import {type RidKey, ridKey, ridOf} from './vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'connect'};

/** Hops read from the starts for each pair, before pairs are looked up one by one. */
const hopsPerPair = 2;
const hopsMin = 64;
/** Stands for an edge that a pair without one has. */
const noEdge = new Rid(0, -1);
/** Hops of one call. */
const portion = 1_024;

export function prepareConnect(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const loadEdges = node.edge !== undefined && !preparation.idSuffices(node.edge);
  return function* connect(context, argument) {
    const types = context.graph.edgeTypes(node.types);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const wanted = pairsOf(batch, node);
      const found = yield* new Between(node, types, context).hops(wanted.pairs);
      const builder = new BatchBuilder();
      for (let at = 0; at < wanted.rows.length; at++) {
        const pair = wanted.pairs[wanted.pairAt[at] as number] as HopEnds;
        const hops = found[wanted.pairAt[at] as number] as readonly Hop[];
        const row = wanted.rows[at] as number;
        for (const edge of edgesOf(hops, pair, {node, loadEdges, context})) {
          if (isAmong(ridOf(edge) ?? noEdge, node.unlike, batch, row)) continue;
          builder.copy(batch, row);
          if (node.edge !== undefined) builder.set(node.edge, edge);
          if (builder.rowCount >= context.batchRows) yield builder.take();
        }
        if (context.budget.spend(1)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

function edgesOf(
  all: readonly Hop[],
  pair: HopEnds,
  parts: {readonly node: Node; readonly loadEdges: boolean; readonly context: ExecutionContext},
): readonly (RecordValue | Rid)[] {
  const {loops, direction} = parts.node;
  const hops =
    loops === 'once' && direction === 'both'
      ? all.filter(hop => !isLoopAgain(hop, pair.vertex))
      : all;
  if (parts.node.edge === undefined) return hops.slice(0, 1).map(hop => hop.edge);
  if (!parts.loadEdges || hops.length === 0) return hops.map(hop => hop.edge);
  const own = hops.map(hop => ({...hop, source: 0}));
  const edges = parts.context.graph.hopEdges(own, [pair.vertex]);
  return edges.filter(edge => edge !== undefined);
}

interface Wanted {
  readonly pairs: readonly HopEnds[];
  /** The rows that have both ends, and for each of them its pair. */
  readonly rows: readonly number[];
  readonly pairAt: readonly number[];
}

function pairsOf(batch: Batch, node: Node): Wanted {
  const numbers = new Map<RidKey, Map<RidKey, number>>();
  const pairs: HopEnds[] = [];
  const rows: number[] = [];
  const pairAt: number[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    const vertex = ridOf(batch.get(node.from, row));
    const other = ridOf(batch.get(node.to, row));
    if (vertex === undefined || other === undefined) continue;
    const from = ridKey(vertex);
    const ends = numbers.get(from) ?? new Map<RidKey, number>();
    numbers.set(from, ends);
    const to = ridKey(other);
    const number = ends.get(to) ?? pairs.length;
    if (number === pairs.length) {
      ends.set(to, number);
      pairs.push({vertex, other});
    }
    rows.push(row);
    pairAt.push(number);
  }
  return {pairs, rows, pairAt};
}

/** Finds the hops of the pairs of one batch. */
class Between {
  readonly #node: Node;
  readonly #types: EdgeTypes;
  readonly #context: ExecutionContext;

  constructor(node: Node, types: EdgeTypes, context: ExecutionContext) {
    this.#node = node;
    this.#types = types;
    this.#context = context;
  }

  /** For each pair its hops in their order. */
  *hops(pairs: readonly HopEnds[]): Generator<Pause, readonly (readonly Hop[])[], undefined> {
    const {graph} = this.#context;
    const choice = {direction: this.#node.direction, types: this.#types};
    const found: Hop[][] = pairs.map(() => []);
    const byStart = new Map<RidKey, {readonly vertex: Rid; readonly pairs: Map<RidKey, number>}>();
    pairs.forEach(({vertex, other}, number) => {
      const key = ridKey(vertex);
      const start = byStart.get(key) ?? {vertex, pairs: new Map<RidKey, number>()};
      byStart.set(key, start);
      start.pairs.set(ridKey(other), number);
    });
    const starts = [...byStart.values()];
    let left = Math.max(hopsMin, pairs.length * hopsPerPair);
    // The vertex after the last one that was read to its end.
    let readBefore = 0;
    if (starts.length * 2 <= pairs.length) {
      const vertices = starts.map(start => start.vertex);
      const whole = yield* this.#drain(graph.hops(vertices, choice), hop => {
        readBefore = hop.source;
        const number = starts[hop.source]?.pairs.get(ridKey(hop.other));
        if (number !== undefined) found[number]?.push(hop);
        return --left > 0;
      });
      if (whole) readBefore = starts.length;
    }
    if (readBefore === starts.length) return found;
    const rest: number[] = [];
    for (const start of starts.slice(readBefore)) rest.push(...start.pairs.values());
    for (const number of rest) found[number] = [];
    const restPairs = rest.map(number => pairs[number] as HopEnds);
    yield* this.#drain(graph.hopsBetween(restPairs, choice), hop => {
      found[rest[hop.source] as number]?.push(hop);
      return true;
    });
    return found;
  }

  /** False when `take` ended it. */
  *#drain(source: Source<Hop>, take: (hop: Hop) => boolean): Generator<Pause, boolean, undefined> {
    try {
      for (;;) {
        const hops = source.next(portion);
        if (hops === undefined) return true;
        for (const hop of hops) if (!take(hop)) return false;
        if (this.#context.budget.spend(hops.length)) yield pause;
      }
    } finally {
      source.close();
    }
  }
}
