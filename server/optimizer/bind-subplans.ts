/**
 * Puts the expressions that run a sub-plan where a run can pause: into an `extend` of their own.
 *
 * An expression closure cannot yield, so a sub-plan inside of one would keep everybody else
 * waiting for as long as it takes. `extend` can (expressions/resumption.ts): the node that asked
 * for the expression reads the slot that it binds. What is evaluated, and for which rows, stays as
 * it was. Done last, on the plan as it runs. Changes of records pause by themselves: what they
 * assign may read what the rows before have changed. Expressions of joins and walks are left where
 * they are.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, mapInputs, mapParts, runsPlan} from '#server/plan/tree.ts';
import {slotUse} from './slots.ts';

/** Nodes that evaluate each of their expressions once for a row of their only input. */
const hosts: ReadonlySet<PlanNode['kind']> = new Set<PlanNode['kind']>([
  'filter',
  'project',
  'unnest',
  'aggregate',
  'distinct',
  'select-per-group',
  'sort',
  'create',
]);

export function bindSubplans(plan: PlanNode): PlanNode {
  let next: Slot | undefined;
  const newSlot = (): Slot => {
    const slot = next ?? slotUse(plan).next;
    next = slot + 1;
    return slot;
  };
  const everywhere = (node: PlanNode): PlanNode => {
    const inner = mapInputs(node, everywhere);
    if (!expressionsOf(inner).some(runsPlan)) return inner;
    return withBound(
      mapExpressions(inner, expression => inside(expression, everywhere)),
      newSlot,
    );
  };
  return everywhere(plan);
}

function inside(expression: Expression, map: (plan: PlanNode) => PlanNode): Expression {
  if (!runsPlan(expression)) return expression;
  return mapParts(expression, part => inside(part, map), map);
}

function withBound(node: PlanNode, newSlot: () => Slot): PlanNode {
  if (!hosts.has(node.kind)) return node;
  const bind: {readonly slot: Slot; readonly value: Expression}[] = [];
  const reading = mapExpressions(node, value => {
    if (!runsPlan(value)) return value;
    const slot = newSlot();
    bind.push({slot, value});
    return {kind: 'slot', slot};
  });
  return bind.length === 0 ? node : mapInputs(reading, input => ({kind: 'extend', input, bind}));
}
