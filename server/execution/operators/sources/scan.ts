/**
 * `scan-type` and `scan-bucket`: records in storage order.
 *
 * The pushed-down condition is tested record by record inside the scan, before a column or even
 * a record of its own exists. Memory: one portion. Closes its scanner in any case. Buckets are
 * named by SQL alone.
 */
import {unreachable} from '#server/base/assert.ts';
import {ridOfText} from '#server/model/rid.ts';
import {type RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {IdBounds, PlanNode} from '#server/plan/node.ts';
import {type Batch, type Column, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {RowCursor, type Test} from '../../closure.ts';
import type {ColumnPart, IdSpan, RecordTest, ScanOrder, Source} from '../../graph.ts';
import {bucketsNamed} from './named-buckets.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {packedTerm, type PackedTestMaker} from '../../stored/packed-term.ts';
import {ScannedRecord} from '../../stored/scanned-record.ts';
import {sourceBatch} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'scan-type' | 'scan-bucket'};

const firstRows = 16;

export function prepareScan(node: Node, preparation: Preparation): Operator {
  const nulls = nullProperties(node);
  if (nulls.length > 0) preparation.readsColumns(node);
  const where = node.where && prepareTerms(node.where, node.slot, preparation);
  const span = node.ids && prepareSpan(node.ids, preparation);
  const asked = node.kind === 'scan-bucket' ? (node.asked ?? []) : [];
  const named = asked.map(bucket => preparation.expression(bucket));
  return function* scan(context, argument) {
    const test = where && recordTest(where, node.slot, context, argument);
    const cursor = new RowCursor(context, argument);
    const buckets = named.flatMap(bucket => bucketsNamed(bucket(cursor), context.catalog));
    const into = {context, argument, slot: node.slot};
    const parts = partsOf(node, nulls, scanOrder(node, context, test), context);
    if (parts !== undefined) yield* scanNulls(parts, into);
    else yield* scanRecords(open(node, context, {test, ids: span?.(cursor), buckets}), into);
  };
}

/** Properties of which the condition wants nulls alone, where columns may tell if there are any. */
function nullProperties(node: Node): readonly string[] {
  if (node.kind !== 'scan-type' || node.fewNulls !== true || node.ids !== undefined) return [];
  const {where, slot} = node;
  if (where === undefined) return [];
  return (where.kind === 'and' ? where.terms : [where]).flatMap(term => {
    const of = term.kind === 'is-null' ? term.of : undefined;
    if (of?.kind !== 'property' || of.each || of.of.kind !== 'slot') return [];
    return of.of.slot === slot ? [of.name] : [];
  });
}

function partsOf(
  node: Node,
  properties: readonly string[],
  order: ScanOrder,
  {graph}: ExecutionContext,
): Iterable<ColumnPart | undefined> | undefined {
  if (node.kind !== 'scan-type' || properties.length === 0) return undefined;
  const {type, polymorphic} = node;
  return graph.scanColumns({type, polymorphic, properties, order});
}

/** The parts that have a null in each of their columns are read, the others passed over. */
function* scanNulls(parts: Iterable<ColumnPart | undefined>, into: ScanInto): ReturnType<Operator> {
  for (const part of parts) {
    if (part?.columns?.every(({hasNulls}) => hasNulls) === false) continue;
    if (part !== undefined) yield* scanRecords(part.records(), into);
    else if (into.context.budget.look()) yield pause;
  }
}

interface ScanInto {
  readonly context: ExecutionContext;
  readonly argument: Batch;
  readonly slot: Slot;
}

/** The records of `source`, which it closes. */
export function* scanRecords(
  source: Source<RecordValue>,
  {context, argument, slot}: ScanInto,
): ReturnType<Operator> {
  try {
    // Small portions first: a LIMIT above may want only a few.
    for (let rows = firstRows; ; rows = Math.min(rows * 4, context.batchRows)) {
      const records = source.next(Math.min(rows, context.batchRows));
      if (records === undefined) return;
      if (records.length > 0) yield sourceBatch(argument, slot, records);
      if (context.budget.look()) yield pause;
    }
  } finally {
    source.close();
  }
}

/** Both bounds are included: what an exclusive one leaves out fails the condition. */
function prepareSpan(
  {from, to}: IdBounds,
  preparation: Preparation,
): (cursor: RowCursor) => IdSpan {
  const [low, high] = [from, to].map(bound => {
    const value = bound?.values[0];
    return value && preparation.expression(value);
  });
  return cursor => ({from: low && idOf(low(cursor)), to: high && idOf(high(cursor))});
}

/** The id that a value is compared as; undefined where it is none, or none of a stored record. */
function idOf(value: Value): Rid | undefined {
  const rid = typeof value === 'string' ? ridOfText(value) : value;
  return rid instanceof Rid && rid.bucket >= 0 && rid.position >= 0 ? rid : undefined;
}

interface Wanted {
  readonly test: RecordTest | undefined;
  readonly ids: IdSpan | undefined;
  /** More buckets than those that the node names. */
  readonly buckets: readonly number[];
}

function open(
  node: Node,
  context: ExecutionContext,
  {test, ids, buckets}: Wanted,
): Source<RecordValue> {
  const order = {...scanOrder(node, context, test), ids};
  switch (node.kind) {
    case 'scan-type':
      return context.graph.scanType(node.type, node.polymorphic, order);
    case 'scan-bucket':
      return context.graph.scanBuckets([...node.buckets, ...buckets], order);
    default:
      return unreachable(node);
  }
}

/** The order and condition of a scan, with its work reported to the budget. */
export function scanOrder(
  {descending}: Node,
  context: ExecutionContext,
  test: RecordTest | undefined,
): ScanOrder {
  return {descending, test, isOver: test && (() => context.budget.spend(1))};
}

/** One term of the condition, and how to decide it on packed bytes where that can be. */
interface Term {
  readonly test: Test;
  readonly packed: PackedTestMaker | undefined;
}

export function prepareTerms(
  where: Expression,
  slot: Slot,
  preparation: Preparation,
): readonly Term[] {
  const terms = where.kind === 'and' ? where.terms : [where];
  return terms.map(term => ({test: preparation.condition(term), packed: packedTerm(term, slot)}));
}

/** Evaluates the terms on a row of which only `slot` changes. */
export function recordTest(
  terms: readonly Term[],
  slot: number,
  context: ExecutionContext,
  argument: Batch,
): RecordTest {
  const cell: Value[] = [null];
  const columns: (Column | undefined)[] = [...argument.columns];
  while (columns.length < slot) columns.push(undefined);
  columns[slot] = cell;
  const cursor = new RowCursor(context, argument);
  cursor.columns = columns;
  const tests = terms.map(({test, packed}) => ({test, packed: packed?.(context)}));
  return record => {
    cell[0] = record;
    const scanned = record instanceof ScannedRecord ? record : undefined;
    for (const {test, packed} of tests) {
      const known = scanned === undefined ? undefined : packed?.(scanned);
      if (!(known ?? test(cursor))) return false;
    }
    return true;
  };
}
