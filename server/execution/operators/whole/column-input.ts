/**
 * What can feed an operator with packed columns: a scan of a type whose condition columns decide,
 * and a range of an index from whose keys all is read.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode, SortKey} from '#server/plan/node.ts';
import type {Batch} from '../../batch.ts';
import type {ColumnOf, PackedColumn, Rows} from '../../columnar/block.ts';
import {columnTerm, type ColumnTerm, type ColumnTermMaker} from '../../columnar/column-terms.ts';
import {valueAt} from '../../columnar/column-values.ts';
import {SpareArrays} from '../../columnar/spare-arrays.ts';
import type {ExecutionContext} from '../../context.ts';
import type {ColumnPart, EntrySource, IndexEntry} from '../../graph.ts';
import type {Batches, Preparation} from '../../operator.ts';
import {partsBatch, prepareSpan} from '../sources/index-rows.ts';
import {prepareTerms, recordTest, scanOrder, scanRecords} from '../sources/scan.ts';
import {argumentCursor, repeatRow} from '../sources/source-rows.ts';
import {rowGroupRows} from '#server/caches/row-group.ts';

/** Some rows of the input, in its order. */
export interface InputPart {
  /** Undefined: the rows have to be read. */
  readonly columns: readonly PackedColumn[] | undefined;
  /** Writes the places of the rows in the columns into `into`; how many. */
  select(into: Uint16Array): number;
  /** The record at a place in the columns; undefined where the rows are of none. */
  readonly ridOf?: ColumnPart['ridOf'];
  /** The same rows as batches, those alone that pass the input's condition. */
  rows(): Batches;
}

export interface ColumnInput {
  /** Columns are kept between runs, not decoded for one. */
  readonly isKept: boolean;
  /** Numbers the column that an expression reads. */
  readonly columnOf: ColumnOf;
  /** What rows of the columns have to pass yet. */
  readonly terms: readonly ColumnTermMaker[];
  /** The parts of a run; undefined in a part: others may have a turn. */
  parts(context: ExecutionContext, argument: Batch): Iterable<InputPart | undefined> | undefined;
}

export function columnInput(node: PlanNode, preparation: Preparation): ColumnInput | undefined {
  if (node.kind === 'index-range') return indexInput(node, preparation);
  // Of a few ids the records are read.
  const isWhole = node.kind === 'scan-type' && !node.descending && node.ids === undefined;
  return isWhole ? scanInput(node, preparation) : undefined;
}

/** Arrays for the rows of a part that are looked at: none has more than a row group. */
export const spareRows = new SpareArrays(2, () => new Uint16Array(rowGroupRows));

/** The columns of an order's keys; undefined: a key is none, or no columns are kept. */
export function keyPlaces(
  input: ColumnInput,
  keys: readonly SortKey[],
): readonly number[] | undefined {
  if (!input.isKept) return undefined;
  const places: number[] = [];
  for (const {by} of keys) {
    const place = input.columnOf(by);
    if (place === undefined) return undefined;
    places.push(place);
  }
  return places;
}

/** The conditions of a run; undefined when one of them has a constant that columns do not hold. */
export function columnTerms(
  {terms}: ColumnInput,
  context: ExecutionContext,
): readonly ColumnTerm[] | undefined {
  const made: ColumnTerm[] = [];
  for (const make of terms) {
    const term = make(context);
    if (term === undefined) return undefined;
    made.push(term);
  }
  return made;
}

/** Rows of the part that pass the terms; undefined where its columns do not tell. */
export function selected(
  part: InputPart,
  terms: readonly ColumnTerm[],
  rows: Uint16Array,
): Rows | undefined {
  const {columns} = part;
  if (columns === undefined) return undefined;
  const selection: Rows = {rows, count: part.select(rows)};
  return terms.every(term => term({columns}, selection)) ? selection : undefined;
}

type TypeScan = PlanNode & {readonly kind: 'scan-type'};

function scanInput(node: TypeScan, preparation: Preparation): ColumnInput | undefined {
  const {slot, type, polymorphic, where} = node;
  const properties: string[] = [];
  const columnOf = propertyColumns(slot, properties);
  const terms: ColumnTermMaker[] = [];
  for (const term of where === undefined ? [] : where.kind === 'and' ? where.terms : [where]) {
    const made = columnTerm(term, columnOf);
    if (made === undefined) return undefined;
    terms.push(made);
  }
  const tests = where && prepareTerms(where, slot, preparation);
  return {
    isKept: true,
    columnOf,
    terms,
    parts(context, argument) {
      const test = tests && recordTest(tests, slot, context, argument);
      const order = scanOrder(node, context, test);
      const parts = context.graph.scanColumns({type, polymorphic, properties, order});
      const into = {context, argument, slot};
      return parts && asRows(parts, part => scanRecords(part.records(), into));
    },
  };
}

