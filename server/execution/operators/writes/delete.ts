/**
 * `delete`: removes the record in a slot, a vertex with its edges, and passes the old one on.
 *
 * A record that is gone already (an edge that went with its vertex, a second row with the same
 * record) drops its row.
 */
import {Refusal} from '#server/base/errors.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {BatchBuilder, pause} from '../../batch.ts';
import type {ExecutionContext} from '../../context.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {prepareWriteInput, withoutEdges, writesOf} from './write-input.ts';

type Node = PlanNode & {readonly kind: 'delete'};

export function prepareDelete(node: Node, preparation: Preparation): Operator {
  const input = prepareWriteInput(node.input, preparation, node.slot);
  return function* remove(context, argument) {
    const builder = new BatchBuilder();
    for (const batch of input(context, argument)) {
      if (batch === pause) {
        yield pause;
        continue;
      }
      for (let row = 0; row < batch.rowCount; row++) {
        const record = recordOf(batch.get(node.slot, row), context);
        if (record !== undefined) {
          checkKind(record, node);
          yield* withoutEdges(record, context);
          if (writesOf(context).delete(record)) {
            builder.copy(batch, row);
            builder.set(node.slot, record);
          }
        }
        if (context.budget.spend(8)) yield pause;
      }
      if (builder.rowCount > 0) yield builder.take();
    }
  };
}

function recordOf(value: Value, context: ExecutionContext): RecordValue | undefined {
  if (value instanceof RecordValue) return value;
  return value instanceof Rid ? context.graph.record(value) : undefined;
}

function checkKind(record: RecordValue, node: Node): void {
  if (node.only === undefined || record.kind === node.only) return;
  throw new Refusal(
    'query.execution',
    `a ${record.kind} of type ${record.typeName} is no ${node.only}`,
  );
}
