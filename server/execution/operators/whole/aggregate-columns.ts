/**
 * `aggregate` over packed columns: where its input is one scan and all that is asked of the
 * records are columns, numbers and comparisons with constants.
 *
 * Part by part of the scan: conditions leave rows, keys number their groups, and each aggregate
 * takes its column, by loops over typed arrays. A part without columns, or with values that
 * columns do not hold, is read row by row into the same groups, so the answer is that of the
 * ordinary way, in the order of the same rows.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {rowGroupRows} from '#server/caches/row-group.ts';
import {type Batch, type Pause, pause} from '../../batch.ts';
import type {PackedColumn, Rows} from '../../columnar/block.ts';
import {ColumnFold, type Grouped, type States} from '../../columnar/column-fold.ts';
import {ColumnGroups} from '../../columnar/column-groups.ts';
import type {ColumnTerm} from '../../columnar/column-terms.ts';
import {
  columnValues,
  type ColumnValues,
  type ColumnValuesMaker,
  valueAt,
} from '../../columnar/column-values.ts';
import {SpareArrays} from '../../columnar/spare-arrays.ts';
import type {ExecutionContext} from '../../context.ts';
import type {ColumnUse, Preparation} from '../../operator.ts';
import {columnInput, type InputPart, spareRows} from './column-input.ts';
import type {Group, Groups, PreparedAggregate} from './grouped.ts';

type Node = PlanNode & {readonly kind: 'aggregate'};
type Steps = Generator<Pause, void, undefined>;

/** Starts a run; undefined when this one has to take the ordinary way. */
export type ColumnAggregate = (
  context: ExecutionContext,
  argument: Batch,
  groups: Groups,
) => Steps | undefined;

/** Bytes that the numbers of a group take beside the group. */
const bytesPerNumber = 64;
const rowsPerUnit = 32;

export function prepareColumnAggregate(
  node: Node,
  preparation: Preparation,
  aggregates: readonly PreparedAggregate[],
): ColumnAggregate | undefined {
  const input = columnInput(node.input, preparation);
  if (input === undefined) return undefined;
  const valuesOf = (expression: Expression): ColumnValuesMaker | undefined =>
    columnValues(expression, input.columnOf);
  const keys = allOf(node.keys.map(key => valuesOf(key.value)));
  const args = allOf(
    node.aggregates.map(({args: [only, ...more], weight}) => {
      if (weight !== undefined || more.length > 0) return undefined;
      return only === undefined ? () => rowItself : valuesOf(only);
    }),
  );
  if (keys === undefined || args === undefined) return undefined;
  const use = input.isKept ? preparation.readsColumns(node.input) : undefined;
  return (context, argument, groups) => {
    const made = {
      terms: allOf(input.terms.map(term => term(context))),
      keys: allOf(keys.map(key => key(context))),
      args: allOf(args.map(arg => arg(context))),
    };
    const {terms, keys: keyValues, args: argValues} = made;
    if (terms === undefined || keyValues === undefined || argValues === undefined) return undefined;
    const parts = input.parts(context, argument);
    if (parts === undefined) return undefined;
    const loops = {terms, keys: keyValues, args: argValues, use};
    return steps(parts, new ColumnRun(loops, aggregates, groups), groups, context);
  };
}

/** All of them, or undefined when one is missing. */
function allOf<T>(items: readonly (T | undefined)[]): readonly T[] | undefined {
  const present = items.filter(item => item !== undefined);
  return present.length === items.length ? present : undefined;
}

function* steps(
  parts: Iterable<InputPart | undefined>,
  run: ColumnRun,
  groups: Groups,
  context: ExecutionContext,
): Steps {
  try {
    for (const part of parts) {
      if (part !== undefined && !run.take(part, context)) yield* groups.addAll(part.rows());
      if (context.budget.look()) yield pause;
    }
    run.end();
  } finally {
    run.close();
  }
}

/** The argument of `count()`: a column without nulls is not needed for it. */
const rowItself: ColumnValues = () => wholeRows;
const wholeRows: PackedColumn = {
  kind: 'integer',
  numbers: new Float64Array(rowGroupRows),
  codes: new Uint16Array(0),
  texts: undefined,
  magnitude: 0,
  hasNulls: false,
};

/** Has the length of `spareRows`. */
const spareGroups = new SpareArrays(2, () => new Uint32Array(rowGroupRows));

interface StatementContext {
  readonly use: ColumnUse | undefined;
  readonly terms: readonly ColumnTerm[];
  readonly keys: readonly ColumnValues[];
  readonly args: readonly ColumnValues[];
}

