/**
 * sort + [skip +] limit becomes `top`: a heap of as many rows as are asked for.
 *
 * Looks through row-by-row nodes that keep order and count (extend, project), which then run
 * on the survivors only.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {Rule} from '../rule.ts';

export const top: Rule = {
  name: 'top',
  about: ['limit'],
  apply: node => (node.kind === 'limit' ? (through(node.input, node.count) ?? node) : node),
};

function through(node: PlanNode, count: Expression, skip?: Expression): PlanNode | undefined {
  switch (node.kind) {
    case 'sort':
      return {kind: 'top', input: node.input, keys: node.keys, count, skip};
    case 'skip':
      return skip === undefined ? through(node.input, count, node.count) : undefined;
    case 'extend':
    case 'project': {
      const input = through(node.input, count, skip);
      return input === undefined ? undefined : {...node, input};
    }
    default:
      return undefined;
  }
}
