/**
 * `apply`: runs a sub-plan for every row of the input, with that row as its `argument`.
 *
 * Modes: `inner` and `left` give the row once a row of the sub-plan (left: once with nulls when
 * there is none), `semi` and `anti` pass the row when there is or is not one, `collect` binds
 * the list of a slot, `scalar` the slots of the only row, `for-each` runs for the effects.
 * Order: the input's, then the sub-plan's. A sub-plan that works row by row runs once a batch of
 * rows instead (apply-batch.ts).
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {Batches, Operator, Preparation} from '../operator.ts';
import {prepareBatchedApply} from './apply-batch.ts';
import {estimateValue} from '../expressions/value-size.ts';

type Node = PlanNode & {readonly kind: 'apply'};

export function prepareApply(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const plan = preparation.prepare(node.plan);
  const batched = prepareBatchedApply(node, input, plan);
  if (batched !== undefined) return batched;
  return function* apply(context, argument) {
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        yield* applyRow({node, plan, context, batch, row, builder});
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (context.budget.spend(2)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

interface RowRun {
  readonly node: Node;
  readonly plan: Operator;
  readonly context: ExecutionContext;
  readonly batch: Batch;
  readonly row: number;
  readonly builder: BatchBuilder;
}

function* applyRow(run: RowRun): Batches {
  const {node, plan, context, batch, row, builder} = run;
  const results = plan(context, batch.row(row));
  switch (node.mode) {
    case 'inner':
    case 'left':
      yield* joined(run, results);
      return;
    case 'semi':
    case 'anti':
      if ((yield* hasRow(results)) === (node.mode === 'semi')) builder.copy(batch, row);
      return;
    case 'collect': {
      assert(node.collect !== undefined, 'apply in mode collect says what it collects');
      const list = yield* collected(results, node.collect.from, context);
      builder.copy(batch, row);
      builder.set(node.collect.to, list);
      return;
    }
    case 'scalar':
      yield* scalar(run, results);
      return;
    case 'for-each':
      for (const result of results) if (result === pause) yield pause;
      builder.copy(batch, row);
      return;
    default:
      unreachable(node.mode);
  }
}

function* joined(run: RowRun, results: Batches): Batches {
  const {node, context, batch, row, builder} = run;
  let rows = 0;
  for (const result of results) {
    if (result === pause) {
      yield pause;
      continue;
    }
    rows += result.rowCount;
    for (let at = 0; at < result.rowCount; at++) {
      builder.copy(batch, row);
      for (const slot of node.slots) builder.set(slot, result.get(slot, at));
      if (builder.rowCount >= context.batchRows) yield builder.take();
    }
  }
  if (rows > 0 || node.mode === 'inner') return;
  builder.copy(batch, row);
  for (const slot of node.slots) builder.set(slot, null);
}

function* hasRow(results: Batches): Generator<Pause, boolean, undefined> {
  for (const result of results) {
    if (result === pause) yield pause;
    else if (result.rowCount > 0) return true;
  }
  return false;
}

/** The list counts as kept while it grows: one list never exceeds the memory of a statement. */
function* collected(
  results: Batches,
  slot: number,
  context: ExecutionContext,
): Generator<Pause, Value[], undefined> {
  const list: Value[] = [];
  let kept = 0;
  try {
    for (const result of results) {
      if (result === pause) yield pause;
      else {
        for (let at = 0; at < result.rowCount; at++) {
          const value = result.get(slot, at);
          const bytes = estimateValue(value);
          context.budget.keep(bytes);
          kept += bytes;
          list.push(value);
        }
      }
    }
    return list;
  } finally {
    context.budget.release(kept);
  }
}

function* scalar(run: RowRun, results: Batches): Generator<Pause, void, undefined> {
  const {node, batch, row, builder} = run;
  let only: Batch | undefined;
  for (const result of results) {
    if (result === pause) {
      yield pause;
      continue;
    }
    if (only !== undefined || result.rowCount > 1) {
      throw new Refusal('query.execution', 'a sub-query used as a single value has several rows');
    }
    only = result;
  }
  builder.copy(batch, row);
  for (const slot of node.slots) builder.set(slot, only?.get(slot, 0) ?? null);
}
