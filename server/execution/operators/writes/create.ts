/**
 * `create`: a record a row; an edge for each pair of its ends.
 *
 * Assignments see the row; the record is bound to `slot`. `ifNotExists` answers the edge that
 * joins the two ends already instead of making a second one. A record that a trigger forbids drops
 * its row.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {labelsOf} from '#server/model/labels.ts';
import {ridOfText} from '#server/model/rid.ts';
import type {RecordValue, Rid, Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, pause, unitBatch} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import {asItems} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {type Closure, RowCursor} from '../../closure.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {type Assign, prepareAssignments} from './assignments.ts';
import {allHops} from '../hops/follow.ts';
import {bucketNamed} from '../sources/named-buckets.ts';
import {ridKey, ridOf} from '../hops/vertex-ids.ts';
import {prepareWriteInput, writesOf} from './write-input.ts';

type Node = PlanNode & {readonly kind: 'create'};

interface Ends {
  readonly from: Closure;
  readonly to: Closure;
}

/** Where a record goes: its type, and its bucket if that is said. */
type TargetBucket = (cursor: RowCursor) => {
  readonly type: string;
  readonly bucket: string | undefined;
};

export function prepareCreate(node: Node, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation);
  const assign = prepareAssignments(node.assignments, preparation);
  const rid = node.rid && preparation.expression(node.rid);
  const place = preparePlace(node, preparation);
  const ends: Ends | undefined = node.from &&
    node.to && {
      from: preparation.expression(node.from),
      to: preparation.expression(node.to),
    };
  return function* create(context, argument) {
    const cursor = new RowCursor(context, unitBatch);
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      if (ends === undefined && batch.rowCount === 1) {
        cursor.enter(batch);
        cursor.row = 0;
        const record = createOne({
          node,
          place,
          assign,
          cursor,
          rid: rid && formerId(rid(cursor), node),
        });
        if (record !== undefined) yield batch.with(node.slot, [record]);
        if (context.budget.spend(8)) yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        cursor.enter(batch);
        cursor.row = row;
        const at = {node, place, assign, cursor, rid: rid && formerId(rid(cursor), node)};
        if (ends === undefined) add(builder, {node, batch, row}, createOne(at));
        else {
          for (const edge of createEdges(at, ends)) {
            add(builder, {node, batch, row}, edge);
            if (builder.rowCount >= context.batchRows) yield builder.take();
            if (context.budget.spend(8)) yield pause;
          }
        }
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (context.budget.spend(8)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

function add(
  builder: BatchBuilder,
  at: {readonly node: Node; readonly batch: Batch; readonly row: number},
  record: RecordValue | undefined,
): void {
  if (record === undefined) return;
  builder.copy(at.batch, at.row);
  builder.set(at.node.slot, record);
}

function preparePlace({type, bucket}: Node, preparation: Preparation): TargetBucket {
  if (typeof bucket !== 'object') {
    assert(type !== undefined, 'only a bucket that is asked for tells a type');
    const known = {type, bucket};
    return () => known;
  }
  const asked = preparation.expression(bucket);
  return cursor => {
    const named = bucketNamed(asked(cursor), cursor.context.catalog);
    // Whether the bucket is one of the type's is looked at where the record is made.
    return {bucket: named.bucket, type: type ?? named.type};
  };
}

/** What a record is made of, but for its ends. */
interface Making {
  readonly node: Node;
  readonly place: TargetBucket;
  readonly assign: Assign;
  readonly cursor: RowCursor;
  readonly rid: Rid | undefined;
}

function createOne(
  {node, place, assign, cursor, rid}: Making,
  ends?: {readonly from: Rid; readonly to: Rid},
): RecordValue | undefined {
  const properties = new Map<string, Value>();
  assign(properties, cursor);
  const {what, unidirectional} = node;
  const {type, bucket} = place(cursor);
  const requested = {what, type, bucket, unidirectional, properties, ...ends, ...(rid && {rid})};
  const {counts} = cursor.context;
  const record = writesOf(cursor.context).create(requested);
  if (record === undefined) return undefined;
  counts.propertiesSet += properties.size;
  if (record.kind === 'vertex') counts.labelsAdded += labelsOf(type).length;
  return record;
}

function formerId(value: Value, node: Node): Rid {
  const rid = typeof value === 'string' ? ridOfText(value) : ridOf(value);
  if (rid !== undefined) return rid;
  throw new Refusal('query.execution', `RID needs a record id, not ${describe(value)}`, {
    place: node.place,
  });
}

function* createEdges(making: Making, ends: Ends): Generator<RecordValue | undefined> {
  const {node, cursor} = making;
  const {context} = cursor;
  const from = vertices(ends.from(cursor), 'FROM', node);
  const to = vertices(ends.to(cursor), 'TO', node);
  for (const start of from) {
    for (const end of to) {
      const known = node.ifNotExists ? existing(start, end, node, context) : undefined;
      yield known ?? createOne(making, {from: start, to: end});
    }
  }
}

function vertices(value: Value, side: string, node: Node): Rid[] {
  return asItems(value).map(item => {
    const rid = typeof item === 'string' ? ridOfText(item) : (ridOf(item) ?? innerRid(item));
    if (rid !== undefined) return rid;
    throw new Refusal('query.execution', `${side} needs vertices, not ${describe(item)}`, {
      place: node.place,
    });
  });
}

/** A row of a sub-query counts as its record: `{"@rid": #1:0, ...}`. */
function innerRid(value: Value): Rid | undefined {
  if (!(value instanceof Map)) return undefined;
  const inner = value.get('@rid') ?? (value.size === 1 ? [...value.values()][0] : undefined);
  return ridOf(inner);
}

function existing(
  from: Rid,
  to: Rid,
  node: Node,
  context: ExecutionContext,
): RecordValue | undefined {
  const wanted = ridKey(to);
  const hops = allHops(
    [from],
    {direction: 'out', types: node.type === undefined ? [] : [node.type]},
    context,
  );
  const found = hops.filter(hop => ridKey(hop.other) === wanted).slice(0, 1);
  return found.length === 0 ? undefined : context.graph.hopEdges(found, [from])[0];
}