/** Numbers the properties of the record in `slot` in the order in which they are met. */
function propertyColumns(slot: Slot, properties: string[]): ColumnOf {
  const places = new Map<string, number>();
  return (expression: Expression) => {
    if (expression.kind !== 'property' || expression.of.kind !== 'slot') return undefined;
    if (expression.of.slot !== slot) return undefined;
    let place = places.get(expression.name);
    if (place === undefined) {
      place = properties.push(expression.name) - 1;
      places.set(expression.name, place);
    }
    return place;
  };
}

type Range = PlanNode & {readonly kind: 'index-range'};

const entriesPerPart = 1_024;
const spareNumbers = new SpareArrays(8, () => new Float64Array(entriesPerPart));
/** Entries in a row that have other values than whole numbers. */
const otherEntriesAtOnce = 64;

/** Values of keys, decoded into arrays as they are met: no column is kept of them. */
function indexInput(node: Range, preparation: Preparation): ColumnInput | undefined {
  const {slot, parts} = node;
  if (parts === undefined) return undefined;
  const spanOf = prepareSpan(node, preparation);
  const wanted = parts.slice(0, 1 + parts.findLastIndex(part => part !== undefined));
  return {
    isKept: false,
    columnOf: expression => {
      const at = expression.kind === 'slot' ? parts.indexOf(expression.slot) : -1;
      return at < 0 ? undefined : at;
    },
    terms: [],
    parts(context, argument) {
      const span = spanOf(argumentCursor(context, argument));
      if (span === undefined) return [];
      const source = context.graph.indexEntries(node.index, span, node.descending, node.only);
      return entryParts(source, wanted, {
        ofEntries: entries => partsBatch(entries, slot, parts, argument),
        ofColumns: (columns, count) => columnsBatch(columns, count, parts, argument),
      });
    },
  };
}

function* entryParts(
  source: EntrySource,
  wanted: readonly (Slot | undefined)[],
  batches: {
    readonly ofEntries: (entries: readonly IndexEntry[]) => Batch;
    readonly ofColumns: (columns: readonly PackedColumn[], count: number) => Batch;
  },
): Generator<InputPart, void, undefined> {
  const arrays = wanted.map(part => (part === undefined ? undefined : spareNumbers.take()));
  try {
    for (;;) {
      const count = source.nextNumbers?.(arrays, entriesPerPart) ?? 0;
      if (count > 0) {
        const columns = arrays.map(numbers => numberColumn(numbers ?? noNumbers, count));
        yield {
          columns,
          select: into => selectFirst(into, count),
          rows: () => oneBatch(batches.ofColumns(columns, count)),
        };
        continue;
      }
      const entries = source.next(otherEntriesAtOnce);
      if (entries === undefined) return;
      yield {columns: undefined, select: () => 0, rows: () => oneBatch(batches.ofEntries(entries))};
    }
  } finally {
    source.close();
    for (const numbers of arrays) if (numbers !== undefined) spareNumbers.give(numbers);
  }
}

const noNumbers = new Float64Array(0);
const noCodes = new Uint16Array(0);

/** A column of the first `count` numbers, which are whole or NaN. */
function numberColumn(numbers: Float64Array, count: number): PackedColumn {
  let magnitude = 0;
  let hasNulls = false;
  for (let row = 0; row < Math.min(count, numbers.length); row++) {
    const size = Math.abs(numbers[row] as number);
    if (size > magnitude) magnitude = size;
    else if (Number.isNaN(size)) hasNulls = true;
  }
  return {kind: 'integer', numbers, codes: noCodes, texts: undefined, magnitude, hasNulls};
}

function selectFirst(into: Uint16Array, count: number): number {
  for (let row = 0; row < count; row++) into[row] = row;
  return count;
}

/** The rows of key columns, which say nothing of the record. */
function columnsBatch(
  columns: readonly PackedColumn[],
  count: number,
  parts: readonly (Slot | undefined)[],
  argument: Batch,
): Batch {
  let batch = repeatRow(argument, count);
  for (const [part, column] of columns.entries()) {
    const slot = parts[part];
    if (slot === undefined) continue;
    batch = batch.with(
      slot,
      Array.from({length: count}, (_value, row) => valueAt(column, row)),
    );
  }
  return batch;
}

function* oneBatch(batch: Batch): Batches {
  yield batch;
}

function* asRows(
  parts: Iterable<ColumnPart | undefined>,
  rowsOf: (part: ColumnPart) => Batches,
): Generator<InputPart | undefined, void, undefined> {
  for (const part of parts) {
    yield part && {
      columns: part.columns,
      select: into => part.select(into),
      ridOf: part.ridOf,
      rows: () => rowsOf(part),
    };
  }
}
