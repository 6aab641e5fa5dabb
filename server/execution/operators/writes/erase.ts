/**
 * `erase`: deletes the records that the rows name, when all rows are known: edges first, then
 * vertices. Every row passes.
 *
 * Only Cypher deletes values: nodes, relationships, paths and lists of them, all at the end of the
 * clause. SQL's DELETE removes the record in hand (`delete`).
 *
 * Memory: the input's rows, and an id a record.
 */
import {Refusal} from '#server/base/errors.ts';
import {PathValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {ExecutionContext} from '../../context.ts';
import {itemsOf} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {RowCursor} from '../../closure.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {pause} from '../../batch.ts';
import {KeptRows} from '../kept-rows.ts';
import {type RidKey, ridKey} from '../hops/vertex-ids.ts';
import {withoutEdges, writesOf} from './write-input.ts';

type Node = PlanNode & {readonly kind: 'erase'};

export function prepareErase(node: Node, preparation: Preparation): Operator {
  const input = preparation.prepare(node.input);
  const values = node.values.map(value => preparation.expression(value));
  return function* erase(context, argument) {
    const found = new Map<RidKey, RecordValue>();
    const kept = new KeptRows(context);
    try {
      yield* kept.drain(input(context, argument), batch => {
        const cursor = new RowCursor(context, batch);
        for (let row = 0; row < batch.rowCount; row++) {
          cursor.row = row;
          for (const value of values) collect(value(cursor), found, context);
        }
        return batch;
      });
      const records = [...found.values()];
      for (const record of records.filter(one => one.kind === 'edge')) {
        writesOf(context).delete(record);
        if (context.budget.spend(8)) yield pause;
      }
      const vertices = records.filter(one => one.kind !== 'edge');
      if (!node.detach) for (const vertex of vertices) requireNoEdges(vertex, context);
      for (const vertex of vertices) {
        yield* withoutEdges(vertex, context);
        writesOf(context).delete(vertex);
        if (context.budget.spend(8)) yield pause;
      }
      yield* kept.batches;
    } finally {
      kept.release();
    }
  };
}

function collect(value: Value, into: Map<RidKey, RecordValue>, context: ExecutionContext): void {
  if (value === null) return;
  if (value instanceof RecordValue || value instanceof Rid) {
    const record = value instanceof Rid ? context.graph.record(value) : value;
    if (record !== undefined) into.set(ridKey(record.rid), record);
    return;
  }
  const items = value instanceof PathValue ? value.elements : itemsOf(value);
  if (items === undefined) {
    throw new Refusal('query.execution', `only records can be deleted, not ${describe(value)}`, {
      detail: {type: 'TypeError', reason: 'InvalidArgumentType'},
    });
  }
  for (const item of items) collect(item, into, context);
}

function hasNoEdges(vertex: Rid, {graph}: ExecutionContext): boolean {
  const source = graph.hops([vertex], {direction: 'both', types: undefined});
  const first = source.next(1);
  source.close();
  return first === undefined;
}

function requireNoEdges(vertex: RecordValue, context: ExecutionContext): void {
  if (context.graph.record(vertex.rid) === undefined) return;
  if (hasNoEdges(vertex.rid, context)) return;
  throw new Refusal(
    'query.execution',
    'a vertex that has edges cannot be deleted without them: delete them first, or detach it',
    {detail: {type: 'ConstraintVerificationFailed', reason: 'DeleteConnectedNode'}},
  );
}
