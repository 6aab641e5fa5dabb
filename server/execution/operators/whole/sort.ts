/**
 * `sort`: the whole input in the keys' order; equal rows keep the input's order.
 *
 * Runs of a few thousand rows are sorted at once and then merged pairwise, so that the run can
 * pause and be cancelled between portions of work however large the input is. Where the keys are
 * kept as columns these are sorted, and no row is kept (sort-columns.ts).
 */
import type {Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {type Closure, RowCursor} from '../../closure.ts';
import {KeptValues} from '../../expressions/value-size.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {KeptRows} from '../kept-rows.ts';
import {tupleOrder, type TupleOrder} from './row-order.ts';
import {prepareColumnSort} from './sort-columns.ts';

type Node = PlanNode & {readonly kind: 'sort'};

const runRows = 2_048;

export function prepareSort(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const keys = node.keys.map(key => preparation.expression(key.by));
  const order = tupleOrder(node.keys);
  const columns = prepareColumnSort(node, preparation);
  return function* sort(context, argument) {
    const fromColumns = columns && (yield* columns(context, argument));
    if (fromColumns !== undefined) return yield* fromColumns;
    const kept = new KeptRows(context);
    const made = new KeptValues(context.budget);
    try {
      yield* kept.drain(input(context, argument));
      const rows = yield* kept.merged();
      const sorted = yield* sortRows(yield* keysOf(rows, keys, context, made), order, context);
      for (let start = 0; start < sorted.length; start += context.batchRows) {
        yield rows.gather(sorted.slice(start, start + context.batchRows));
        if (context.budget.look()) yield pause;
      }
    } finally {
      kept.release();
      made.release();
    }
  };
}

/** The key tuple of each row. */
function* keysOf(
  rows: Batch,
  keys: readonly Closure[],
  context: ExecutionContext,
  made: KeptValues,
): Generator<Pause, readonly (readonly Value[])[], undefined> {
  const cursor = new RowCursor(context, rows);
  const tuples: (readonly Value[])[] = [];
  for (let row = 0; row < rows.rowCount; row++) {
    cursor.row = row;
    const tuple = keys.map(key => key(cursor));
    for (const value of tuple) made.add(value);
    tuples.push(tuple);
    if (context.budget.spend(1)) yield pause;
  }
  return tuples;
}

/** Row numbers in order; stable. */
function* sortRows(
  tuples: readonly (readonly Value[])[],
  order: TupleOrder,
  context: ExecutionContext,
): Generator<Pause, number[], undefined> {
  const compare = (left: number, right: number): number =>
    order(tuples[left] as readonly Value[], tuples[right] as readonly Value[]);
  let runs: number[][] = [];
  for (let start = 0; start < tuples.length; start += runRows) {
    const length = Math.min(runRows, tuples.length - start);
    runs.push(Array.from({length}, (_, at) => start + at).sort(compare));
    if (context.budget.look()) yield pause;
  }
  while (runs.length > 1) {
    const merged: number[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const left = runs[at] as number[];
      const right = runs[at + 1];
      merged.push(right === undefined ? left : yield* merge(left, right, compare, context));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* merge(
  left: readonly number[],
  right: readonly number[],
  compare: (left: number, right: number) => number,
  context: ExecutionContext,
): Generator<Pause, number[], undefined> {
  const merged: number[] = [];
  let l = 0;
  let r = 0;
  while (l < left.length && r < right.length) {
    const a = left[l] as number;
    const b = right[r] as number;
    if (compare(a, b) <= 0) {
      merged.push(a);
      l++;
    } else {
      merged.push(b);
      r++;
    }
    if (context.budget.spend(1)) yield pause;
  }
  while (l < left.length) merged.push(left[l++] as number);
  while (r < right.length) merged.push(right[r++] as number);
  return merged;
}
