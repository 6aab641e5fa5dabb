/**
 * `sort` over packed columns: where its input is one scan, and all keys are columns.
 *
 * The columns tell the keys of all rows, which are sorted without reading a record
 * (columnar/packed-order.ts); records are read in that order as they are asked for, so that an
 * answer that ends early reads few. Where a part of the input has no columns, or values that they
 * do not hold, all is sorted in the ordinary way.
 */
import type {Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {rowGroupRows} from '#server/caches/row-group.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {PackedColumn} from '../../columnar/block.ts';
import {PackedOrder} from '../../columnar/packed-order.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Batches, ColumnUse, Preparation} from '../../operator.ts';
import {
  type ColumnInput,
  columnInput,
  columnTerms,
  keyPlaces,
  selected,
  spareRows,
} from './column-input.ts';
import {sourceBatch} from '../sources/source-rows.ts';

type Node = Pick<PlanNode & {readonly kind: 'sort'}, 'input' | 'keys'>;
type RidOf = (row: number) => Rid;

/**
 * The sorted rows, `from` the one, counted from 0, to before another; undefined, before any of
 * them, where this run has to take the ordinary way.
 */
export type ColumnSort = (
  context: ExecutionContext,
  argument: Batch,
  range?: {readonly from: number; readonly to: number},
) => Generator<Pause, Batches | undefined, undefined>;

const rowsPerUnit = 32;
/** A row's name is 32 bits, as many as a place in a row group leaves for the row group. */
const partsMax = 0x1_0000_0000 / rowGroupRows;

export function prepareColumnSort(node: Node, preparation: Preparation): ColumnSort | undefined {
  const input = columnInput(node.input, preparation);
  const places = input && keyPlaces(input, node.keys);
  if (input === undefined || places === undefined || !('slot' in node.input)) return undefined;
  const {slot} = node.input;
  const use = preparation.readsColumns(node.input);
  return function* columnSort(context, argument, range) {
    const order = new PackedOrder(node.keys, context.budget);
    const rows = spareRows.take();
    let ridOfPart: readonly RidOf[] | undefined;
    try {
      ridOfPart = yield* addAll({input, places, order, use, rows}, context, argument);
    } finally {
      spareRows.give(rows);
    }
    if (ridOfPart === undefined) {
      order.release();
      return undefined;
    }
    return (function* sorted(): Batches {
      try {
        const names = (yield* order.sorted()).subarray(range?.from, range?.to);
        const {graph, batchRows, budget} = context;
        for (let start = 0; start < names.length; start += batchRows) {
          const ids = Array.from(names.subarray(start, start + batchRows), name =>
            (ridOfPart[Math.floor(name / rowGroupRows)] as RidOf)(name % rowGroupRows),
          );
          const records = graph.records(ids);
          yield sourceBatch(
            argument,
            slot,
            records.map(record => record ?? null),
          );
          if (budget.look()) yield pause;
        }
      } finally {
        order.release();
      }
    })();
  };
}

interface Run {
  readonly input: ColumnInput;
  readonly places: readonly number[];
  readonly order: PackedOrder;
  readonly use: ColumnUse;
  /** Holds the rows of the part under way. */
  readonly rows: Uint16Array;
}

/** Puts all rows in; undefined where a part of them is not told of by columns. */
function* addAll(
  {input, places, order, use, rows}: Run,
  context: ExecutionContext,
  argument: Batch,
): Generator<Pause, readonly RidOf[] | undefined, undefined> {
  const terms = columnTerms(input, context);
  const parts = terms && input.parts(context, argument);
  if (terms === undefined || parts === undefined) return undefined;
  const ridOfPart: RidOf[] = [];
  for (const part of parts) {
    if (part !== undefined) {
      const selection = selected(part, terms, rows);
      const {columns = [], ridOf} = part;
      if (selection === undefined || ridOf === undefined) {
        // Most often the last part, of records in other types' buckets: there are none.
        for (const batch of part.rows()) {
          if (batch === pause) yield pause;
          else if (batch.rowCount > 0) return undefined;
        }
      } else {
        const keys = places.map(place => columns[place] as PackedColumn);
        const first = ridOfPart.push(ridOf) - 1;
        const isAdded =
          first < partsMax && order.add(keys, selection, row => first * rowGroupRows + row);
        if (!isAdded) {
          use.hadNoEffect();
          return undefined;
        }
        use.took(selection.count);
        context.budget.spend(selection.count / rowsPerUnit);
      }
    }
    if (context.budget.look()) yield pause;
  }
  return ridOfPart;
}
