/**
 * `unnest`: one row an item of a list. A map or single value counts as one item, null as none,
 * unless `keepEmpty` lets a row without items pass with null.
 */
import type {PlanNode} from '#server/plan/node.ts';
import {BatchBuilder, pause, unitBatch} from '../batch.ts';
import {asItems} from '../expressions/access.ts';
import {RowCursor} from '../closure.ts';
import type {Operator, Preparation} from '../operator.ts';

type Node = PlanNode & {readonly kind: 'unnest'};

export function prepareUnnest(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const list = preparation.expression(node.list);
  return function* unnest(context, argument) {
    const cursor = new RowCursor(context, unitBatch);
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        cursor.enter(batch);
        cursor.row = row;
        const items = asItems(list(cursor));
        for (const item of items.length === 0 && node.keepEmpty ? [null] : items) {
          builder.copy(batch, row);
          builder.set(node.slot, item);
          if (builder.rowCount >= context.batchRows) yield builder.take();
          if (context.budget.spend(1)) yield pause;
        }
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}
