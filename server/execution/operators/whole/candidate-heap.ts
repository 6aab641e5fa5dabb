/**
 * The first rows in an order, of all that are offered: what `top` keeps.
 *
 * The worst of them stands at the root, so most rows of a long input cost one comparison. Equal
 * rows stay in the order in which they came. A row that columns told of is kept as the id of its
 * record.
 */
import {Rid, type Value} from '#server/model/value.ts';
import type {Batch} from '../../batch.ts';
import type {Budget} from '../../budget.ts';
import {estimateBatch} from '../../expressions/value-size.ts';
import type {TupleOrder} from './row-order.ts';

/** What a candidate takes beside its row. */
const candidateBytes = 128;

/** A batch of one row, or the record that the row is of. */
export type CandidateRow = Batch | Rid;

interface Candidate {
  readonly keys: readonly Value[];
  readonly arrival: number;
  readonly row: CandidateRow;
}

/** The best `size` candidates; the worst of them at the root. */
export class CandidateHeap {
  readonly size: number;
  readonly #order: TupleOrder;
  readonly #items: Candidate[] = [];
  readonly #budget: Budget;
  #bytes = 0;
  #arrivals = 0;

  constructor(order: TupleOrder, size: number, budget: Budget) {
    this.#order = order;
    this.size = size;
    this.#budget = budget;
  }

  /** Rows that are displaced by others count on: the others are of the same kind. */
  #keep(bytes: number): void {
    this.#budget.keep(bytes);
    this.#bytes += bytes;
  }

  release(): void {
    this.#budget.release(this.#bytes);
  }

  /** Keys of the row that the next accepted one displaces; undefined while there is room. */
  get worst(): readonly Value[] | undefined {
    return this.#items.length < this.size ? undefined : this.#items[0]?.keys;
  }

  /** Whether a row with these keys belongs to the best so far: a later one displaces no equal. */
  accepts(keys: readonly Value[]): boolean {
    const {worst} = this;
    return worst === undefined || this.#order(keys, worst) < 0;
  }

  /** Takes a row whose keys are accepted. */
  put(keys: readonly Value[], row: CandidateRow): void {
    const items = this.#items;
    const candidate = {keys, arrival: this.#arrivals++, row};
    if (items.length < this.size) {
      this.#keep(candidateBytes + (row instanceof Rid ? 0 : estimateBatch(row)));
      items.push(candidate);
      this.#rise(items.length - 1);
      return;
    }
    items[0] = candidate;
    this.#sink(0);
  }

  /** The worst of those that are left, taken out. */
  takeWorst(): Candidate | undefined {
    const items = this.#items;
    const worst = items[0];
    const last = items.pop();
    if (last !== undefined && items.length > 0) {
      items[0] = last;
      this.#sink(0);
    }
    return worst;
  }

  #compare(left: Candidate, right: Candidate): number {
    const order = this.#order(left.keys, right.keys);
    return order === 0 ? left.arrival - right.arrival : order;
  }

  #rise(from: number): void {
    const items = this.#items;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (this.#compare(items[at] as Candidate, items[parent] as Candidate) <= 0) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #sink(from: number): void {
    const items = this.#items;
    for (let at = from; ; ) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        const candidate = items[child];
        if (candidate !== undefined && this.#compare(candidate, items[worst] as Candidate) > 0) {
          worst = child;
        }
      }
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  #swap(a: number, b: number): void {
    const items = this.#items;
    const held = items[a] as Candidate;
    items[a] = items[b] as Candidate;
    items[b] = held;
  }
}
