/**
 * Values of expressions over packed columns, a whole selection of rows at a time.
 *
 * An expression is a column, a number, or a sum, difference or product of such. The result is a
 * column again: whole numbers stay exact (one that leaves the safe integers makes the answer
 * undefined, and the rows are computed one by one), doubles are what doubles are.
 */
import {isIntegerValue, makeDouble, numberOf} from '#server/model/number.ts';
import {Double, type Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {rowGroupRows} from '#server/caches/row-group.ts';
import type {ExecutionContext} from '../context.ts';
import {constantOf, isConstant} from '../stored/packed-term.ts';
import type {Block, ColumnOf, PackedColumn, Rows} from './block.ts';

/** Undefined when the block's columns do not tell; good until it is asked again. */
export type ColumnValues = (block: Block, rows: Rows) => PackedColumn | undefined;

/** Made once a run; undefined when a constant is no number that doubles hold. */
export type ColumnValuesMaker = (context: ExecutionContext) => ColumnValues | undefined;

type Operation = 'add' | 'subtract' | 'multiply';

const operations: Readonly<Record<string, Operation>> = {
  'op:add': 'add',
  'op:subtract': 'subtract',
  'op:multiply': 'multiply',
  'op:plus': 'add',
  'op:minus': 'subtract',
  'op:times': 'multiply',
};

export function columnValues(
  expression: Expression,
  columnOf: ColumnOf,
): ColumnValuesMaker | undefined {
  const at = columnOf(expression);
  if (at !== undefined) {
    return () => block => {
      const column = block.columns[at] as PackedColumn;
      return column.kind === 'mixed' ? undefined : column;
    };
  }
  if (expression.kind !== 'call') return undefined;
  const operation = operations[expression.name];
  const [left, right] = expression.args;
  if (operation === undefined || left === undefined || right === undefined) return undefined;
  const leftOf = operandOf(left, columnOf);
  const rightOf = operandOf(right, columnOf);
  if (leftOf === undefined || rightOf === undefined) return undefined;
  return context => {
    const [a, b] = [leftOf(context), rightOf(context)];
    if (a === undefined || b === undefined) return undefined;
    const into = new Float64Array(rowGroupRows);
    return (block, rows) => {
      const [x, y] = [a(block, rows), b(block, rows)];
      if (x === undefined || y === undefined) return undefined;
      return combined(operation, {left: x, right: y, rows, into});
    };
  };
}

function operandOf(expression: Expression, columnOf: ColumnOf): ColumnValuesMaker | undefined {
  if (!isConstant(expression)) return columnValues(expression, columnOf);
  return context => {
    const column = constantColumn(constantOf(expression, context));
    return column && (() => column);
  };
}

function constantColumn(value: Value): PackedColumn | undefined {
  if (typeof value !== 'number' && !(value instanceof Double)) return undefined;
  const number = numberOf(value);
  if (!Number.isFinite(number)) return undefined;
  return {
    kind: isIntegerValue(value) ? 'integer' : 'double',
    numbers: new Float64Array(rowGroupRows).fill(number),
    codes: new Uint16Array(0),
    texts: undefined,
    magnitude: Math.abs(number),
    hasNulls: false,
  };
}

interface Operands {
  readonly left: PackedColumn;
  readonly right: PackedColumn;
  readonly rows: Rows;
  readonly into: Float64Array;
}

function combined(operation: Operation, operands: Operands): PackedColumn | undefined {
  const {left, right, into} = operands;
  if (left.kind === 'text' || right.kind === 'text') return undefined;
  const magnitude =
    operation === 'multiply' ? left.magnitude * right.magnitude : left.magnitude + right.magnitude;
  const isDouble = left.kind === 'double' || right.kind === 'double';
  // Doubles that overflow may make NaN, which would be taken for null.
  if (!(magnitude <= (isDouble ? Number.MAX_VALUE : Number.MAX_SAFE_INTEGER))) return undefined;
  if (operation === 'add') addRows(operands);
  else if (operation === 'subtract') subtractRows(operands);
  else multiplyRows(operands, isDouble);
  const isEmpty = left.kind === 'empty' || right.kind === 'empty';
  const kind = isEmpty ? 'empty' : isDouble ? 'double' : 'integer';
  const hasNulls = left.hasNulls || right.hasNulls;
  return {kind, numbers: into, codes: noCodes, texts: undefined, magnitude, hasNulls};
}

const noCodes = new Uint16Array(0);

function addRows({left: {numbers: x}, right: {numbers: y}, rows: {rows, count}, into}: Operands) {
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number;
    into[row] = (x[row] as number) + (y[row] as number);
  }
}

function subtractRows({left, right, rows: {rows, count}, into}: Operands): void {
  const {numbers: x} = left;
  const {numbers: y} = right;
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number;
    into[row] = (x[row] as number) - (y[row] as number);
  }
}

/** Whole numbers have one zero. */
function multiplyRows({left, right, rows: {rows, count}, into}: Operands, isDouble: boolean): void {
  const {numbers: x} = left;
  const {numbers: y} = right;
  const zero = isDouble ? -0 : 0;
  for (let at = 0; at < count; at++) {
    const row = rows[at] as number;
    into[row] = (x[row] as number) * (y[row] as number) + zero;
  }
}

/** The value of a column at a row, as expressions know it. */
export function valueAt(column: PackedColumn, row: number): Value {
  if (column.kind === 'text') return column.texts?.text(column.codes[row] as number) ?? null;
  const number = column.numbers[row] as number;
  if (Number.isNaN(number)) return null;
  return column.kind === 'double' ? makeDouble(number) : number;
}
