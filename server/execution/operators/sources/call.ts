/** `call`: the rows of a table function, its outputs bound by name. */
import {Refusal} from '#server/base/errors.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {BatchBuilder, pause} from '../../batch.ts';
import type {FunctionRegistry} from '../../function-registry.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {argumentCursor} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'call'};

export function prepareCall(
  node: Node,
  preparation: Preparation,
  functions: FunctionRegistry,
): Operator {
  const table = functions.table(node.procedure);
  if (table === undefined) {
    throw new Refusal('query.unknown-function', `there is no procedure ${node.procedure}`, {
      place: node.place,
    });
  }
  const args = node.args.map(arg => preparation.expression(arg));
  const positions = node.outputs.map(output => {
    const position = table.outputs.indexOf(output.name);
    if (position >= 0) return {slot: output.slot, position};
    throw new Refusal('query.unknown-name', `${node.procedure} has no output ${output.name}`, {
      place: node.place,
    });
  });
  return function* call(context, argument) {
    const cursor = argumentCursor(context, argument);
    const builder = new BatchBuilder();
    for (const row of table.rows(
      args.map(arg => arg(cursor)),
      context,
    )) {
      builder.copy(argument, 0);
      for (const {slot, position} of positions) builder.set(slot, row[position] ?? null);
      if (builder.rowCount >= context.batchRows) yield builder.take();
      if (context.budget.spend(1)) yield pause;
    }
    if (builder.rowCount > 0) yield builder.take();
  };
}
