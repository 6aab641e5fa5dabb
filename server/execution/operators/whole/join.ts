/**
 * `join`: rows of the left with rows of the right that have equal keys (hash); without keys
 * the product. A null key equals nothing.
 *
 * The right side is kept, the left side streams: order is the left's, then the right's.
 */
import {joinKeys} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, type Pause, pause, unitBatch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {type Closure, RowCursor} from '../../closure.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {KeptRows} from '../kept-rows.ts';

type Node = PlanNode & {readonly kind: 'join'};

export function prepareJoin(node: Node, preparation: Preparation): Operator {
  const left = preparation.prepare(node.left);
  const right = preparation.prepare(node.right);
  const leftKeys = node.on.map(pair => preparation.expression(pair.left));
  const rightKeys = node.on.map(pair => preparation.expression(pair.right));
  return function* join(context, argument) {
    const kept = new KeptRows(context);
    try {
      yield* kept.drain(right(context, argument));
      const rows = yield* kept.merged();
      const table = yield* buildTable(rows, rightKeys, context);
      const cursor = new RowCursor(context, unitBatch);
      const builder = new BatchBuilder();
      for (const batch of left(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        for (let row = 0; row < batch.rowCount; row++) {
          cursor.enter(batch);
          cursor.row = row;
          const key = keyOf(leftKeys, cursor);
          const matches = (key === undefined ? undefined : table.get(key)) ?? [];
          for (const match of outputRows(node, matches)) {
            combine(builder, {node, batch, row, rows, match});
            if (builder.rowCount >= context.batchRows) yield builder.take();
            if (context.budget.spend(1)) yield pause;
          }
        }
        if (builder.rowCount > 0) yield builder.take();
      }
    } finally {
      kept.release();
    }
  };
}

/** Rows of the right to put beside a left row; undefined stands for nulls or for nothing. */
function outputRows(node: Node, matches: readonly number[]): readonly (number | undefined)[] {
  switch (node.mode) {
    case 'inner':
      return matches;
    case 'left':
      return matches.length === 0 ? [undefined] : matches;
    case 'semi':
      return matches.length === 0 ? [] : [undefined];
    case 'anti':
      return matches.length === 0 ? [undefined] : [];
  }
}

function combine(
  builder: BatchBuilder,
  parts: {
    readonly node: Node;
    readonly batch: Batch;
    readonly row: number;
    readonly rows: Batch;
    readonly match: number | undefined;
  },
): void {
  const {node, batch, row, rows, match} = parts;
  builder.copy(batch, row);
  if (node.mode === 'semi' || node.mode === 'anti') return;
  for (const slot of node.rightSlots) {
    builder.set(slot, match === undefined ? null : rows.get(slot, match));
  }
}

function* buildTable(
  rows: Batch,
  keys: readonly Closure[],
  context: ExecutionContext,
): Generator<Pause, Map<string, number[]>, undefined> {
  const table = new Map<string, number[]>();
  const cursor = new RowCursor(context, rows);
  for (let row = 0; row < rows.rowCount; row++) {
    cursor.row = row;
    if (context.budget.spend(1)) yield pause;
    const key = keyOf(keys, cursor);
    if (key === undefined) continue;
    const group = table.get(key);
    if (group === undefined) table.set(key, [row]);
    else group.push(row);
  }
  return table;
}

/** undefined when a part is null: such a row matches nothing. */
function keyOf(keys: readonly Closure[], cursor: RowCursor): string | undefined {
  const values: Value[] = [];
  for (const key of keys) {
    const value = key(cursor);
    if (value === null) return undefined;
    values.push(value);
  }
  return joinKeys(values);
}
