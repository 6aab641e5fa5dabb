/**
 * `degree`: how many hops lead from a vertex, times the row's weight; rows without hops drop, or
 * are kept as they are.
 *
 * Each vertex of a batch is counted once, however many rows it stands in: from packed edges or by
 * counting keys. Hops are met one by one only where a condition asks for what lies at their end,
 * or a loop may count once.
 */
import type {PlanNode} from '#server/plan/node.ts';
import type {EdgeChoice} from '#server/caches/adjacency-chunk.ts';
import type {Rid} from '#server/model/value.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {type Pause, pause} from '../../batch.ts';
import {withLoopsOnce} from './follow.ts';
import type {HopFilter} from './hop-fan-out.ts';
import {prepareHopTest} from './hop-test.ts';
import {RecordMemo} from '../writes/record-memo.ts';
import {idsOf, type RidKey, ridKey} from './vertex-ids.ts';

type Node = PlanNode & {readonly kind: 'degree'};

export function prepareDegree(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const {direction, keepEmpty = false, weight, slot} = node;
  const hopTest = prepareHopTest({...node, edge: undefined}, preparation);
  const loopsOnce = node.loops === 'once' && direction === 'both';
  return function* degree(context, argument) {
    const types = context.graph.edgeTypes(node.types);
    const {ends, filter} = hopTest(context, new RecordMemo(context));
    const test = loopsOnce ? withLoopsOnce(filter) : filter;
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const {rids, rows} = idsOf(batch, node.from);
      const counts = yield* countsOf(rids, {choice: {direction, types, ends}, test, context});
      const factors = Array.from({length: batch.rowCount}, (): number => (keepEmpty ? 1 : 0));
      for (const [at, count] of counts.entries()) {
        if (count > 0) factors[rows[at] as number] = count;
      }
      const kept: number[] = [];
      const products: number[] = [];
      for (const [row, factor] of factors.entries()) {
        if (factor === 0) continue;
        kept.push(row);
        products.push(weight === undefined ? factor : factor * (batch.get(weight, row) as number));
      }
      if (kept.length > 0) yield batch.gather(kept).with(slot, products);
      if (context.budget.spend(batch.rowCount)) yield pause;
    }
  };
}

interface Counting {
  readonly choice: EdgeChoice;
  readonly test: HopFilter | undefined;
  readonly context: ExecutionContext;
}

/** How many hops each of the vertices has; the same vertex may come more than once. */
function* countsOf(
  rids: readonly Rid[],
  counting: Counting,
): Generator<Pause, readonly number[], undefined> {
  const places = new Map<RidKey, number>();
  const vertices: Rid[] = [];
  const placeOf = rids.map(rid => {
    const key = ridKey(rid);
    const place = places.get(key) ?? vertices.length;
    if (place === vertices.length) {
      places.set(key, place);
      vertices.push(rid);
    }
    return place;
  });
  const {test} = counting;
  const counts =
    test === undefined ? yield* counted(vertices, counting) : yield* met(vertices, counting, test);
  return placeOf.map(place => counts[place] ?? 0);
}

function* counted(
  vertices: readonly Rid[],
  {choice, context}: Counting,
): Generator<Pause, readonly number[], undefined> {
  const counting = context.graph.degrees(vertices, choice);
  try {
    while (counting.next()) if (context.budget.look()) yield pause;
    return counting.counts;
  } finally {
    counting.close();
  }
}

function* met(
  vertices: readonly Rid[],
  {choice, context}: Counting,
  test: HopFilter,
): Generator<Pause, readonly number[], undefined> {
  const counts = vertices.map(() => 0);
  const source = context.graph.hops(vertices, choice);
  try {
    for (;;) {
      const hops = source.next(context.batchRows);
      if (hops === undefined) return counts;
      for (const hop of test(hops, vertices)) counts[hop.source] = (counts[hop.source] ?? 0) + 1;
      if (context.budget.spend(hops.length)) yield pause;
    }
  } finally {
    source.close();
  }
}
