/**
 * `top`: the first rows in the keys' order, as sort and limit would give them, in a heap.
 *
 * Memory: O(count + skip) rows. The heap's root is the worst row kept, so most rows of a long
 * input cost one comparison. Ties go by the input's order, as in `sort`.
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, unitBatch} from '../batch.ts';
import {wholeNumber} from '../expressions/arithmetic.ts';
import {Frame} from '../closure.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {tupleOrder, type TupleOrder} from './row-order.ts';
import {argumentFrame} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'top'};

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
    const heap = new CandidateHeap(order, skipped + wholeNumber(count(frame), 'LIMIT'));
    if (heap.size === 0) return;
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
      }
      if (context.budget.spend(batch.rowCount)) yield pause;
    }
    const builder = new BatchBuilder();
    for (const candidate of heap.sorted().slice(skipped)) {
      builder.copy(candidate.row, 0);
      if (builder.rowCount >= context.batchRows) yield builder.take();
    }
    if (builder.rowCount > 0) yield builder.take();
  };
}

/** The best `size` candidates; the worst of them at the root. */
class CandidateHeap {
  readonly size: number;
  readonly #order: TupleOrder;
  readonly #items: Candidate[] = [];

  constructor(order: TupleOrder, size: number) {
    this.#order = order;
    this.size = size;
  }

  offer(keys: readonly Value[], arrival: number, batch: Batch, row: number): void {
    const items = this.#items;
    if (items.length < this.size) {
      items.push({keys, arrival, row: batch.row(row)});
      this.#rise(items.length - 1);
      return;
    }
    // A later row never displaces an equal one.
    if (this.#order(keys, (items[0] as Candidate).keys) >= 0) return;
    items[0] = {keys, arrival, row: batch.row(row)};
    this.#sink(0);
  }

  sorted(): Candidate[] {
    return this.#items.sort((left, right) => this.#compare(left, right));
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
