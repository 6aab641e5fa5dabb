/** `distinct`: the first row of each distinct tuple, in the input's order. */
import {groupKey, joinKeys} from '#server/model/compare.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {pause, unitBatch} from '../../batch.ts';
import {RowCursor} from '../../closure.ts';
import type {Operator, Preparation} from '../../operator.ts';

type Node = PlanNode & {readonly kind: 'distinct'};

const entryBytes = 64;

export function prepareDistinct(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const by = node.by.map(expression => preparation.expression(expression));
  const [only] = by;
  const keyOf =
    by.length === 1 && only !== undefined
      ? (cursor: RowCursor): string | number => groupKey(only(cursor))
      : (cursor: RowCursor): string | number => joinKeys(by.map(closure => closure(cursor)));
  return function* distinct(context, argument) {
    const seen = new Set<string | number>();
    const cursor = new RowCursor(context, unitBatch);
    let kept = 0;
    try {
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        cursor.enter(batch);
        const rows: number[] = [];
        for (let row = 0; row < batch.rowCount; row++) {
          cursor.row = row;
          if (context.budget.spend(1)) yield pause;
          const key = keyOf(cursor);
          if (seen.has(key)) continue;
          seen.add(key);
          rows.push(row);
          const bytes = entryBytes + (typeof key === 'string' ? key.length : 0);
          kept += bytes;
          context.budget.keep(bytes);
        }
        if (rows.length === batch.rowCount) yield batch;
        else if (rows.length > 0) yield batch.gather(rows);
      }
    } finally {
      context.budget.release(kept);
    }
  };
}
