/**
 * Several indexes for one condition: the union of what each branch of an OR finds, the
 * intersection of what two terms of an AND find.
 *
 * A branch is a scan of its own with the other terms of the condition added, and must be answered
 * by an index; a record that several branches find is met once. A list that is written out is an OR
 * of its items where the index has more parts than that one. For an intersection only ids are
 * compared; records are fetched of those in both.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {listItems} from '#server/plan/written-list.ts';
import {conjunction, conjunctsOf, filtered} from '../conjuncts.ts';
import type {RuleContext} from '../rule.ts';
import type {IndexNode, Scan} from './access.ts';
import {type SingleAccess, singleAccesses, typeTest} from './single-access.ts';

/** More branches are not worth the seeks and the plan's size. */
const branchesMax = 16;
/** Each OR is looked at with all other terms: of more of them the first ones have to do. */
const unionsMax = 16;

/** Undefined: no OR whose branches indexes answer all. */
export function indexUnion(scan: Scan, context: RuleContext): PlanNode | undefined {
  const terms = conjunctsOf(scan.where);
  let best: PlanNode | undefined;
  let tried = 0;
  for (const term of terms) {
    if (tried === unionsMax) break;
    const branches = branchesOf(term);
    if (branches === undefined) continue;
    tried += 1;
    const others = terms.filter(other => other !== term);
    const inputs: PlanNode[] = [];
    for (const branch of branches) {
      const where = conjunction([...conjunctsOf(branch), ...others]);
      const found = where && cheapestSingle({...scan, where}, context);
      if (found === undefined) break;
      inputs.push(found);
    }
    if (inputs.length < branches.length) continue;
    const plan: PlanNode = {
      kind: 'distinct',
      input: {kind: 'union', inputs},
      by: [{kind: 'slot', slot: scan.slot}],
    };
    if (best === undefined || costOf(plan, context) < costOf(best, context)) best = plan;
  }
  return best;
}

function branchesOf(term: Expression): readonly Expression[] | undefined {
  if (term.kind === 'or') return term.terms.length <= branchesMax ? term.terms : undefined;
  if (term.kind !== 'call' || (term.name !== 'op:in' && term.name !== 'op:member')) {
    return undefined;
  }
  const [property, list] = term.args;
  const items = list && listItems(list, branchesMax + 1);
  if (property?.kind !== 'property' || items === undefined || items.length > branchesMax) {
    return undefined;
  }
  const name = term.name === 'op:in' ? 'op:equal' : 'op:same';
  return items.map(item => {
    // What IN itself means of an item is asked again.
    const equal: Expression = {kind: 'call', name, args: [property, item]};
    return {kind: 'and', terms: [equal, term]};
  });
}

function cheapestSingle(scan: Scan, context: RuleContext): PlanNode | undefined {
  let best: PlanNode | undefined;
  for (const {plan} of singleAccesses(scan, context)) {
    if (best === undefined || costOf(plan, context) < costOf(best, context)) best = plan;
  }
  return best;
}

function costOf(plan: PlanNode, {estimates}: RuleContext): number {
  return estimates.of(plan).cost;
}

/** The two indexes that find least, unless one of them finds all that the other would. */
export function indexIntersection(
  scan: Scan,
  single: readonly SingleAccess[],
  context: RuleContext,
): PlanNode | undefined {
  const byRows = single
    .map(({access}) => ({access, rows: context.estimates.of(access.node).rows}))
    .sort((a, b) => a.rows - b.rows);
  const [first, ...others] = byRows;
  if (first === undefined) return undefined;
  const [name] = first.access.index.properties;
  // One that is about the same property would narrow nothing.
  const second = others.find(({access}) => access.index.properties[0]?.name !== name?.name);
  if (second === undefined) return undefined;
  const [left, right] = [context.newSlot(), context.newSlot()];
  const ids = (node: IndexNode, slot: number): PlanNode => ({...node, slot});
  const both: PlanNode = {
    kind: 'intersect',
    // The ids of the smaller one are kept.
    inputs: [ids(second.access.node, left), ids(first.access.node, right)],
    ids: [left, right],
    slot: scan.slot,
  };
  const {answered} = first.access;
  const rest = conjunctsOf(scan.where).filter(
    term => !answered.has(term) && !second.access.answered.has(term),
  );
  return filtered(both, [
    ...typeTest(scan, first.access.index, context),
    ...typeTest(scan, second.access.index, context),
    ...rest,
  ]);
}
