/** `union`: the rows of all inputs, one input after the other. */
import type {PlanNode} from '#server/plan/node.ts';
import type {Operator, Preparation} from '../operator.ts';

type Node = PlanNode & {readonly kind: 'union'};

export function prepareUnion(node: Node, preparation: Preparation): Operator {
  const inputs = node.inputs.map(input => preparation.prepare(input));
  return function* union(context, argument) {
    for (const input of inputs) yield* input(context, argument);
  };
}
