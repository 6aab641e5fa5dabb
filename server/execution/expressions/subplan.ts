/**
 * Plans inside expressions: run for the frame's row, or once a run when they do not depend on it.
 *
 * The sub-plan's `argument` is one row with all slots of the frame, those that enclosing
 * comprehensions bind included. Pauses inside are passed over: the outer operator pauses soon.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {Batch, type Column} from '../batch.ts';
import type {Budget} from '../budget.ts';
import {type Batches, type Operator, pause} from '../operator.ts';
import {estimateValue} from '../memory-estimate.ts';
import type {Closure, Frame, Scope} from '../closure.ts';
import type {ExpressionCompiler} from './compile.ts';

type Subplan = Expression & {readonly kind: 'subplan'};

export function compileSubplan(expression: Subplan, compiler: ExpressionCompiler): Closure {
  const operator = compiler.prepare(expression.plan);
  const run = (frame: Frame): Value => answer(expression, operator, frame, compiler.scope);
  if (expression.correlated) return run;
  return frame => {
    const {memo} = frame.context;
    const known = memo.get(expression);
    if (known !== undefined) return known;
    const value = run(frame);
    memo.set(expression, value);
    return value;
  };
}

function answer(expression: Subplan, operator: Operator, frame: Frame, scope: Scope): Value {
  const batches = operator(frame.context, argumentOf(frame, scope));
  switch (expression.mode) {
    case 'exists':
      return exists(batches);
    case 'count': {
      let count = 0;
      for (const batch of batches) if (batch !== pause) count += batch.rowCount;
      return count;
    }
    case 'collect':
      return collect(batches, expression.slot, frame.context.budget);
    case 'scalar':
      return scalar(batches, expression.slot);
    default:
      return unreachable(expression.mode);
  }
}

function argumentOf(frame: Frame, scope: Scope): Batch {
  const columns: (Column | undefined)[] = frame.columns.map(
    column => column && [column[frame.row] as Value],
  );
  for (const slot of scope) {
    while (columns.length < slot) columns.push(undefined);
    columns[slot] = [frame.locals[slot] ?? null];
  }
  return new Batch(columns, 1);
}

function exists(batches: Batches): boolean {
  for (const batch of batches) if (batch !== pause && batch.rowCount > 0) return true;
  return false;
}

/** The list counts as kept while it grows. */
function collect(batches: Batches, slot: number, budget: Budget): Value[] {
  const values: Value[] = [];
  let kept = 0;
  try {
    for (const batch of batches) {
      if (batch === pause) continue;
      for (let row = 0; row < batch.rowCount; row++) {
        const value = batch.get(slot, row);
        const bytes = estimateValue(value);
        budget.keep(bytes);
        kept += bytes;
        values.push(value);
      }
    }
    return values;
  } finally {
    budget.release(kept);
  }
}

function scalar(batches: Batches, slot: number): Value {
  let value: Value = null;
  let rows = 0;
  for (const batch of batches) {
    if (batch === pause) continue;
    rows += batch.rowCount;
    if (rows > 1) {
      throw new Refusal('query.execution', 'a sub-query used as a single value has several rows');
    }
    value = batch.get(slot, 0);
  }
  return value;
}
