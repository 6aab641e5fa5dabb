/**
 * Rows between operators: about a thousand at a time, one column a slot.
 *
 * A column holds values or is absent (slot not bound: it reads as null). Columns are shared
 * between batches and therefore never changed once their batch was handed on; an operator that
 * binds a slot makes a new outer array over the same columns. There is no selection vector:
 * with columns of values, gathering the survivors of a filter costs less than reading every
 * later operator's input through one. Scans filter on packed bytes before a column exists.
 */
import type {Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';

/** Comes in the place of a batch: others should have a turn before the next one is asked for. */
export const pause = Symbol('pause');
export type Pause = typeof pause;

export type Column = readonly Value[];
export type Columns = readonly (Column | undefined)[];

/** Rows that an operator collects before it passes them on. */
export const batchRowsDefault = 1024;

export class Batch {
  readonly columns: Columns;
  readonly rowCount: number;

  constructor(columns: Columns, rowCount: number) {
    this.columns = columns;
    this.rowCount = rowCount;
  }

  /** The value of `slot` in `row`; null where the slot is not bound. */
  get(slot: Slot, row: number): Value {
    const column = this.columns[slot];
    return column === undefined ? null : (column[row] as Value);
  }

  /** The same rows with one more column (or another one in its place). */
  with(slot: Slot, column: Column): Batch {
    const columns = this.columns.slice();
    while (columns.length < slot) columns.push(undefined);
    columns[slot] = column;
    return new Batch(columns, this.rowCount);
  }

  /** The rows named, in that order; a row may be named more than once. */
  gather(rows: readonly number[]): Batch {
    return new Batch(
      this.columns.map(column => column && rows.map(row => column[row] as Value)),
      rows.length,
    );
  }

  slice(from: number, to: number): Batch {
    if (from === 0 && to >= this.rowCount) return this;
    const end = Math.min(to, this.rowCount);
    return new Batch(
      this.columns.map(column => column?.slice(from, end)),
      end - from,
    );
  }

  /** One row as a batch of its own: the argument of a sub-plan. */
  row(row: number): Batch {
    if (this.rowCount === 1 && row === 0) return this;
    return new Batch(
      this.columns.map(column => column && [column[row] as Value]),
      1,
    );
  }
}

/** One row without slots. */
export const unitBatch: Batch = new Batch([], 1);

/** Collects rows from other batches, possibly with slots of its own, up to a batch. */
export class BatchBuilder {
  #columns: (Value[] | undefined)[] = [];
  rowCount = 0;

  /** Starts a row with the slots of `row` in `batch`; `set` then binds more. */
  copy(batch: Batch, row: number): void {
    const source = batch.columns;
    this.rowCount++;
    for (let slot = 0; slot < source.length; slot++) {
      const column = source[slot];
      if (column !== undefined) this.set(slot, column[row] as Value);
    }
  }

  /** Starts a row without slots. */
  open(): void {
    this.rowCount++;
  }

  /** Binds `slot` in the row started last. */
  set(slot: Slot, value: Value): void {
    const column = this.#columns[slot] ?? this.#open(slot);
    const at = this.rowCount - 1;
    while (column.length < at) column.push(null);
    column[at] = value;
  }

  #open(slot: Slot): Value[] {
    const column: Value[] = [];
    while (this.#columns.length <= slot) this.#columns.push(undefined);
    this.#columns[slot] = column;
    return column;
  }

  /** Hands over what was collected and starts anew. */
  take(): Batch {
    const count = this.rowCount;
    for (const column of this.#columns) {
      while (column !== undefined && column.length < count) column.push(null);
    }
    const batch = new Batch(this.#columns, count);
    this.#columns = [];
    this.rowCount = 0;
    return batch;
  }
}
