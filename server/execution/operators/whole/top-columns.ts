/**
 * `top` over packed columns: where its input is one scan, and all keys are columns.
 *
 * The columns tell the keys of each row. A loop over a typed array passes over what is worse than
 * the worst row kept, and the heap keeps the ids of the rest: only the records of the rows that
 * remain in the end are read. A part without columns, or with values that columns do not hold, is
 * read row by row into the same heap, so the answer is that of the ordinary way.
 */
import {numberOf} from '#server/model/number.ts';
import {Double, type Value} from '#server/model/value.ts';
import type {PlanNode, SortKey} from '#server/plan/node.ts';
import {type Batch, pause} from '../../batch.ts';
import type {PackedColumn, Rows} from '../../columnar/block.ts';
import {valueAt} from '../../columnar/column-values.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Batches, Preparation} from '../../operator.ts';
import type {CandidateHeap} from './candidate-heap.ts';
import {
  columnInput,
  columnTerms,
  type InputPart,
  keyPlaces,
  selected,
  spareRows,
} from './column-input.ts';

type Node = PlanNode & {readonly kind: 'top'};

interface TopRun {
  readonly heap: CandidateHeap;
  /** The ordinary way into the heap; gives pauses alone. */
  readonly offerAll: (batches: Batches) => Batches;
}

/** Starts a run; undefined when this one has to take the ordinary way. */
export type ColumnTop = (
  context: ExecutionContext,
  argument: Batch,
  run: TopRun,
) => Batches | undefined;

const rowsPerUnit = 32;

export function prepareColumnTop(node: Node, preparation: Preparation): ColumnTop | undefined {
  const input = columnInput(node.input, preparation);
  const places = input && keyPlaces(input, node.keys);
  if (input === undefined || places === undefined) return undefined;
  const use = preparation.readsColumns(node.input);
  return (context, argument, {heap, offerAll}) => {
    const terms = columnTerms(input, context);
    const parts = terms && input.parts(context, argument);
    if (terms === undefined || parts === undefined) return undefined;
    const loop = new TopLoop(node.keys, places, heap);
    return (function* columnTop(): Batches {
      let vain = 0;
      const rows = spareRows.take();
      try {
        for (const part of parts) {
          if (part !== undefined) {
            const selection = selected(part, terms, rows);
            if (selection !== undefined && loop.take(part, selection)) {
              use.took(selection.count);
              context.budget.spend(selection.count / rowsPerUnit);
              vain -= 1;
            } else {
              if (part.columns !== undefined) vain += 1;
              yield* offerAll(part.rows());
            }
          }
          if (context.budget.look()) yield pause;
        }
      } finally {
        spareRows.give(rows);
      }
      if (vain > 0) use.hadNoEffect();
    })();
  };
}

class TopLoop {
  readonly #first: SortKey | undefined;
  readonly #places: readonly number[];
  readonly #heap: CandidateHeap;

  constructor(keys: readonly SortKey[], places: readonly number[], heap: CandidateHeap) {
    this.#first = keys[0];
    this.#places = places;
    this.#heap = heap;
  }

  /** False: nothing was taken, the part's rows are to be read. */
  take({columns = [], ridOf}: InputPart, {rows, count}: Rows): boolean {
    const keys = this.#places.map(place => columns[place] as PackedColumn);
    const [first] = keys;
    if (first === undefined || ridOf === undefined) return false;
    if (keys.some(({kind}) => kind === 'mixed')) return false;
    const isNumeric = first.kind === 'integer' || first.kind === 'double';
    let bound = this.#bound(isNumeric);
    for (let at = 0; at < count; at++) {
      const row = rows[at] as number;
      // NaN, as of null, is on neither side.
      const number = first.numbers[row] as number;
      if (number < bound.low || number > bound.high) continue;
      const values = keys.map(column => valueAt(column, row));
      if (!this.#heap.accepts(values)) continue;
      this.#heap.put(values, ridOf(row));
      bound = this.#bound(isNumeric);
    }
    return true;
  }

  /** The range in which the first key of an accepted row lies; equal ones are compared. */
  #bound(isNumeric: boolean): {readonly low: number; readonly high: number} {
    const worst = isNumeric ? this.#heap.worst?.[0] : undefined;
    if (worst === null && this.#first?.nulls === 'first') return noNumber;
    const number = exactNumber(worst);
    if (number === undefined) return anyNumber;
    return this.#first?.descending === true
      ? {low: number, high: Number.POSITIVE_INFINITY}
      : {low: Number.NEGATIVE_INFINITY, high: number};
  }
}

const anyNumber = {low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY};
const noNumber = {low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY};

/** Returns a number that a double holds exactly. */
function exactNumber(value: Value | undefined): number | undefined {
  return typeof value === 'number' || value instanceof Double ? numberOf(value) : undefined;
}
