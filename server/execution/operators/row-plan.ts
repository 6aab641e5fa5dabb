/**
 * Sub-plans that may run for many argument rows at once.
 *
 * A plan made of nodes that work row by row and keep the order of their input gives, for a batch
 * of arguments, the rows of the first argument, then those of the second, and so on. With the
 * number of the argument as one more slot each row tells whose it is, so one run over a batch
 * stands for a run a row: hops are read and records loaded for all of them together.
 */
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isDeterministic, isReadOnly} from '#server/plan/properties.ts';
import {boundSlots, expressionsOf, inputsOf, slotsOf, visitPlan} from '#server/plan/tree.ts';
import type {Batch} from '../batch.ts';

/** Whether one run over many argument rows gives the rows of a run each, in order. */
export function isRowWise(plan: PlanNode): boolean {
  switch (plan.kind) {
    case 'argument':
      return true;
    case 'filter':
    case 'extend':
    case 'unnest':
    case 'follow':
    case 'degree':
    case 'connect':
    case 'walk':
      return isRowWise(plan.input);
    case 'apply':
      // What it applies sees one row of the input or many, as it can.
      return plan.mode !== 'for-each' && isRowWise(plan.input);
    default:
      return false;
  }
}

/** Whether the rows of the plan follow from the slots `given` alone, whenever it runs. */
export function dependsOnlyOn(plan: PlanNode, given: Slot): boolean {
  if (!isReadOnly(plan) || !isDeterministic(plan)) return false;
  const bound = boundSlots(plan);
  let only = true;
  visitPlan(plan, node => {
    for (const expression of expressionsOf(node)) {
      for (const slot of slotsOf(expression)) {
        if (slot !== given && !bound.has(slot)) only = false;
      }
    }
  });
  return only;
}

/** The least slot that the plan does not bind and no slot below it. */
export function slotAbove(plan: PlanNode): Slot {
  let above = 0;
  const visit = (node: PlanNode): void => {
    for (const slot of boundSlots(node)) above = Math.max(above, slot + 1);
    inputsOf(node).forEach(visit);
  };
  visit(plan);
  return above;
}

/** The batch with its rows numbered in `slot`. */
export function numbered(batch: Batch, slot: Slot): Batch {
  return batch.with(
    slot,
    Array.from({length: batch.rowCount}, (_row, number) => number),
  );
}
