/**
 * Queries inside expressions: patterns as conditions, pattern comprehensions, EXISTS {}, COUNT {}
 * and COLLECT {}. Each becomes a sub-plan over the row.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type * as Ast from './ast-expression.ts';
import type {Pattern} from './ast.ts';
import {type BindContext, type Bound, filtered, type Scope} from './bind-context.ts';
import {bindExpression} from './bind-expression.ts';
import {PatternBinder} from './bind-pattern.ts';
import {nodesOf} from './pattern-shape.ts';
import {bindInnerQuery} from './bind-query.ts';

/** A pattern where a boolean is asked; it may not bring new names along. */
export function bindPatternTest(
  context: BindContext,
  scope: Scope,
  ast: Extract<Ast.Expression, {kind: 'pattern'}>,
): Expression {
  if (!scope.allowsPatterns) {
    return context.refuse(ast.at, 'UnexpectedSyntax', 'a pattern is no value: use exists(pattern)');
  }
  requireKnownNames(context, scope, ast.pattern);
  const binder = new PatternBinder(context, inner(scope));
  binder.bindAll([ast.pattern]);
  return subplan('exists', binder.bound.plan, context.newSlot());
}

function inner(scope: Scope): Bound {
  return {plan: {kind: 'argument'}, scope: {...scope, intercept: undefined, allowsPatterns: true}};
}

function requireKnownNames(context: BindContext, scope: Scope, pattern: Pattern): void {
  const names = nodesOf(pattern).map(node => node.name);
  for (const hop of pattern.hops) if (hop.kind === 'hop') names.push(hop.relationship.name);
  for (const name of names) {
    if (name !== undefined && !scope.variables.has(name.text)) {
      context.refuse(name.at, 'UndefinedVariable', `the variable '${name.text}' is not defined`);
    }
  }
}

export function bindPatternComprehension(
  context: BindContext,
  scope: Scope,
  ast: Ast.PatternComprehension,
): Expression {
  const binder = new PatternBinder(context, inner(scope));
  binder.bindAll([ast.pattern]);
  const {plan, scope: found} = binder.bound;
  const terms = ast.where === undefined ? [] : [bindExpression(context, found, ast.where)];
  const slot = context.newSlot();
  const value = bindExpression(context, {...found, allowsPatterns: false}, ast.yields);
  return subplan(
    'collect',
    {kind: 'extend', input: filtered(plan, terms), bind: [{slot, value}]},
    slot,
  );
}

export function bindSubquery(context: BindContext, scope: Scope, ast: Ast.Subquery): Expression {
  const bound = bindInnerQuery(context, inner(scope), ast.query);
  const [column] = bound.columns;
  if (ast.mode === 'collect' && bound.columns.length !== 1) {
    return context.refuse(ast.at, 'UnexpectedSyntax', 'COLLECT {} needs a RETURN of one column');
  }
  return subplan(ast.mode, bound.plan, column?.slot ?? context.newSlot());
}

function subplan(mode: 'exists' | 'count' | 'collect', plan: PlanNode, slot: Slot): Expression {
  return {kind: 'subplan', mode, plan, slot, correlated: true};
}
