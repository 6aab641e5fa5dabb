/**
 * `retype`: labels added to and taken from the vertex in a slot. Every row passes.
 *
 * A vertex that has the labels already (or has none of those to be taken away) stays as it is.
 */
import {Refusal} from '#server/base/errors.ts';
import {RecordValue, Rid} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Batch} from '../batch.ts';
import type {ExecutionContext} from '../context.ts';
import {type Operator, pause, type Preparation} from '../operator.ts';
import {prepareWriteInput} from './write-input.ts';

type Node = PlanNode & {readonly kind: 'retype'};

export function prepareRetype(node: Node, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation, node.slot);
  return function* retype(context, argument) {
    for (const batch of input(context, argument)) {
      if (batch !== pause) {
        for (let row = 0; row < batch.rowCount; row++) checkRow(node, batch, row, context);
      }
      yield batch;
    }
  };
}

function checkRow(node: Node, batch: Batch, row: number, context: ExecutionContext): void {
  const value = batch.get(node.slot, row);
  const record = value instanceof Rid ? context.graph.record(value) : value;
  if (!(record instanceof RecordValue)) return;
  const has = (label: string): boolean => context.graph.isSubtype(record.typeName, label);
  if (node.add.every(has) && !node.remove.some(has)) return;
  throw new Refusal(
    'not-available',
    'changing the labels of a stored vertex is not available yet',
    {detail: {name: 'SET and REMOVE of labels'}},
  );
}
