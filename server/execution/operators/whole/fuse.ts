/**
 * `fuse`: the rankings of several inputs as one, best first, of equal scores the lesser id.
 *
 * It keeps ids and scores of the inputs, no records; those of the answer are read in its order, no
 * more than are asked for.
 */
import {type RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {fuse, type FusionSource, type RankedItem} from '../../functions/vectors/fusion.ts';
import {fusionOf, requireScores} from '../../functions/vectors/fusion-options.ts';
import {float, rankedRow, scoreOfValue} from '../../functions/vectors/vector-arguments.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {argumentCursor, sourceBatch} from '../sources/source-rows.ts';

type Node = PlanNode & {readonly kind: 'fuse'};
type Leg = Node['legs'][number];

/** What an id and its score take while they are kept, roughly. */
const bytesPerItem = 64;

export function prepareFuse(node: Node, preparation: Preparation): Operator {
  const inputs = node.inputs.map(input => preparation.prepare(input));
  const options = [
    ['fusion', node.strategy],
    ['k', node.constant],
    ['weights', node.weights],
    ['limit', node.count],
  ] as const;
  const given = options.flatMap(([name, value]) =>
    value === undefined ? [] : [[name, preparation.expression(value)] as const],
  );
  return function* fused(context, argument) {
    const {budget} = context;
    const cursor = argumentCursor(context, argument);
    const values = given.map(([name, value]): [string, Value] => [name, value(cursor)]);
    const fusion = fusionOf(new Map(values), inputs.length);
    const sources: FusionSource[] = [];
    let kept = 0;
    try {
      for (const [at, input] of inputs.entries()) {
        const leg = node.legs[at] as Leg;
        const items = yield* itemsOf(input(context, argument), leg, context);
        kept += items.length * bytesPerItem;
        requireScores(items, fusion.strategy, at);
        sources.push({items, weight: fusion.weights[at] ?? 1});
      }
      yield* inOrder(fuse(sources, fusion.strategy, fusion.constant), fusion.limit);
    } finally {
      budget.release(kept);
    }

    /** The first `limit` that are there, read a batch at a time. */
    function* inOrder(ranked: readonly RankedItem[], limit: number): Batches {
      let left = limit;
      for (let start = 0; start < ranked.length && left > 0; ) {
        const part = ranked.slice(start, start + Math.min(context.batchRows, left));
        start += part.length;
        const found = recordsOf(part, context);
        left -= found.length;
        if (found.length > 0) {
          const records = found.map(([record]) => record);
          const scores = found.map(([, score]) => score);
          yield sourceBatch(argument, node.slot, records).with(node.score, scores);
        }
        if (budget.spend(part.length * 2)) yield pause;
      }
    }
  };
}

function recordsOf(
  part: readonly RankedItem[],
  {graph}: ExecutionContext,
): readonly (readonly [RecordValue, Value])[] {
  const records = graph.records(part.map(({rid}) => rid));
  return part.flatMap(({score}, at) => {
    const record = records[at];
    return record === undefined ? [] : [[record, float(score)] as const];
  });
}

function* itemsOf(
  rows: Batches,
  leg: Leg,
  {budget}: ExecutionContext,
): Generator<Pause, readonly RankedItem[], undefined> {
  const items: RankedItem[] = [];
  let isComplete = false;
  try {
    for (const batch of rows) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      const before = items.length;
      for (let row = 0; row < batch.rowCount; row += 1) {
        const item = itemOf(batch, row, leg);
        if (item !== undefined) items.push(item);
      }
      budget.keep((items.length - before) * bytesPerItem);
      if (budget.spend(batch.rowCount)) yield pause;
    }
    isComplete = true;
    return items;
  } finally {
    if (!isComplete) budget.release(items.length * bytesPerItem);
  }
}

function itemOf(batch: Batch, row: number, {row: slot, score, isDistance}: Leg) {
  const value = batch.get(slot, row);
  if (score === undefined) return rankedRow(value);
  const rid = value instanceof Rid ? value : rankedRow(value)?.rid;
  if (rid === undefined) return undefined;
  const own = scoreOfValue(batch.get(score, row));
  return {rid, score: isDistance ? -own : own};
}
