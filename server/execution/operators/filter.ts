/** `filter`: passes the rows for which the condition is true. Order: the input's. */
import type {PlanNode} from '#server/plan/node.ts';
import {pause, unitBatch} from '../batch.ts';
import {RowCursor} from '../closure.ts';
import type {Operator, Preparation} from '../operator.ts';

type Node = PlanNode & {readonly kind: 'filter'};

export function prepareFilter(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const test = preparation.condition(node.condition);
  return function* filter(context, argument) {
    const cursor = new RowCursor(context, unitBatch);
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      cursor.enter(batch);
      const survivors: number[] = [];
      for (let row = 0; row < batch.rowCount; row++) {
        cursor.row = row;
        if (test(cursor)) survivors.push(row);
        if (context.budget.spend(1)) yield pause;
      }
      if (survivors.length === batch.rowCount) yield batch;
      else if (survivors.length > 0) yield batch.gather(survivors);
    }
  };
}
