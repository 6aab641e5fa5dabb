/** Slots of a whole plan, those of sub-plans in expressions included. */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, ownSlots, partsOf, visitPlan} from '#server/plan/tree.ts';

export interface SlotUse {
  /** Above every slot that the plan names. */
  readonly next: Slot;
  /** How often each slot is asked for; what only binds it does not count. */
  readonly reads: ReadonlyMap<Slot, number>;
}

export function slotUse(plan: PlanNode): SlotUse {
  const reads = new Map<Slot, number>();
  let next = 0;
  const name = (slot: Slot): void => {
    next = Math.max(next, slot + 1);
  };
  const read = (slot: Slot): void => {
    name(slot);
    reads.set(slot, (reads.get(slot) ?? 0) + 1);
  };
  const inExpression = (expression: Expression): void => {
    if (expression.kind === 'slot') read(expression.slot);
    if (expression.kind === 'subplan') {
      read(expression.slot);
      inPlan(expression.plan);
    }
    if (expression.kind === 'comprehension' || expression.kind === 'reduce') {
      name(expression.item);
      if (expression.kind === 'reduce') name(expression.accumulator);
      else if (expression.index !== undefined) name(expression.index);
    }
    for (const part of partsOf(expression)) inExpression(part);
  };
  const inPlan = (whole: PlanNode): void => {
    visitPlan(whole, node => {
      for (const slot of ownSlots(node)) name(slot);
      for (const expression of expressionsOf(node)) inExpression(expression);
      if (node.kind === 'apply') node.slots.forEach(read);
      if (node.kind === 'join') node.rightSlots.forEach(read);
      if (node.kind === 'repeat') read(node.loop);
    });
  };
  inPlan(plan);
  return {next, reads};
}
