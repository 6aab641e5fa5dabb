/** Slots of a whole plan, those of sub-plans in expressions included. */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, ownSlots, partsOf, visitPlan} from '#server/plan/tree.ts';

export interface SlotUse {
  /** A number above every slot that the plan names. */
  readonly next: Slot;
  /** How often each slot is asked for; what only binds it does not count. */
  readonly reads: ReadonlyMap<Slot, number>;
  /** Slots that are bound to a record, its id or null, and to nothing else anywhere. */
  readonly records: ReadonlySet<Slot>;
}

export function slotUse(plan: PlanNode): SlotUse {
  const reads = new Map<Slot, number>();
  const records = new Set<Slot>();
  const others = new Set<Slot>();
  let next = 0;
  const name = (slot: Slot): void => {
    next = Math.max(next, slot + 1);
  };
  const bind = (slot: Slot, isRecord: boolean): void => {
    name(slot);
    (isRecord ? records : others).add(slot);
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
      bind(expression.item, false);
      if (expression.kind === 'reduce') bind(expression.accumulator, false);
      else if (expression.index !== undefined) bind(expression.index, false);
    }
    for (const part of partsOf(expression)) inExpression(part);
  };
  const inPlan = (whole: PlanNode): void => {
    visitPlan(whole, node => {
      const ofRecords = recordSlots(node);
      for (const slot of ownSlots(node)) bind(slot, ofRecords.includes(slot));
      for (const expression of expressionsOf(node)) inExpression(expression);
      if (node.kind === 'apply') node.slots.forEach(read);
      if (node.kind === 'join') node.rightSlots.forEach(read);
      if (node.kind === 'repeat') read(node.loop);
    });
  };
  inPlan(plan);
  for (const slot of others) records.delete(slot);
  return {next, reads, records};
}

/** Lists the node's own slots that it binds to records. */
function recordSlots(node: PlanNode): readonly (Slot | undefined)[] {
  switch (node.kind) {
    case 'scan-type':
    case 'scan-bucket':
    case 'index-point':
    case 'index-range':
    case 'ranked':
    case 'fuse':
      return [node.slot];
    case 'follow':
      return [node.to, node.edge];
    case 'connect':
      return [node.edge];
    case 'walk':
    case 'frontier':
      return [node.to];
    default:
      return [];
  }
}
