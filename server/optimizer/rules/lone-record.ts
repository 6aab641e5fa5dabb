/**
 * A property over a slot that holds a record, never a list, is read of that one: such a read may
 * stay stored bytes all the way, what is asked of every item of a list may not.
 */
import type {Expression} from '#server/plan/expression.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import {expressionsOf, mapParts, visitExpression} from '#server/plan/tree.ts';
import type {Rule, RuleContext} from '../rule.ts';

export const loneRecord: Rule = {
  name: 'lone-record',
  apply(node, context) {
    return expressionsOf(node).some(readsEach)
      ? mapExpressions(node, expression => ofOne(expression, context))
      : node;
  },
};

/** Most expressions do not. */
function readsEach(expression: Expression): boolean {
  let found = false;
  visitExpression(expression, part => {
    found ||= part.kind === 'property' && part.each;
  });
  return found;
}

function ofOne(expression: Expression, context: RuleContext): Expression {
  const inner = mapParts(expression, part => ofOne(part, context));
  if (inner.kind !== 'property' || !inner.each || inner.of.kind !== 'slot') return inner;
  return context.slots.records.has(inner.of.slot) ? {...inner, each: false} : inner;
}
