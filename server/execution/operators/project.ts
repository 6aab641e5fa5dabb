/**
 * `project`: the end of a statement. Rows pass as they are; what the client sees of them is
 * written by `result/`, straight from the slots, so that no row becomes an object on the way.
 */
import type {PlanNode} from '#server/plan/node.ts';
import type {Operator, Preparation} from '../operator.ts';

type Node = PlanNode & {readonly kind: 'project'};

export function prepareProject(node: Node, preparation: Preparation): Operator {
  return preparation.prepare(node.input);
}
