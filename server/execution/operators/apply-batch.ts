/**
 * `apply` of a sub-plan that works row by row: one run of it for a whole batch of rows.
 *
 * The rows are numbered, and each row of the answer tells by its number whose it is; they come
 * in the order of the rows (row-plan.ts). `semi` and `anti` need but one row each: when a few
 * rows are answered at length, the run is ended and begun again behind them, so that a vertex
 * with a million edges costs a few portions and not all of them.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {Batches, Operator} from '../operator.ts';
import {estimateValue} from '../expressions/value-size.ts';
import {isRowWise, numbered, slotAbove} from './row-plan.ts';

type Node = PlanNode & {readonly kind: 'apply'};

/** Rows of one argument row, beyond the first, that a semi apply looks at before it starts anew. */
const surplusRowsMax = 2_048;

interface Parts {
  readonly node: Node;
  readonly plan: Operator;
  readonly numberSlot: number;
}

/** Undefined: the sub-plan must run row by row. */
export function prepareBatchedApply(
  node: Node,
  input: Operator,
  plan: Operator,
): Operator | undefined {
  const {mode} = node;
  if (mode === 'for-each' || mode === 'scalar' || !isRowWise(node.plan)) return undefined;
  const parts: Parts = {node, plan, numberSlot: slotAbove(node.plan)};
  return function* apply(context, argument) {
    for (const batch of input(context, argument)) {
      if (batch === pause) yield pause;
      else if (mode === 'semi' || mode === 'anti') yield* filtered(parts, context, batch);
      else if (mode === 'collect') yield* collected(parts, context, batch);
      else yield* joined(parts, context, batch);
      if (context.budget.look()) yield pause;
    }
  };
}

/** The run for `batch`, and the slot in which its rows are numbered. */
function start({plan, numberSlot}: Parts, context: ExecutionContext, batch: Batch) {
  const slot = Math.max(numberSlot, batch.columns.length);
  return {slot, results: plan(context, numbered(batch, slot))};
}

function* filtered(parts: Parts, context: ExecutionContext, batch: Batch): Batches {
  const wanted = parts.node.mode === 'semi';
  const answered = new Uint8Array(batch.rowCount);
  for (let from = 0; from < batch.rowCount; ) {
    from += yield* answer(parts, context, {
      batch: batch.slice(from, batch.rowCount),
      mark: row => {
        answered[from + row] = 1;
      },
    });
  }
  const kept: number[] = [];
  answered.forEach((found, row) => {
    if ((found === 1) === wanted) kept.push(row);
  });
  if (kept.length === batch.rowCount) yield batch;
  else if (kept.length > 0) yield batch.gather(kept);
}

/** Marks the rows that have an answer; returns how many rows are decided. */
function* answer(
  parts: Parts,
  context: ExecutionContext,
  {batch, mark}: {readonly batch: Batch; readonly mark: (row: number) => void},
): Generator<Pause, number, undefined> {
  const {slot, results} = start(parts, context, batch);
  let last = -1;
  let surplus = 0;
  for (const result of results) {
    if (result === pause) {
      yield pause;
      continue;
    }
    for (let at = 0; at < result.rowCount; at++) {
      const row = result.get(slot, at) as number;
      if (row === last) surplus++;
      else {
        mark(row);
        surplus = 0;
      }
      last = row;
    }
    if (surplus > surplusRowsMax) return last + 1;
  }
  return batch.rowCount;
}

function* joined(parts: Parts, context: ExecutionContext, batch: Batch): Batches {
  const {node} = parts;
  const {slot, results} = start(parts, context, batch);
  const builder = new BatchBuilder();
  let next = 0;
  const passEmpty = (end: number): void => {
    for (; next < end; next++) {
      if (node.mode !== 'left') continue;
      builder.copy(batch, next);
      for (const bound of node.slots) builder.set(bound, null);
    }
  };
  for (const result of results) {
    if (result === pause) {
      yield pause;
      continue;
    }
    for (let at = 0; at < result.rowCount; at++) {
      const row = result.get(slot, at) as number;
      passEmpty(row);
      next = row + 1;
      builder.copy(batch, row);
      for (const bound of node.slots) builder.set(bound, result.get(bound, at));
      if (builder.rowCount >= context.batchRows) yield builder.take();
    }
  }
  passEmpty(batch.rowCount);
  if (builder.rowCount > 0) yield builder.take();
}

/** The lists count as kept while they grow. */
function* collected(parts: Parts, context: ExecutionContext, batch: Batch): Batches {
  const {collect} = parts.node;
  if (collect === undefined) return;
  const {slot, results} = start(parts, context, batch);
  const lists: Value[][] = Array.from({length: batch.rowCount}, () => []);
  let kept = 0;
  try {
    for (const result of results) {
      if (result === pause) {
        yield pause;
        continue;
      }
      for (let at = 0; at < result.rowCount; at++) {
        const value = result.get(collect.from, at);
        const bytes = estimateValue(value);
        context.budget.keep(bytes);
        kept += bytes;
        lists[result.get(slot, at) as number]?.push(value);
      }
    }
    yield batch.with(collect.to, lists);
  } finally {
    context.budget.release(kept);
  }
}
