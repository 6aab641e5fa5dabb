/**
 * `ranked`: the best records of a search index, best first, of equal scores the lesser id.
 *
 * A query that is null finds nothing; a count that is no whole number is one that bounds nothing,
 * since what stands above refuses it.
 */
import type {ScoredRid} from '#server/indexes/ranked-search.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effortOf} from '../../functions/searches.ts';
import {float} from '../../functions/vectors/vector-arguments.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {pause} from '../../batch.ts';
import {argumentFrame, sourceBatch} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'ranked'};

export function prepareRanked(node: Node, preparation: Preparation): Operator {
  const query = preparation.expression(node.query);
  const count = node.count && preparation.expression(node.count);
  const idSuffices = preparation.idSuffices(node.slot);
  return function* ranked(context, argument) {
    const frame = argumentFrame(context, argument);
    const value = query(frame);
    if (value === null) return;
    const found = context.graph.ranked(
      node.index,
      {query: {value}, k: bound(count?.(frame)), only: node.only},
      effortOf(context.budget),
    );
    for (let start = 0; start < found.length; start += context.batchRows) {
      const part = found.slice(start, start + context.batchRows);
      const [records, scores] = idSuffices ? idsOf(part) : recordsOf(part, context.graph);
      if (records.length > 0) {
        yield sourceBatch(argument, node.slot, records).with(node.score, scores);
      }
      if (context.budget.spend(part.length * 2)) yield pause;
    }
  };
}

function bound(count: Value | undefined): number {
  return typeof count === 'number' && Number.isInteger(count) && count >= 0
    ? count
    : Number.POSITIVE_INFINITY;
}

function idsOf(found: readonly ScoredRid[]): readonly [readonly Value[], readonly Value[]] {
  return [found.map(({rid}) => rid), found.map(({score}) => float(score))];
}

function recordsOf(
  found: readonly ScoredRid[],
  graph: {records(rids: readonly ScoredRid['rid'][]): readonly (Value | undefined)[]},
): readonly [readonly Value[], readonly Value[]] {
  const records: Value[] = [];
  const scores: Value[] = [];
  const loaded = graph.records(found.map(({rid}) => rid));
  for (const [at, {score}] of found.entries()) {
    const record = loaded[at];
    if (record === undefined) continue;
    records.push(record);
    scores.push(float(score));
  }
  return [records, scores];
}
