/**
 * The rows of a whole input, kept: for sort, join, barrier and the writes.
 *
 * Counts its memory against the budget until `release`.
 */
import {Batch} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {type Batches, type Pause, pause} from '../operator.ts';
import {estimateBatch} from './memory-estimate.ts';

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

  /** All rows as one batch. */
  merged(): Batch {
    const [only] = this.batches;
    if (this.batches.length === 1 && only !== undefined) return only;
    const slots = Math.max(0, ...this.batches.map(batch => batch.columns.length));
    const columns = Array.from({length: slots}, (_, slot) =>
      this.batches.some(batch => batch.columns[slot] !== undefined)
        ? this.batches.flatMap(
            batch => batch.columns[slot] ?? new Array<null>(batch.rowCount).fill(null),
          )
        : undefined,
    );
    return new Batch(columns, this.rowCount);
  }

  release(): void {
    this.#context.budget.release(this.#bytes);
    this.#bytes = 0;
  }
}
