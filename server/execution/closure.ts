/**
 * What an expression becomes: a closure over a row cursor, made once a plan.
 *
 * A row cursor points at one row of a batch. Slots that a comprehension or reduce binds live in
 * `locals`, because columns are shared and never written. A closure keeps no state of a run:
 * parameters, data and time come from the cursor's context.
 */
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Batch, Columns} from './batch.ts';
import type {ExecutionContext} from './context.ts';
import type {Resumption} from './expressions/resumption.ts';

export class RowCursor {
  readonly context: ExecutionContext;
  columns: Columns;
  row = 0;
  readonly locals: Value[] = [];
  /** Undefined where an expression cannot be interrupted: its sub-plans run to their end. */
  readonly resumption: Resumption | undefined;

  constructor(context: ExecutionContext, batch: Batch, resumption?: Resumption) {
    this.context = context;
    this.resumption = resumption;
    this.columns = batch.columns;
  }

  /** Points at another batch, row 0. */
  enter(batch: Batch): void {
    this.columns = batch.columns;
    this.row = 0;
  }
}

export type Closure = (cursor: RowCursor) => Value;
/** True only for true: null and false fail alike. */
export type Test = (cursor: RowCursor) => boolean;

export interface Compiler {
  expression(expression: Expression): Closure;
  condition(expression: Expression): Test;
}

/** Slots bound by an enclosing comprehension or reduce. */
export type Scope = ReadonlySet<Slot>;
