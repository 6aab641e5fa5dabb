/**
 * `index-point`, `index-range` and `index-entries`: rows from an index.
 *
 * Ids are turned into records a batch at a time, unless the plan asks for nothing but ids. A record
 * that is gone although its entry is there cannot be seen: both are of one snapshot. Entries as
 * rows of their own are asked for by SQL alone (`FROM index:`): Cypher has no words for an index.
 */
import {Refusal} from '#server/base/errors.ts';
import {isExactKey} from '#server/model/data-type.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {IndexBound, PlanNode} from '#server/plan/node.ts';
import {type Batch, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {asItems, itemsOf} from '../../expressions/access.ts';
import type {Closure, RowCursor} from '../../closure.ts';
import type {IndexEntry, IndexLimit, IndexSpan, Source} from '../../graph.ts';
import type {Batches, Operator, Preparation} from '../../operator.ts';
import {argumentCursor, repeatRow, sourceBatch} from './source-rows.ts';

const firstRows = 16;
const unitsPerKey = 4;
const unitsPerRecord = 2;

type Point = PlanNode & {readonly kind: 'index-point'};
type Range = PlanNode & {readonly kind: 'index-range'};
type Entries = PlanNode & {readonly kind: 'index-entries'};

export function prepareIndexPoint(node: Point, preparation: Preparation): Operator {
  const keys = node.keys.map(key => preparation.expression(key));
  const idSuffices = preparation.idSuffices(node.slot);
  return function* indexPoint(context, argument) {
    const cursor = argumentCursor(context, argument);
    const parts = keys.map(key => key(cursor));
    if (!node.each) {
      if (parts.includes(null)) return;
      if (node.strict?.every((type, at) => isExactKey(parts[at] ?? null, type)) === false) return;
      const rids = context.graph.indexPoint(node.index, parts, node.only);
      yield* ridRows(rids, {node, idSuffices, context, argument});
      return;
    }
    const seen = new Set<string>();
    for (const key of asItems(parts[0] ?? null)) {
      if (key === null) continue;
      const own = keyParts(key, node.index, context);
      const rids = context.graph.indexPoint(node.index, own, node.only);
      yield* ridRows(
        rids.filter(rid => isNew(rid, seen)),
        {node, idSuffices, context, argument},
      );
    }
  };
}

/** A composite key is a list of its parts; the key of one part may itself be a list. */
function keyParts(key: Value, index: string, context: ExecutionContext): readonly Value[] {
  const partCount = context.catalog.requireIndex(index).properties.length;
  const parts = partCount === 1 ? [key] : itemsOf(key);
  if (parts?.length !== partCount) {
    throw new Refusal('argument', `a key of ${index} has ${partCount} parts`);
  }
  return parts;
}

function isNew(rid: Rid, seen: Set<string>): boolean {
  const key = `${rid.bucket}:${rid.position}`;
  return !seen.has(key) && seen.add(key) !== undefined;
}

interface RidRows {
  readonly node: Point | Range;
  readonly idSuffices: boolean;
  readonly context: ExecutionContext;
  readonly argument: Batch;
}

function* ridRows(rids: readonly Rid[], {node, idSuffices, context, argument}: RidRows): Batches {
  for (let start = 0; start < rids.length; start += context.batchRows) {
    const part =
      start === 0 && rids.length <= context.batchRows
        ? rids
        : rids.slice(start, start + context.batchRows);
    const column = idSuffices ? part : present(context.graph.records(part));
    if (column.length > 0) yield sourceBatch(argument, node.slot, column);
    if (context.budget.spend(unitsPerKey + unitsPerRecord * part.length)) yield pause;
  }
}

function present(records: readonly (RecordValue | undefined)[]): readonly RecordValue[] {
  return records.filter(record => record !== undefined);
}

/** The span of a run; undefined when nothing is in it. */
export function prepareSpan(
  node: Range,
  preparation: Preparation,
): (cursor: RowCursor) => IndexSpan | undefined {
  const from = prepareBound(node.from, preparation);
  const to = prepareBound(node.to, preparation);
  return cursor => {
    const span = {from: from(cursor), to: to(cursor)};
    // A comparison with null is true of nothing.
    const isEmpty = span.from?.values.includes(null) || span.to?.values.includes(null);
    return isEmpty === true ? undefined : span;
  };
}

export function prepareIndexRange(node: Range, preparation: Preparation): Operator {
  const spanOf = prepareSpan(node, preparation);
  const idSuffices = preparation.idSuffices(node.slot);
  return function* indexRange(context, argument) {
    const range = spanOf(argumentCursor(context, argument));
    if (range === undefined) return;
    if (node.parts !== undefined) {
      const {index, descending, only, parts} = node;
      const entries = context.graph.indexEntries(index, range, descending, only);
      yield* partRows(entries, {node, parts, context, argument});
      return;
    }
    const source = context.graph.indexRange(node.index, range, node.descending, node.only);
    try {
      // Small portions first: a LIMIT above may want only a few.
      for (let rows = firstRows; ; rows = Math.min(rows * 4, context.batchRows)) {
        const rids = source.next(Math.min(rows, context.batchRows));
        if (rids === undefined) return;
        yield* ridRows(rids, {node, idSuffices, context, argument});
      }
    } finally {
      source.close();
    }
  };
}

/** Rows of ids and the values of key parts: no record is looked at. */
function* partRows(
  source: Source<IndexEntry>,
  {
    node,
    parts,
    context,
    argument,
  }: {
    readonly node: Range;
    readonly parts: readonly (Slot | undefined)[];
    readonly context: ExecutionContext;
    readonly argument: Batch;
  },
): Batches {
  try {
    for (let rows = firstRows; ; rows = Math.min(rows * 4, context.batchRows)) {
      const entries = source.next(Math.min(rows, context.batchRows));
      if (entries === undefined) return;
      if (entries.length > 0) yield partsBatch(entries, node.slot, parts, argument);
      if (context.budget.spend(entries.length)) yield pause;
    }
  } finally {
    source.close();
  }
}

/** @param parts - Slots that get the values of the key's parts. */
export function partsBatch(
  entries: readonly IndexEntry[],
  slot: Slot,
  parts: readonly (Slot | undefined)[],
  argument: Batch,
): Batch {
  let batch = sourceBatch(
    argument,
    slot,
    entries.map(entry => entry.rid),
  );
  for (const [part, partSlot] of parts.entries()) {
    if (partSlot === undefined) continue;
    batch = batch.with(
      partSlot,
      entries.map(entry => entry.key[part] ?? null),
    );
  }
  return batch;
}

const everything = {from: undefined, to: undefined};

function prepareBound(
  bound: IndexBound | undefined,
  preparation: Preparation,
): (cursor: RowCursor) => IndexLimit | undefined {
  if (bound === undefined) return () => undefined;
  const values: readonly Closure[] = bound.values.map(value => preparation.expression(value));
  const {inclusive} = bound;
  return cursor => ({values: values.map(value => value(cursor)), inclusive});
}

export function prepareIndexEntries(node: Entries, preparation: Preparation): Operator {
  const at = node.at && preparation.expression(node.at);
  return function* indexEntries(context, argument) {
    const key = at?.(argumentCursor(context, argument));
    // Nothing is equal to null.
    if (key === null) return;
    const which = key === undefined ? everything : {key: keyParts(key, node.index, context)};
    const source = context.graph.indexEntries(node.index, which, node.descending);
    try {
      for (;;) {
        const entries = source.next(context.batchRows);
        if (entries === undefined) return;
        if (entries.length > 0) {
          yield repeatRow(argument, entries.length)
            .with(
              node.key,
              entries.map(entry => entry.key),
            )
            .with(
              node.rid,
              entries.map(entry => entry.rid),
            );
        }
        if (context.budget.look()) yield pause;
      }
    } finally {
      source.close();
    }
  };
}
