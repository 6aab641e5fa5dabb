/**
 * `extend`: binds slots to expressions, in order; a later one may use an earlier one.
 *
 * Sub-plans inside of the expressions may pause: the row is taken up again behind the pause.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {runsPlan} from '#server/plan/tree.ts';
import {type Batch, unitBatch} from '../batch.ts';
import {type Closure, Frame} from '../closure.ts';
import type {ExecutionContext} from '../context.ts';
import {KeptValues} from '../expressions/value-size.ts';
import {type Operator, type Pause, pause, type Preparation} from '../operator.ts';
import {Interruption, Resumption} from '../expressions/resumption.ts';

type Node = PlanNode & {readonly kind: 'extend'};

export function prepareExtend(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const bind = node.bind.map(({slot, value}) => ({slot, closure: preparation.expression(value)}));
  const mayPause = node.bind.some(({value}) => runsPlan(value));
  return function* extend(context, argument) {
    const resumption = mayPause ? new Resumption() : undefined;
    const frame = new Frame(context, unitBatch, resumption);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      let extended = batch;
      const kept = new KeptValues(context.budget);
      try {
        for (const {slot, closure} of bind) {
          frame.enter(extended);
          const column =
            resumption === undefined
              ? columnOf(closure, frame, batch, kept)
              : yield* pausingColumnOf(closure, frame, {batch, kept, resumption});
          extended = extended.with(slot, column);
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

/** The values of an expression for all rows of a batch. */
function columnOf(closure: Closure, frame: Frame, batch: Batch, kept: KeptValues): Value[] {
  const {budget}: ExecutionContext = frame.context;
  const column: Value[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    frame.row = row;
    const value = closure(frame);
    kept.add(value);
    column.push(value);
    budget.spend(1);
  }
  return column;
}

/** As `columnOf`, for an expression that may be interrupted. */
function* pausingColumnOf(
  closure: Closure,
  frame: Frame,
  state: {readonly batch: Batch; readonly kept: KeptValues; readonly resumption: Resumption},
): Generator<Pause, Value[], undefined> {
  const {batch, kept, resumption} = state;
  const column: Value[] = [];
  for (let row = 0; row < batch.rowCount; row++) {
    frame.row = row;
    while (column.length === row) {
      resumption.rewind();
      try {
        const value = closure(frame);
        kept.add(value);
        column.push(value);
      } catch (error) {
        if (!(error instanceof Interruption)) throw error;
        yield pause;
      }
    }
    resumption.clear();
    if (frame.context.budget.spend(2)) yield pause;
  }
  return column;
}
