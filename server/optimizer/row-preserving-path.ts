/**
 * The way down a plan along the input whose rows a node passes on one by one, in their order.
 *
 * What such a node gives for a row follows from that row alone (and from what stands still beside
 * it), so equal rows give equal rows.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, inputsOf, slotsOf, visitPlan} from '#server/plan/tree.ts';

/** The next node down; undefined where the rows of the inputs are gathered, cut or made. */
export function rowPreservingInput(node: PlanNode): PlanNode | undefined {
  switch (node.kind) {
    case 'filter':
    case 'extend':
    case 'follow':
    case 'connect':
    case 'unnest':
      return node.input;
    case 'apply':
      return node.mode === 'for-each' ? undefined : node.input;
    case 'join':
      return node.left;
    default:
      return undefined;
  }
}

/** The plan with `other` in the place of a node on its spine. */
export function withOnRowPreservingPath(
  node: PlanNode,
  place: PlanNode,
  other: PlanNode,
): PlanNode {
  if (node === place) return other;
  if (node.kind === 'join')
    return {...node, left: withOnRowPreservingPath(node.left, place, other)};
  return 'input' in node
    ? {...node, input: withOnRowPreservingPath(node.input, place, other)}
    : node;
}

/** Slots that a node reads, with all that stands beside its spine. */
export function readBy(node: PlanNode): Set<Slot> {
  const read = new Set<Slot>();
  for (const expression of expressionsOf(node)) slotsOf(expression, read);
  for (const beside of inputsOf(node)) {
    if (beside === rowPreservingInput(node) || node.kind === 'aggregate') continue;
    visitPlan(beside, part => {
      for (const expression of expressionsOf(part)) slotsOf(expression, read);
    });
  }
  return read;
}
