/**
 * Turns a condition that asks whether a sub-plan has a row into `apply` semi, its negation into
 * `apply` anti.
 *
 * An expression runs its plan for one row; `apply` knows the whole batch and runs it once for
 * all rows where the plan allows it. The terms before and after stay before and after, so a
 * guard still guards. A plan that depends on nothing of the row stays: it runs once as it is.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {conjunctsOf, filtered} from '../conjuncts.ts';
import type {Rule} from '../rule.ts';

export const semiFromExists: Rule = {
  name: 'semi-from-exists',
  about: ['filter'],
  apply: node => {
    if (node.kind !== 'filter') return node;
    const terms = conjunctsOf(node.condition);
    if (!terms.some(term => testOf(term) !== undefined)) return node;
    let plan = node.input;
    let before: Expression[] = [];
    for (const term of terms) {
      const found = testOf(term);
      if (found === undefined) {
        before.push(term);
        continue;
      }
      plan = {kind: 'apply', input: filtered(plan, before), slots: [], ...found};
      before = [];
    }
    return filtered(plan, before);
  },
};

function testOf(
  term: Expression,
): {readonly mode: 'semi' | 'anti'; readonly plan: PlanNode} | undefined {
  const asked = term.kind === 'not' ? term.of : term;
  if (asked.kind !== 'subplan' || asked.mode !== 'exists' || !asked.correlated) return undefined;
  if (!isReadOnly(asked.plan)) return undefined;
  return {mode: term.kind === 'not' ? 'anti' : 'semi', plan: asked.plan};
}
