/**
 * Binds the vertices and edges of a pattern in the cheapest order (pattern-order.ts).
 *
 * The written order stays unless another is several times cheaper: rows come in the order in which
 * they are found, and a plan should not turn around for a few records more. Bodies of repeated
 * parts stay as they are, for the order in which they are visited means something; so does a
 * pattern behind a write, which reads what was there when it was begun, and one of very many parts,
 * whose order would take longer to find than a thread may be kept.
 */
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import {isReadOnly} from '#server/plan/properties.ts';
import {mapInputs, mapParts, runsPlan} from '#server/plan/tree.ts';
import {conjunction, conjunctsOf, filtered} from '../conjuncts.ts';
import {type Pattern, isPatternNode, patternOf} from '../pattern.ts';
import {PatternOrder} from '../pattern-order.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {cheapestAccess} from './choose-index.ts';

/** How much cheaper another order must be, and what is too little to look at. */
const worthwhile = 0.6;
const costMin = 100;
/** Scans and hops: the search looks at each of those left, and at pairs of them, in every step. */
const partsMax = 64;

export const orderPatterns: Rule = {
  name: 'order-patterns',
  about: ['follow', 'connect', 'join', 'apply'],
  rewrite: (plan, context) => ordered(plan, context),
};

function ordered(node: PlanNode, context: RuleContext): PlanNode {
  const pattern = isPatternNode(node) ? patternOf(node) : undefined;
  if (pattern === undefined || !hasOrder(pattern)) return withInputs(node, context);
  const within = withBase(node, pattern, context);
  const inner = within === node ? pattern : patternOf(within);
  if (inner === undefined) return within;
  const written = context.estimates.of(accessed(within, context)).cost;
  if (written < costMin) return within;
  const best = new PatternOrder(inner, context).plan();
  if (best === undefined) return within;
  return context.estimates.of(best).cost < written * worthwhile ? best : within;
}

function hasOrder({base, sources, hops}: Pattern): boolean {
  if (base !== undefined && !isReadOnly(base)) return false;
  const parts = hops.length + sources.size;
  return parts > 1 && parts <= partsMax;
}

/** What is below and inside of a node that is no pattern's. */
function withInputs(node: PlanNode, context: RuleContext): PlanNode {
  const isRepeated = node.kind === 'repeat' || node.kind === 'chain';
  const inner = isRepeated
    ? {...node, input: ordered(node.input, context)}
    : mapInputs(node, input => ordered(input, context));
  return mapExpressions(inner, expression => inSubplans(expression, context));
}

function inSubplans(expression: Expression, context: RuleContext): Expression {
  if (!runsPlan(expression)) return expression;
  return mapParts(
    expression,
    part => inSubplans(part, context),
    plan => ordered(plan, context),
  );
}

/** The pattern as it is written, with patterns of its base and of its conditions in order. */
function withBase(node: PlanNode, pattern: Pattern, context: RuleContext): PlanNode {
  if (node === pattern.base) return ordered(node, context);
  if (!isPatternNode(node)) return node;
  const inner = mapInputs(node, input => withBase(input, pattern, context));
  return mapExpressions(inner, expression => inSubplans(expression, context));
}

/** The plan with the access that each scan would get: what the written order costs. */
function accessed(node: PlanNode, context: RuleContext): PlanNode {
  if (node.kind === 'filter' && node.input.kind === 'scan-type') {
    const where = conjunction([
      ...conjunctsOf(node.input.where),
      ...conjunctsOf(node.condition).filter(term => term.kind !== 'subplan'),
    ]);
    if (where === undefined) return node;
    return filtered(cheapestAccess({...node.input, where}, context), []);
  }
  return mapInputs(node, input => accessed(input, context));
}
