/**
 * Which slots need their records, and which travel as ids (late materialization).
 *
 * A slot needs its record when anything but its id is asked of it anywhere in the statement.
 * Hops, walks, `@rid`, comparisons for equality, counting and DISTINCT take an id as it is; every
 * other use counts as a need, so a use that this file does not know is safe.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, partsOf, visitPlan} from '#server/plan/tree.ts';

export function recordSlots(plan: PlanNode): ReadonlySet<Slot> {
  const needed = new Set<Slot>();
  collectPlan(plan, needed);
  return needed;
}

function collectPlan(plan: PlanNode, needed: Set<Slot>): void {
  visitPlan(plan, node => {
    for (const expression of expressionsOf(node)) {
      if (!takesId(node, expression)) collect(expression, needed);
    }
    // What a sub-plan hands upwards, or keeps apart from its input, is used out of sight.
    if (node.kind === 'repeat') needed.add(node.loop).add(node.next);
    if (node.kind === 'apply' && node.collect !== undefined) needed.add(node.collect.from);
  });
}

/** Slots that `expressionsOf` names only because the node starts a hop from them. */
function takesId(node: PlanNode, expression: Expression): boolean {
  // A hop's own condition loads what it reads.
  const isHop = node.kind === 'follow' || node.kind === 'degree';
  if (isHop && expression === node.where) return true;
  if (expression.kind !== 'slot') return false;
  switch (node.kind) {
    case 'follow':
      return expression.slot === node.from || node.unlike?.includes(expression.slot) === true;
    case 'degree':
      return expression.slot === node.from;
    case 'frontier':
    case 'walk':
      return expression.slot === node.from;
    case 'fuse':
      return node.legs.some(({row, score}) => score !== undefined && row === expression.slot);
    case 'chain':
      return expression.slot === node.from || expression.slot === node.end;
    case 'connect':
    case 'shortest':
      return true;
    case 'distinct':
    case 'join':
      return true;
    case 'aggregate':
      // A group's key is handed on, unless as the slot that it is; what is counted is not.
      return (
        node.aggregates.every(aggregate => aggregate.name.toLowerCase() === 'count') &&
        !node.keys.some(key => key.value === expression && key.slot !== expression.slot)
      );
    case 'change':
    case 'delete':
      // They read the record again anyway, right before they write.
      return expression.slot === node.slot;
    default:
      return false;
  }
}

function collect(expression: Expression, needed: Set<Slot>): void {
  if (expression.kind === 'slot') needed.add(expression.slot);
  if (expression.kind === 'attribute' && isRid(expression)) return;
  if (isIdComparison(expression)) return;
  if (expression.kind === 'subplan') {
    needed.add(expression.slot);
    collectPlan(expression.plan, needed);
  }
  for (const part of partsOf(expression)) collect(part, needed);
}

/** `slot.@rid`. */
function isRid(expression: Expression & {readonly kind: 'attribute'}): boolean {
  return expression.attribute === 'rid' && expression.of.kind === 'slot';
}

/** Operators to which the id of a record is as good as the record. */
const idComparisons = new Set(['op:equal', 'op:notEqual', 'op:same', 'op:differs', 'op:endpoint']);

/** `slot = slot`: records are equal when their ids are. */
function isIdComparison(expression: Expression): boolean {
  return (
    expression.kind === 'call' &&
    idComparisons.has(expression.name) &&
    expression.args.every(arg => arg.kind === 'slot')
  );
}
