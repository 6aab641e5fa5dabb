/**
 * `extend`: binds slots to expressions, in order; a later one may use an earlier one.
 *
 * Sub-plans inside of the expressions may pause: the row is taken up again behind the pause.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {runsPlan} from '#server/plan/tree.ts';
import {type Batch, type Pause, pause, unitBatch} from '../batch.ts';
import {type Closure, RowCursor} from '../closure.ts';
import {KeptValues} from '../expressions/value-size.ts';
import type {Operator, Preparation} from '../operator.ts';
import {resumed, Resumption} from '../expressions/resumption.ts';

type Node = PlanNode & {readonly kind: 'extend'};

export function prepareExtend(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const bind = node.bind.map(({slot, value}) => ({slot, closure: preparation.expression(value)}));
  const mayPause = node.bind.some(({value}) => runsPlan(value));
  return function* extend(context, argument) {
    const resumption = mayPause ? new Resumption() : undefined;
    const cursor = new RowCursor(context, unitBatch, resumption);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      let extended = batch;
      const kept = new KeptValues(context.budget);
      try {
        for (const {slot, closure} of bind) {
          cursor.enter(extended);
          extended = extended.with(slot, yield* columnOf(closure, cursor, batch, kept));
        }
        yield extended;
      } finally {
        resumption?.clear();
        kept.release();
      }
      if (context.budget.look()) yield pause;
    }
  };
}

/** The values of an expression for all rows of a batch; it may be interrupted. */
function* columnOf(
  closure: Closure,
  cursor: RowCursor,
  batch: Batch,
  kept: KeptValues,
): Generator<Pause, Value[], undefined> {
  const {resumption} = cursor;
  const column: Value[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    cursor.row = row;
    const value =
      resumption === undefined
        ? closure(cursor)
        : yield* resumed(resumption, () => closure(cursor));
    kept.add(value);
    column.push(value);
    if (cursor.context.budget.spend(1)) yield pause;
  }
  return column;
}
