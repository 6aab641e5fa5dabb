/** `values`: literal rows, each cell an expression over the enclosing row. */
import type {PlanNode} from '#server/plan/node.ts';
import {BatchBuilder, pause} from '../../batch.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {argumentCursor} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'values'};

export function prepareValues(node: Node, preparation: Preparation): Operator {
  const rows = node.rows.map(row => row.map(cell => preparation.expression(cell)));
  return function* values(context, argument) {
    const cursor = argumentCursor(context, argument);
    const builder = new BatchBuilder();
    for (const row of rows) {
      builder.copy(argument, 0);
      for (let at = 0; at < row.length; at++) {
        const slot = node.slots[at];
        const cell = row[at];
        if (slot !== undefined && cell !== undefined) builder.set(slot, cell(cursor));
      }
      if (builder.rowCount >= context.batchRows) {
        yield builder.take();
        if (context.budget.look()) yield pause;
      }
    }
    if (builder.rowCount > 0) yield builder.take();
  };
}
