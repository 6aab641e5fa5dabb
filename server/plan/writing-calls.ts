/**
 * Calls of functions that write, kept apart from what they are called for.
 *
 * Without it a scan would meet the records that the function called for its last one has made.
 */
import type {Expression} from './expression.ts';
import type {PlanNode} from './node.ts';
import {expressionsOf, mapInputs, visitExpression} from './tree.ts';

/** The plan with a barrier below every node that calls a function which writes. */
export function drainedBefore(node: PlanNode, writes: (name: string) => boolean): PlanNode {
  const calls = expressionsOf(node).some(expression => callsWriting(expression, writes));
  return mapInputs(node, input => {
    const inner = drainedBefore(input, writes);
    return calls ? {kind: 'barrier', input: inner} : inner;
  });
}

function callsWriting(expression: Expression, writes: (name: string) => boolean): boolean {
  let found = false;
  visitExpression(expression, part => {
    if (part.kind === 'routine' && writes(part.name)) found = true;
  });
  return found;
}
