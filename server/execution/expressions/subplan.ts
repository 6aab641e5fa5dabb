/**
 * Plans inside expressions: run for the cursor's row, or once a run when they do not depend on it.
 *
 * The sub-plan's `argument` is one row with all slots of the cursor, those that enclosing
 * comprehensions bind included. Pauses inside interrupt the expression where the cursor says how it
 * is resumed (resumption.ts); elsewhere they are passed over.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {Batch, type Column, pause} from '../batch.ts';
import type {Budget} from '../budget.ts';
import type {Batches, Operator} from '../operator.ts';
import {bounded, estimateValue} from './value-size.ts';
import type {Answering} from './resumption.ts';
import type {Closure, RowCursor, Scope} from '../closure.ts';

type Subplan = Expression & {readonly kind: 'subplan'};

interface PlanCompiler {
  readonly scope: Scope;
  prepare(plan: PlanNode): Operator;
}

export function compileSubplan(expression: Subplan, compiler: PlanCompiler): Closure {
  const operator = compiler.prepare(expression.plan);
  const {scope} = compiler;
  const run = (cursor: RowCursor): Value => {
    const start = (): Answering => answering(expression, operator, cursor, scope);
    return cursor.resumption === undefined
      ? toTheEnd(start())
      : cursor.resumption.valueOf(expression, start, !expression.correlated);
  };
  if (expression.correlated) return run;
  return cursor => {
    const {memo} = cursor.context;
    const known = memo.get(expression);
    if (known !== undefined) return known;
    const value = run(cursor);
    memo.set(expression, value);
    return value;
  };
}

function toTheEnd(answer: Answering): Value {
  for (;;) {
    const step = answer.next();
    if (step.done === true) return step.value;
  }
}

function* answering(
  expression: Subplan,
  operator: Operator,
  cursor: RowCursor,
  scope: Scope,
): Answering {
  const batches = operator(cursor.context, argumentOf(cursor, scope));
  switch (expression.mode) {
    case 'exists':
      return yield* exists(batches);
    case 'count':
      return yield* count(batches);
    case 'collect':
      return yield* collect(batches, expression.slot, cursor.context.budget);
    case 'scalar':
      return yield* scalar(batches, expression.slot);
    default:
      return unreachable(expression.mode);
  }
}

function argumentOf(cursor: RowCursor, scope: Scope): Batch {
  const columns: (Column | undefined)[] = cursor.columns.map(
    column => column && [column[cursor.row] as Value],
  );
  for (const slot of scope) {
    while (columns.length < slot) columns.push(undefined);
    columns[slot] = [cursor.locals[slot] ?? null];
  }
  return new Batch(columns, 1);
}

function* exists(batches: Batches): Answering {
  for (const batch of batches) {
    if (batch === pause) yield pause;
    else if (batch.rowCount > 0) return true;
  }
  return false;
}

function* count(batches: Batches): Answering {
  let rows = 0;
  for (const batch of batches) {
    if (batch === pause) yield pause;
    else rows += batch.rowCount;
  }
  return rows;
}

/** The list counts as kept while it grows. */
function* collect(batches: Batches, slot: number, budget: Budget): Answering {
  const values: Value[] = [];
  let kept = 0;
  try {
    for (const batch of batches) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        const value = batch.get(slot, row);
        const bytes = estimateValue(value);
        budget.keep(bytes);
        kept += bytes;
        values.push(value);
      }
    }
    return bounded(values, budget);
  } finally {
    budget.release(kept);
  }
}

function* scalar(batches: Batches, slot: number): Answering {
  let value: Value = null;
  let rows = 0;
  for (const batch of batches) {
    if (batch === pause) {
      yield pause;
      continue;
    }
    rows += batch.rowCount;
    if (rows > 1) {
      throw new Refusal('query.execution', 'a sub-query used as a single value has several rows');
    }
    value = batch.get(slot, 0);
  }
  return value;
}