class ColumnRun {
  readonly #parts: StatementContext;
  readonly #aggregates: readonly PreparedAggregate[];
  readonly #groups: Groups;
  readonly #numbers: ColumnGroups | undefined;
  /** The groups by their numbers. */
  readonly #known: Group[] = [];
  /** The rows of the part under way, counted for each group. */
  #rowCounts = new Uint32Array(1);
  /** Parts that columns did not tell of, less those that they did. */
  #vain = 0;
  readonly #fold = new ColumnFold();
  readonly #rows = spareRows.take();
  readonly #groupOf = spareGroups.take();

  constructor(parts: StatementContext, aggregates: readonly PreparedAggregate[], groups: Groups) {
    this.#parts = parts;
    this.#aggregates = aggregates;
    this.#groups = groups;
    this.#numbers = parts.keys.length === 0 ? undefined : new ColumnGroups(parts.keys.length);
  }

  /** False: nothing was taken, the part's rows are to be read. */
  take(part: InputPart, context: ExecutionContext): boolean {
    if (part.columns === undefined) return false;
    const isTaken = this.#takeColumns(part, part.columns, context);
    this.#vain += isTaken ? -1 : 1;
    return isTaken;
  }

  /** Nothing is taken behind it. */
  close(): void {
    spareRows.give(this.#rows);
    spareGroups.give(this.#groupOf);
  }

  /** All parts were met. */
  end(): void {
    if (this.#vain > 0) this.#parts.use?.hadNoEffect();
  }

  #takeColumns(
    part: InputPart,
    columns: readonly PackedColumn[],
    context: ExecutionContext,
  ): boolean {
    const block = {columns};
    const selection: Rows = {rows: this.#rows, count: part.select(this.#rows)};
    const {terms, keys, args} = this.#parts;
    for (const term of terms) if (!term(block, selection)) return false;
    const keyColumns = allOf(keys.map(key => key(block, selection)));
    const argColumns = allOf(args.map(arg => arg(block, selection)));
    if (keyColumns === undefined || argColumns === undefined) return false;
    context.budget.spend(selection.count / rowsPerUnit);
    this.#parts.use?.took(selection.count);
    if (selection.count === 0) return true;
    const grouped = this.#group(keyColumns, selection);
    this.#aggregates.forEach((aggregate, at) => {
      this.#takeOne(aggregate, at, {column: argColumns[at] as PackedColumn, grouped, context});
    });
    return true;
  }

  #group(keys: readonly PackedColumn[], selection: Rows): Grouped {
    const numbers = this.#numbers;
    if (numbers === undefined) {
      this.#known[0] ??= this.#groups.group([]);
      this.#rowCounts[0] = selection.count;
      return {selection, groups: undefined, touched: [0], rowCounts: this.#rowCounts};
    }
    const groups = this.#groupOf;
    numbers.number(keys, selection, groups);
    const groupCount = numbers.count;
    this.#groups.keep((groupCount - this.#known.length) * bytesPerNumber);
    for (let number = this.#known.length; number < groupCount; number++) {
      this.#known.push(this.#groups.group(numbers.tuple(number)));
    }
    const touched = this.#countRows(selection.count, groupCount);
    return {selection, groups, touched, rowCounts: this.#rowCounts};
  }

  /** Counts the first `count` rows by their groups; which those are, each once. */
  #countRows(count: number, groupCount: number): readonly number[] {
    if (this.#rowCounts.length < groupCount) this.#rowCounts = new Uint32Array(groupCount * 2);
    else this.#rowCounts.fill(0, 0, groupCount);
    const [groupOf, rowCounts] = [this.#groupOf, this.#rowCounts];
    const touched: number[] = [];
    for (let place = 0; place < count; place++) {
      const group = groupOf[place] as number;
      const before = rowCounts[group] as number;
      if (before === 0) touched.push(group);
      rowCounts[group] = before + 1;
    }
    return touched;
  }

  #takeOne(
    {node, machine}: PreparedAggregate,
    at: number,
    {
      column,
      grouped,
      context,
    }: {
      readonly column: PackedColumn;
      readonly grouped: Grouped;
      readonly context: ExecutionContext;
    },
  ): void {
    const known = this.#known;
    const states: States = {
      get: group => known[group]?.states[at],
      set: (group, state) => {
        (known[group] as Group).states[at] = state;
      },
      step: (group, value) => {
        const {states: own} = known[group] as Group;
        own[at] = machine.step(own[at], [value], context);
      },
    };
    const {numbers} = machine;
    const isText = column.kind === 'text' && numbers?.kind !== 'count';
    if (numbers !== undefined && !node.distinct && !isText) {
      if (this.#fold.take(numbers, column, grouped, states)) return;
    }
    const {rows, count} = grouped.selection;
    for (let place = 0; place < count; place++) {
      const group = grouped.groups === undefined ? 0 : (grouped.groups[place] as number);
      const values = node.args.length === 0 ? [] : [valueAt(column, rows[place] as number)];
      this.#groups.take(known[group] as Group, at, values);
    }
  }
}
