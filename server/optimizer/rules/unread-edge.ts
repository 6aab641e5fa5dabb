/** A hop over edges that nobody asks for binds its ends alone. */
import type {Rule} from '../rule.ts';

export const unreadEdge: Rule = {
  name: 'unread-edge',
  about: ['follow'],
  apply(node, context) {
    if (node.kind !== 'follow' || node.edge === undefined) return node;
    return (context.slots.reads.get(node.edge) ?? 0) > 0 ? node : {...node, edge: undefined};
  },
};
