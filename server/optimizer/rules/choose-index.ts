/**
 * Replaces a filtered scan of a type by the cheapest way to its records: through one index, several
 * at once (index-sets.ts), or as it is when most records fit.
 *
 * What an index answers exactly is dropped from the condition, everything else stays above as a
 * filter. Terms on `@rid` beat every index. A type is looked at as if it had some records at least:
 * it grows, and a scan of few saves nothing worth the risk.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {conjunctsOf, filtered} from '../conjuncts.ts';
import {cost} from '../cost.ts';
import type {Rule, RuleContext} from '../rule.ts';
import type {Scan} from './access.ts';
import {indexIntersection, indexUnion} from './index-sets.ts';
import {singleAccesses} from './single-access.ts';

/** Records that a type is taken to have at least, when its scan is compared with an index. */
const scannedMin = 1_000;
/** Costs within this factor are the same: then what is promised decides, not what is counted. */
const similar = 1.2;

export const chooseIndex: Rule = {
  name: 'choose-index',
  about: ['scan-type'],
  apply: (node, context) =>
    node.kind === 'scan-type' && node.where !== undefined ? cheapestAccess(node, context) : node,
};

/** The scan, or what is likely cheaper, with the whole condition answered. */
export function cheapestAccess(scan: Scan, context: RuleContext): PlanNode {
  const known = context.accesses.get(scan);
  if (known !== undefined) return known;
  const found = accessOf(scan, context);
  context.accesses.set(scan, found);
  return found;
}

function accessOf(scan: Scan, context: RuleContext): PlanNode {
  const terms = conjunctsOf(scan.where);
  const byRid = ridAccess(scan, context, terms);
  if (byRid !== undefined) return byRid;
  const single = singleAccesses(scan, context);
  const candidates = [
    ...single.map(({plan}) => plan),
    indexUnion(scan, context),
    indexIntersection(scan, single, context),
  ];
  let best: PlanNode = scan;
  let least = scanCost(scan, context);
  for (const plan of candidates) {
    if (plan === undefined) continue;
    const found = context.estimates.of(plan).cost;
    if (found * (best === scan ? 1 : similar) >= least) continue;
    best = plan;
    least = found;
  }
  return best;
}

function scanCost(scan: Scan, {estimates}: RuleContext): number {
  const missing = scannedMin - estimates.recordCount(scan.type);
  return estimates.of(scan).cost + Math.max(0, missing) * cost.scanned;
}

function ridAccess(
  scan: Scan,
  context: RuleContext,
  terms: readonly Expression[],
): PlanNode | undefined {
  const {name} = context.catalog.requireType(scan.type);
  for (const term of terms) {
    if (term.kind !== 'call' || (term.name !== 'op:equal' && term.name !== 'op:in')) continue;
    const [left, right] = term.args;
    if (left === undefined || right === undefined) continue;
    const ids = isRidOf(left, scan.slot) ? right : isRidOf(right, scan.slot) ? left : undefined;
    if (ids === undefined || slotsOf(ids).has(scan.slot)) continue;
    if (term.name === 'op:in' && !isRidOf(left, scan.slot)) continue;
    const node: PlanNode = {kind: 'records', ids, slot: scan.slot, loose: false};
    const of: Expression = {kind: 'slot', slot: scan.slot};
    const type: Expression = {kind: 'literal', value: name};
    const test: Expression = scan.polymorphic
      ? {kind: 'call', name: 'op:instanceOf', args: [of, type]}
      : {kind: 'call', name: 'op:equal', args: [{kind: 'attribute', of, attribute: 'type'}, type]};
    // The term itself stays: ids may hold other things than records, and IN may hold lists.
    return filtered(node, [test, ...terms]);
  }
  return undefined;
}

function isRidOf(expression: Expression, slot: Slot): boolean {
  return (
    expression.kind === 'attribute' &&
    expression.attribute === 'rid' &&
    expression.of.kind === 'slot' &&
    expression.of.slot === slot
  );
}
