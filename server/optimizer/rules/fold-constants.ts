/**
 * Works out what is the same for all rows and all runs: operators over literals.
 *
 * The value comes from whoever runs plans (`RuleContext.constant`), so that there is one meaning;
 * what is refused stays and is refused when it is met. A term that is always true leaves its
 * condition, and behind a condition that never is true no row is looked for.
 */
import {isNumberValue} from '#server/model/number.ts';
import type {Expression} from '#server/plan/expression.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {boundSlots, expressionsOf, mapParts, visitExpression} from '#server/plan/tree.ts';
import {conjunction, conjunctsOf, filtered} from '../conjuncts.ts';
import type {Rule, RuleContext} from '../rule.ts';

export const foldConstants: Rule = {
  name: 'fold-constants',
  apply: (node, context) => {
    const folded = expressionsOf(node).some(hasConstant)
      ? mapExpressions(node, expression => withoutConstants(expression, context))
      : node;
    if (folded.kind === 'filter') return simplified(folded);
    if (folded.kind === 'scan-type' || folded.kind === 'scan-bucket') {
      const {where, ...scan} = folded;
      if (where === undefined || !conjunctsOf(where).some(isLiteral)) return folded;
      const terms = conjunctsOf(where).filter(term => !isTrue(term));
      if (terms.some(isLiteral)) return noRows(scan);
      const rest = conjunction(terms);
      return rest === undefined ? scan : {...scan, where: rest};
    }
    return folded;
  },
};

/** Most expressions have none, and stay what they are. */
function hasConstant(expression: Expression): boolean {
  let found = false;
  visitExpression(expression, part => {
    found ||= operandsOf(part)?.every(isPlain) === true;
  });
  return found;
}

function withoutConstants(expression: Expression, context: RuleContext): Expression {
  const inner = mapParts(expression, part => withoutConstants(part, context));
  const operands = operandsOf(inner);
  const value = operands?.every(isPlain) === true ? context.constant?.(inner) : undefined;
  return value === undefined ? inner : {kind: 'literal', value};
}

/** Undefined: no operator; a function may ask for more than its arguments, or take its time. */
function operandsOf(expression: Expression): readonly Expression[] | undefined {
  switch (expression.kind) {
    case 'call':
      return expression.name.startsWith('op:') ? expression.args : undefined;
    case 'not':
    case 'is-null':
      return [expression.of];
    case 'and':
    case 'or':
      return expression.terms;
    default:
      return undefined;
  }
}

/** An id stands for its record, and how a time is written is a setting of the database. */
function isPlain(expression: Expression): boolean {
  if (!isLiteral(expression)) return false;
  const {value} = expression;
  return (
    value === null ||
    typeof value === 'boolean' ||
    typeof value === 'string' ||
    isNumberValue(value)
  );
}

function isLiteral(expression: Expression): expression is Expression & {readonly kind: 'literal'} {
  return expression.kind === 'literal';
}

function isTrue(term: Expression): boolean {
  return term.kind === 'literal' && term.value === true;
}

function simplified(filter: PlanNode & {readonly kind: 'filter'}): PlanNode {
  const terms = conjunctsOf(filter.condition);
  if (!terms.some(isLiteral)) return filter;
  const rest = terms.filter(term => !isTrue(term));
  const isNever = rest.some(isLiteral) && isReadOnly(filter.input);
  return isNever ? noRows(filter.input) : filtered(filter.input, rest);
}

/** A source that binds what the node would have bound. */
function noRows(node: PlanNode): PlanNode {
  return {kind: 'values', slots: [...boundSlots(node)], rows: []};
}
