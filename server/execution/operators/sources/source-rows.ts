/**
 * The rows of a source: its own columns beside the slots of the enclosing row.
 *
 * A sub-plan may read the enclosing row's slots anywhere, so every source carries them along.
 * Outside of sub-plans the argument has no slots and this costs nothing.
 */
import type {Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import {Batch, type Column} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {RowCursor} from '../../closure.ts';

/** A batch of `rowCount` rows with one own column. */
export function sourceBatch(argument: Batch, slot: Slot, column: Column): Batch {
  return repeatRow(argument, column.length).with(slot, column);
}

/** The single row of `argument`, `rowCount` times. */
export function repeatRow(argument: Batch, rowCount: number): Batch {
  if (argument.columns.length === 0) return new Batch([], rowCount);
  return new Batch(
    argument.columns.map(column => column && new Array<Value>(rowCount).fill(column[0] as Value)),
    rowCount,
  );
}

/** A row cursor on the enclosing row: for expressions that a source evaluates once. */
export function argumentCursor(context: ExecutionContext, argument: Batch): RowCursor {
  return new RowCursor(context, argument);
}
