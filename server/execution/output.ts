/**
 * What of a row the client sees, compiled once a plan; and a row as a value, for the
 * serializers and callers that want values instead of bytes.
 */
import {utf8Bytes} from '#server/base/utf8.ts';
import {categoryOf, jsonString} from '#server/model/json.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Output, OutputColumn, PlanNode} from '#server/plan/node.ts';
import type {Batch} from './batch.ts';
import type {Budget} from './budget.ts';
import type {ExecutionContext} from './context.ts';
import {mapOf} from './expressions/access.ts';
import {type Closure, type Compiler, RowCursor} from './closure.ts';
import {bounded, estimateValue} from './expressions/value-size.ts';

export type PreparedOutput =
  | {readonly kind: 'element'; readonly slot: number}
  | {readonly kind: 'columns'; readonly columns: readonly PreparedColumn[]};

interface NamedColumn {
  readonly name: string;
  /** `"name":` as bytes. */
  readonly key: Uint8Array;
  readonly value: Closure;
  /** Where the value is a property of the record in a slot and may be copied as it is stored. */
  readonly stored: {readonly slot: Slot; readonly name: string} | undefined;
}

interface SpreadColumn {
  readonly spread: Closure;
  readonly except: ReadonlySet<string>;
  readonly attributes: boolean;
}

export type PreparedColumn = NamedColumn | SpreadColumn;

export function prepareOutput(output: Output, compiler: Compiler): PreparedOutput {
  if (output.kind === 'element') return output;
  const columns = output.columns.map(column => prepareColumn(column, compiler));
  return {kind: 'columns', columns: withoutDoubles(columns)};
}

/** Names of the columns; undefined where a row is one value, or only a look at it tells them. */
export function columnNames(output: PreparedOutput): readonly string[] | undefined {
  if (output.kind === 'element') return undefined;
  const names = output.columns.flatMap(column => ('name' in column ? [column.name] : []));
  return names.length === output.columns.length ? names : undefined;
}

/** Keeps one of several columns with one name: the last value in the first one's place. */
function withoutDoubles(columns: readonly PreparedColumn[]): readonly PreparedColumn[] {
  const last = new Map<string, PreparedColumn>();
  for (const column of columns) if ('name' in column) last.set(column.name, column);
  if (last.size === columns.filter(column => 'name' in column).length) return columns;
  return columns.flatMap(column => {
    if (!('name' in column)) return [column];
    const kept = last.get(column.name);
    last.delete(column.name);
    return kept === undefined ? [] : [kept];
  });
}

function prepareColumn(column: OutputColumn, compiler: Compiler): PreparedColumn {
  if ('value' in column) {
    const key = utf8Bytes(`${jsonString(column.name)}:`);
    const value = compiler.expression(column.value);
    return {name: column.name, key, value, stored: storedProperty(column.value)};
  }
  return {
    spread: compiler.expression(column.spread),
    except: new Set(column.except),
    attributes: column.attributes,
  };
}

function storedProperty(value: Expression): NamedColumn['stored'] {
  if (value.kind !== 'property' || value.each || value.of.kind !== 'slot') return undefined;
  return {slot: value.of.slot, name: value.name};
}

/** The output of the plan's project, which only nodes that keep rows as they are stand above. */
export function outputOf(plan: PlanNode): Output | undefined {
  switch (plan.kind) {
    case 'project':
      return plan.output;
    case 'skip':
    case 'limit':
    case 'barrier':
    case 'sort':
    case 'top':
    case 'distinct':
    case 'filter':
      return outputOf(plan.input);
    default:
      return undefined;
  }
}

/** The attributes that a row of a record begins with. */
export function attributesOf(record: RecordValue): Map<string, Value> {
  const attributes = new Map<string, Value>([
    ['@rid', record.rid],
    ['@type', record.typeName],
    ['@cat', categoryOf[record.kind]],
  ]);
  if (record.from !== undefined && record.to !== undefined) {
    attributes.set('@in', record.to).set('@out', record.from);
  }
  return attributes;
}

/** Columns as a map: a later column of the same name takes the place of an earlier one. */
export function mergedRow(
  columns: readonly PreparedColumn[],
  cursor: RowCursor,
): Map<string, Value> {
  const row = new Map<string, Value>();
  const {graph} = cursor.context;
  for (const column of columns) {
    if (!('spread' in column)) {
      row.set(column.name, column.value(cursor));
      continue;
    }
    const value = column.spread(cursor);
    const record = value instanceof Rid ? graph.record(value) : value;
    if (column.attributes && record instanceof RecordValue) {
      for (const [name, attribute] of attributesOf(record)) {
        if (!column.except.has(name)) row.set(name, attribute);
      }
    }
    for (const [name, property] of mapOf(record ?? null, graph) ?? []) {
      if (!column.except.has(name)) row.set(name, property);
    }
  }
  bounded(row, cursor.context.budget);
  return row;
}

/** The element of a row, or its columns as a map. */
export function rowValue(
  output: PreparedOutput,
  batch: Batch,
  row: number,
  context: ExecutionContext,
): Value {
  if (output.kind === 'element') {
    const value = batch.get(output.slot, row);
    return value instanceof Rid ? (context.graph.record(value) ?? value) : value;
  }
  const cursor = new RowCursor(context, batch);
  cursor.row = row;
  const [first] = output.columns;
  if (output.columns.length === 1 && first !== undefined && 'spread' in first) {
    const value = first.spread(cursor);
    if (first.attributes && first.except.size === 0 && value instanceof RecordValue) return value;
  }
  return mergedRow(output.columns, cursor);
}

/** Counts a value that outlives its row against a budget. Answers the bytes to give back. */
export function keepValue(value: Value, budget: Budget): number {
  const bytes = estimateValue(value);
  budget.keep(bytes);
  return bytes;
}
