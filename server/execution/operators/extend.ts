/** `extend`: binds slots to expressions, in order; a later one may use an earlier one. */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {unitBatch} from '../batch.ts';
import {Frame} from '../closure.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {KeptValues} from '../memory-estimate.ts';

type Node = PlanNode & {readonly kind: 'extend'};

export function prepareExtend(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const bind = node.bind.map(({slot, value}) => ({slot, closure: preparation.expression(value)}));
  return function* extend(context, argument) {
    const frame = new Frame(context, unitBatch);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      let extended = batch;
      const columns = new KeptValues(context.budget);
      try {
        for (const {slot, closure} of bind) {
          frame.enter(extended);
          const column: Value[] = [];
          for (let row = 0; row < batch.rowCount; row++) {
            frame.row = row;
            const value = closure(frame);
            columns.add(value);
            column.push(value);
            context.budget.spend(1);
          }
          extended = extended.with(slot, column);
        }
        yield extended;
      } finally {
        columns.release();
      }
      if (context.budget.look()) yield pause;
    }
  };
}
