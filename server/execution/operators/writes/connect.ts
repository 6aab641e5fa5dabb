/**
 * `connect`: the edges between two bound ends, a row an edge; without an `edge` slot each pair
 * that is connected passes once.
 *
 * Pairs that come again are decided once. The hops of the `from` ends are read as long as they
 * are few beside the pairs; of what is left each pair is looked up by itself, so the cost never
 * follows the degree of a vertex.
 */
import {ridsEqual} from '#server/model/rid.ts';
import {type RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {EdgeTypes, Hop, HopEnds, Source} from '../../graph.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {isAmong, isLoopAgain} from '../hops/follow.ts';
import {type RidKey, ridKey, ridOf} from '../hops/vertex-ids.ts';

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
      const found = yield* new Between(node, types, context).hops(wanted);
      const builder = new BatchBuilder();
      for (let at = 0; at < wanted.rows.length; at++) {
        if (context.budget.spend(1)) yield pause;
        const hops = found[wanted.pairAt[at] as number];
        if (hops === undefined) continue;
        const pair = wanted.pairs[wanted.pairAt[at] as number] as HopEnds;
        const row = wanted.rows[at] as number;
        for (const edge of edgesOf(hops, pair, {node, loadEdges, context})) {
          if (isAmong(ridOf(edge) ?? noEdge, node.unlike, batch, row)) continue;
          builder.copy(batch, row);
          if (node.edge !== undefined) builder.set(node.edge, edge);
          if (builder.rowCount >= context.batchRows) yield builder.take();
        }
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
  /** The pairs by their first end: their numbers, by the other one. */
  readonly starts: readonly Start[];
  /** The rows that have both ends, and for each of them its pair. */
  readonly rows: readonly number[];
  readonly pairAt: readonly number[];
}

interface Start {
  readonly vertex: Rid;
  readonly pairs: Map<RidKey, number>;
}

function pairsOf(batch: Batch, node: Node): Wanted {
  const starts = new Map<RidKey, Start>();
  const pairs: HopEnds[] = [];
  const rows: number[] = [];
  const pairAt: number[] = [];
  let start: Start | undefined;
  for (let row = 0; row < batch.rowCount; row++) {
    const vertex = ridOf(batch.get(node.from, row));
    const other = ridOf(batch.get(node.to, row));
    if (vertex === undefined || other === undefined) continue;
    // Rows of one start often follow each other.
    if (start === undefined || !ridsEqual(start.vertex, vertex)) {
      const from = ridKey(vertex);
      start = starts.get(from) ?? {vertex, pairs: new Map()};
      starts.set(from, start);
    }
    const to = ridKey(other);
    const number = start.pairs.get(to) ?? pairs.length;
    if (number === pairs.length) {
      start.pairs.set(to, number);
      pairs.push({vertex, other});
    }
    rows.push(row);
    pairAt.push(number);
  }
  return {pairs, starts: [...starts.values()], rows, pairAt};
}

/** The hops of pairs, by their numbers; undefined for a pair without one. */
type FoundHops = (Hop[] | undefined)[];

function addHop(found: FoundHops, number: number, hop: Hop): void {
  const hops = found[number];
  if (hops === undefined) found[number] = [hop];
  else hops.push(hop);
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

  /** Yields the hops of each pair in their order. */
  *hops({pairs, starts}: Wanted): Generator<Pause, FoundHops, undefined> {
    const {graph} = this.#context;
    const choice = {direction: this.#node.direction, types: this.#types};
    const found: FoundHops = Array.from({length: pairs.length});
    let left = Math.max(hopsMin, pairs.length * hopsPerPair);
    // The vertex after the last one that was read to its end.
    let readBefore = 0;
    if (starts.length * 2 <= pairs.length) {
      const vertices = starts.map(start => start.vertex);
      const whole = yield* this.#drain(graph.hops(vertices, choice), hop => {
        readBefore = hop.source;
        const number = starts[hop.source]?.pairs.get(ridKey(hop.other));
        if (number !== undefined) addHop(found, number, hop);
        return --left > 0;
      });
      if (whole) readBefore = starts.length;
    }
    if (readBefore === starts.length) return found;
    const rest: number[] = [];
    for (const start of starts.slice(readBefore)) rest.push(...start.pairs.values());
    for (const number of rest) found[number] = undefined;
    const restPairs = rest.map(number => pairs[number] as HopEnds);
    yield* this.#drain(graph.hopsBetween(restPairs, choice), hop => {
      addHop(found, rest[hop.source] as number, hop);
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
