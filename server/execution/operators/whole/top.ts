/**
 * `top`: the first rows in the keys' order, as sort and limit would give them, in a heap.
 *
 * Memory: O(count + skip) rows, which count as kept. Ties go by the input's order, as in `sort`.
 * Where the keys are kept as columns, rows that do not belong to the first are not read at all;
 * of many rows the columns are sorted (sort-columns.ts).
 */
import {assert} from '#server/base/assert.ts';
import {Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, pause, unitBatch} from '../../batch.ts';
import {wholeNumber} from '../../expressions/arithmetic.ts';
import {RowCursor} from '../../closure.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {CandidateHeap, type CandidateRow} from './candidate-heap.ts';
import {tupleOrder} from './row-order.ts';
import {prepareColumnSort} from './sort-columns.ts';
import {argumentCursor, sourceBatch} from '../sources/source-rows.ts';
import {prepareColumnTop} from './top-columns.ts';

type Node = PlanNode & {readonly kind: 'top'};

/** Sorting all columns is cheaper than a heap from this many rows on. */
const sortedFrom = 512;

export function prepareTop(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const keys = node.keys.map(key => preparation.expression(key.by));
  const order = tupleOrder(node.keys);
  const count = preparation.expression(node.count);
  const skip = node.skip && preparation.expression(node.skip);
  const columns = prepareColumnTop(node, preparation);
  const columnSort = prepareColumnSort(node, preparation);
  return function* top(context, argument) {
    const cursor = argumentCursor(context, argument);
    const skipped = skip === undefined ? 0 : wholeNumber(skip(cursor), 'SKIP');
    const size = skipped + wholeNumber(count(cursor), 'LIMIT');
    if (size === 0) return;
    if (size >= sortedFrom && columnSort !== undefined) {
      const rows = yield* columnSort(context, argument, {from: skipped, to: size});
      if (rows !== undefined) return yield* rows;
    }
    const heap = new CandidateHeap(order, size, context.budget);
    const offerAll = function* (batches: Batches): Batches {
      const reader = new RowCursor(context, unitBatch);
      for (const batch of batches) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        reader.enter(batch);
        for (let row = 0; row < batch.rowCount; row++) {
          reader.row = row;
          const values = keys.map(key => key(reader));
          if (heap.accepts(values)) heap.put(values, batch.row(row));
          if (context.budget.spend(1)) yield pause;
        }
      }
    };
    try {
      const run = columns?.(context, argument, {heap, offerAll});
      yield* run ?? offerAll(input(context, argument));
      const best: CandidateRow[] = [];
      for (let worst = heap.takeWorst(); worst !== undefined; worst = heap.takeWorst()) {
        best.push(worst.row);
        if (context.budget.spend(1)) yield pause;
      }
      yield* rowsOf(best.reverse().slice(skipped), node, context, argument);
    } finally {
      heap.release();
    }
  };
}

/** The rows of the candidates, the records of those that are ids read at once. */
function* rowsOf(
  candidates: readonly CandidateRow[],
  {input}: Node,
  {graph, batchRows, budget}: ExecutionContext,
  argument: Batch,
): Batches {
  const slot = 'slot' in input ? input.slot : undefined;
  for (let start = 0; start < candidates.length; start += batchRows) {
    const some = candidates.slice(start, start + batchRows);
    const ids = some.filter(row => row instanceof Rid);
    const records = ids.length === 0 ? [] : graph.records(ids);
    const builder = new BatchBuilder();
    let next = 0;
    for (const row of some) {
      if (!(row instanceof Rid)) builder.copy(row, 0);
      else {
        assert(slot !== undefined, 'only of a scan are rows known by ids');
        builder.copy(sourceBatch(argument, slot, [records[next++] ?? null]), 0);
      }
    }
    yield builder.take();
    if (budget.look()) yield pause;
  }
}
