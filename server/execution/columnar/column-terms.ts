/**
 * Terms of a condition that are decided by loops over packed columns.
 *
 * They are the comparisons that packed-term.ts knows, spans and null tests, of a column with
 * constants. A term answers only what the compiled condition would: where a column holds another
 * kind of values than the constant is of, it does not answer at all.
 */
import {numberOf} from '#server/model/number.ts';
import {Double, type Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {ExecutionContext} from '../context.ts';
import {comparisonOf, constantOf, isConstant} from '../stored/packed-term.ts';
import type {Block, ColumnOf, PackedColumn, Rows} from './block.ts';

/** Leaves the rows that pass; false when the block's columns do not tell. */
export type ColumnTerm = (block: Block, rows: Rows) => boolean;

/** Made once a run, since it knows the parameters; undefined when the constants do not fit. */
export type ColumnTermMaker = (context: ExecutionContext) => ColumnTerm | undefined;

export function columnTerm(term: Expression, columnOf: ColumnOf): ColumnTermMaker | undefined {
  if (term.kind === 'is-null') return nullTerm(term.of, columnOf, true);
  if (term.kind === 'not' && term.of.kind === 'is-null') {
    return nullTerm(term.of.of, columnOf, false);
  }
  if (term.kind !== 'call') return undefined;
  const [left, low, high] = term.args;
  const column = left && columnOf(left);
  if (column === undefined || low === undefined || !isConstant(low)) return undefined;
  if (term.name === 'op:between' && high !== undefined && isConstant(high)) {
    return context => {
      const from = doubleOf(constantOf(low, context));
      const to = doubleOf(constantOf(high, context));
      return from === undefined || to === undefined ? undefined : spanTerm(column, from, to);
    };
  }
  const comparison = comparisonOf(term.name);
  if (comparison === undefined) return undefined;
  return context => {
    const constant = constantOf(low, context);
    if (typeof constant === 'string') {
      if (comparison === 'equal') return textTerm(column, constant, true);
      return comparison === 'unequal' ? textTerm(column, constant, false) : undefined;
    }
    const number = doubleOf(constant);
    if (number === undefined) return undefined;
    if (comparison === 'unequal') return unequalTerm(column, number);
    const [from, to] = spanOf(comparison, number);
    return spanTerm(column, from, to);
  };
}

/** A finite number that doubles hold. */
function doubleOf(value: Value): number | undefined {
  if (typeof value !== 'number' && !(value instanceof Double)) return undefined;
  const double = numberOf(value) + 0;
  return Number.isFinite(double) ? double : undefined;
}

type Order = 'equal' | 'less' | 'lessOrEqual' | 'greater' | 'greaterOrEqual';

function spanOf(order: Order, number: number): readonly [from: number, to: number] {
  switch (order) {
    case 'equal':
      return [number, number];
    case 'less':
      return [Number.NEGATIVE_INFINITY, neighbour(number, -1)];
    case 'lessOrEqual':
      return [Number.NEGATIVE_INFINITY, number];
    case 'greater':
      return [neighbour(number, 1), Number.POSITIVE_INFINITY];
    default:
      return [number, Number.POSITIVE_INFINITY];
  }
}

/** The double next to a finite one: 1 above it, -1 below it. */
function neighbour(number: number, side: 1 | -1): number {
  if (number === 0) return side * Number.MIN_VALUE;
  const bits = new BigInt64Array(new Float64Array([number]).buffer);
  // The bits of a double grow with its distance from zero.
  bits[0] = (bits[0] as bigint) + (number > 0 === side > 0 ? 1n : -1n);
  return new Float64Array(bits.buffer)[0] as number;
}

function holdsNumbers(column: PackedColumn): boolean {
  return column.kind === 'integer' || column.kind === 'double' || column.kind === 'empty';
}

/** NaN, which stands for null, is in no span. */
function spanTerm(at: number, from: number, to: number): ColumnTerm {
  return (block, selection) => {
    const column = block.columns[at] as PackedColumn;
    if (!holdsNumbers(column)) return false;
    const {numbers} = column;
    const {rows, count} = selection;
    let kept = 0;
    for (let number = 0; number < count; number++) {
      const row = rows[number] as number;
      const value = numbers[row] as number;
      rows[kept] = row;
      if (value >= from && value <= to) kept++;
    }
    selection.count = kept;
    return true;
  };
}

function unequalTerm(at: number, constant: number): ColumnTerm {
  return (block, selection) => {
    const column = block.columns[at] as PackedColumn;
    if (!holdsNumbers(column)) return false;
    const {numbers} = column;
    keepWhere(selection, row => {
      const value = numbers[row] as number;
      return value !== constant && !Number.isNaN(value);
    });
    return true;
  };
}

function textTerm(at: number, text: string, isWanted: boolean): ColumnTerm {
  return (block, selection) => {
    const column = block.columns[at] as PackedColumn;
    if (column.kind !== 'text' && column.kind !== 'empty') return false;
    const {codes, texts} = column;
    const code = texts?.find(text) ?? -1;
    if (isWanted) keepWhere(selection, row => codes[row] === code);
    else keepWhere(selection, row => codes[row] !== 0 && codes[row] !== code);
    return true;
  };
}

function nullTerm(
  of: Expression,
  columnOf: ColumnOf,
  isWanted: boolean,
): ColumnTermMaker | undefined {
  const at = columnOf(of);
  if (at === undefined) return undefined;
  const term: ColumnTerm = (block, selection) => {
    const {kind, codes, numbers} = block.columns[at] as PackedColumn;
    if (kind === 'mixed') return false;
    if (kind === 'text') keepWhere(selection, row => (codes[row] === 0) === isWanted);
    else keepWhere(selection, row => Number.isNaN(numbers[row]) === isWanted);
    return true;
  };
  return () => term;
}

function keepWhere(selection: Rows, passes: (row: number) => boolean): void {
  const {rows, count} = selection;
  let kept = 0;
  for (let number = 0; number < count; number++) {
    const row = rows[number] as number;
    if (passes(row)) rows[kept++] = row;
  }
  selection.count = kept;
}
