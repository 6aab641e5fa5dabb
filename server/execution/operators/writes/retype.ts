/**
 * `retype`: labels added to and taken from the vertex in a slot. Every row passes, with the vertex
 * as it is then.
 *
 * The labels of a vertex are one type (docs/design/0001-labels-are-types.md): the operator finds
 * the type that has just the labels wanted, and asks for it when it does not exist.
 */
import {Refusal} from '#server/base/errors.ts';
import {labelsOf} from '#server/model/labels.ts';
import {RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {type Batch, BatchBuilder, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {requireLabels} from '../../missing-prerequisites.ts';
import {prepareWriteInput, writesOf} from './write-input.ts';

type Node = PlanNode & {readonly kind: 'retype'};

export function prepareRetype(node: Node, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation, node.slot);
  return function* retype(context, argument) {
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        builder.copy(batch, row);
        const changed = changeRow(node, batch, row, context);
        if (changed !== undefined) builder.set(node.slot, changed);
        if (builder.rowCount >= context.batchRows) yield builder.take();
        if (context.budget.spend(8)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

function changeRow(
  node: Node,
  batch: Batch,
  row: number,
  context: ExecutionContext,
): RecordValue | undefined {
  const value = batch.get(node.slot, row);
  const rid = value instanceof RecordValue ? value.rid : value;
  const record = rid instanceof Rid ? context.graph.record(rid) : undefined;
  if (record === undefined) return undefined;
  if (record.kind !== 'vertex') {
    throw new Refusal(
      'query.execution',
      `only a vertex can change its type, '${record.typeName}' is of another kind`,
      {
        detail: {type: 'TypeError', reason: 'InvalidArgumentType'},
      },
    );
  }
  const before = labelsOf(record.typeName);
  const {remove} = node;
  const wanted = remove === 'all' ? [] : before.filter(label => !remove.includes(label));
  const labels = [...new Set([...wanted, ...node.add])];
  const type = requireLabels(labels, context.graph);
  context.counts.labelsAdded += labels.filter(label => !before.includes(label)).length;
  context.counts.labelsRemoved += before.filter(label => !labels.includes(label)).length;
  return writesOf(context).retype(record.rid, type);
}
