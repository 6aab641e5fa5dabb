/**
 * The rows of a whole input, kept: for sort, join, barrier and the writes.
 *
 * Counts its memory against the budget until `release`.
 */
import type {Value} from '#server/model/value.ts';
import {Batch, type Pause, pause} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import type {Batches} from '../operator.ts';
import {estimateBatch} from '../expressions/value-size.ts';

export class KeptRows {
  readonly batches: Batch[] = [];
  rowCount = 0;
  readonly #context: ExecutionContext;
  #bytes = 0;

  constructor(context: ExecutionContext) {
    this.#context = context;
  }

  add(batch: Batch): void {
    const bytes = estimateBatch(batch);
    this.#context.budget.keep(bytes);
    this.#bytes += bytes;
    this.batches.push(batch);
    this.rowCount += batch.rowCount;
  }

  /** Reads the input to its end, what `keep` makes of it; gives its pauses on. */
  *drain(
    input: Batches,
    keep: (batch: Batch) => Batch = batch => batch,
  ): Generator<Pause, void, undefined> {
    for (const batch of input) {
      if (batch === pause) yield pause;
      else {
        this.add(keep(batch));
        if (this.#context.budget.spend(batch.rowCount)) yield pause;
      }
    }
  }

  /** All rows as one batch; the batches themselves are given up. */
  *merged(): Generator<Pause, Batch, undefined> {
    const [only] = this.batches;
    if (this.batches.length === 1 && only !== undefined) return only;
    const columns: (Value[] | undefined)[] = [];
    let rows = 0;
    for (const batch of this.batches.splice(0)) {
      for (let slot = 0; slot < batch.columns.length; slot++) {
        const source = batch.columns[slot];
        if (source === undefined) continue;
        while (columns.length <= slot) columns.push(undefined);
        const column = columns[slot] ?? [];
        columns[slot] = column;
        while (column.length < rows) column.push(null);
        for (const value of source) column.push(value);
      }
      rows += batch.rowCount;
      if (this.#context.budget.spend(batch.rowCount >> 2)) yield pause;
    }
    for (const column of columns) while (column && column.length < rows) column.push(null);
    return new Batch(columns, rows);
  }

  release(): void {
    this.#context.budget.release(this.#bytes);
    this.#bytes = 0;
  }
}
