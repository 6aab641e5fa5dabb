/**
 * `top`: the first rows in the keys' order, as sort and limit would give them, in a heap.
 *
 * Memory: O(count + skip) rows, which count as kept. The heap's root is the worst row kept, so most
 * rows of a long input cost one comparison. Ties go by the input's order, as in `sort`.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, unitBatch} from '../batch.ts';
import type {Budget} from '../budget.ts';
import {wholeNumber} from '../expressions/arithmetic.ts';
import {estimateBatch} from '../expressions/value-size.ts';
import {Frame} from '../closure.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {tupleOrder, type TupleOrder} from './row-order.ts';
import {argumentFrame} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'top'};

/** Of a candidate beside its row. */
const candidateBytes = 128;

interface Candidate {
  readonly keys: readonly Value[];
  readonly arrival: number;
  readonly row: Batch;
}

export function prepareTop(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const keys = node.keys.map(key => preparation.expression(key.by));
  const order = tupleOrder(node.keys);
  const count = preparation.expression(node.count);
  const skip = node.skip && preparation.expression(node.skip);
  return function* top(context, argument) {
    const frame = argumentFrame(context, argument);
    const skipped = skip === undefined ? 0 : wholeNumber(skip(frame), 'SKIP');
    const size = skipped + wholeNumber(count(frame), 'LIMIT');
    const heap = new CandidateHeap(order, size, context.budget);
    if (heap.size === 0) return;
    try {
      const reader = new Frame(context, unitBatch);
      let arrival = 0;
      for (const batch of input(context, argument)) {
        if (batch === pause) {
          yield pause;
          continue;
        }
        reader.enter(batch);
        for (let row = 0; row < batch.rowCount; row++) {
          reader.row = row;
          heap.offer(
            keys.map(key => key(reader)),
            arrival++,
            batch,
            row,
          );
          if (context.budget.spend(1)) yield pause;
        }
      }
      const best: Candidate[] = [];
      for (let worst = heap.takeWorst(); worst !== undefined; worst = heap.takeWorst()) {
        best.push(worst);
        if (context.budget.spend(1)) yield pause;
      }
      const builder = new BatchBuilder();
      for (const candidate of best.reverse().slice(skipped)) {
        builder.copy(candidate.row, 0);
        if (builder.rowCount >= context.batchRows) yield builder.take();
      }
      if (builder.rowCount > 0) yield builder.take();
    } finally {
      heap.release();
    }
  };
}

/** The best `size` candidates; the worst of them at the root. */
class CandidateHeap {
  readonly size: number;
  readonly #order: TupleOrder;
  readonly #items: Candidate[] = [];
  readonly #budget: Budget;
  #bytes = 0;

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

  offer(keys: readonly Value[], arrival: number, batch: Batch, row: number): void {
    const items = this.#items;
    if (items.length < this.size) {
      const kept = batch.row(row);
      this.#keep(candidateBytes + estimateBatch(kept));
      items.push({keys, arrival, row: kept});
      this.#rise(items.length - 1);
      return;
    }
    // A later row never displaces an equal one.
    if (this.#order(keys, (items[0] as Candidate).keys) >= 0) return;
    items[0] = {keys, arrival, row: batch.row(row)};
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
