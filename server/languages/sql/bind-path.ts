/**
 * Paths: fields, methods, selectors and nested projections, taken of a base from left to right.
 *
 * `text.camelCase('x')` is a function of that name before it is a method of a property `text`.
 * Selectors with conditions become comprehensions; a nested projection makes a map of a record and
 * a list of maps of a list.
 */

import {unreachable} from '#server/base/assert.ts';
import type {Expression, MapEntry} from '#server/plan/expression.ts';
import type * as Ast from './ast.ts';
import type {BindContext, Scope} from './bind-context.ts';
import {letIn, literal, operator, property, slotOf} from './bind-context.ts';
import {
  attributeOf,
  bindExpression,
  bindSubquery,
  compareNames,
  itemScope,
  relationNames,
} from './bind-expression.ts';
import {callFunction, callMethod, checkNamespace, isDottedFunction} from './bind-function.ts';
import {printExpression} from './printer.ts';

export function bindPath(context: BindContext, scope: Scope, ast: Ast.Path): Expression {
  const parent = bindParent(context, scope, ast);
  if (parent !== undefined) return parent;
  const dotted = bindDotted(context, scope, ast);
  if (dotted !== undefined) return dotted;
  const base =
    ast.base.kind === 'subquery'
      ? bindSubquery(context, scope, ast.base)
      : bindExpression(context, scope, ast.base);
  return bindSteps(context, scope, base, ast.steps);
}

/** `$x`: a variable of this statement or of one around it; else one that the caller gives. */
export function bindVariable(scope: Scope, name: string): Expression {
  if (name === 'current') return scope.record ?? literal(null);
  if (name === 'parent') return scope.parent?.record ?? literal(null);
  for (let at: Scope | undefined = scope; at !== undefined; at = at.parent) {
    const known = at.variables.get(name);
    if (known !== undefined) return known;
  }
  // How well the current record fits the searches of the statement.
  if ((name === 'score' || name === 'similarity') && scope.record !== undefined) {
    return {kind: 'call', name: `fulltext.${name}`, args: [scope.record]};
  }
  return {kind: 'parameter', name: `$${name}`};
}

/** `$parent.$current.x`, `$parent.$parent.$y`: variables of the statements around. */
function bindParent(context: BindContext, scope: Scope, ast: Ast.Path): Expression | undefined {
  if (ast.base.kind !== 'variable' || ast.base.name !== 'parent') return undefined;
  let at = scope.parent;
  const steps = [...ast.steps];
  while (steps[0]?.kind === 'step-variable' && steps[0].name === 'parent') {
    at = at?.parent;
    steps.shift();
  }
  if (at === undefined) return literal(null);
  const first = steps[0];
  if (first?.kind !== 'step-variable') {
    return bindSteps(context, scope, at.record ?? literal(null), steps);
  }
  // The names of the statement around are no properties of its record: columns of a sub-query.
  const second = steps[1];
  if (first.name === 'current' && second?.kind === 'field') {
    const known = at.names.get(second.name);
    if (known !== undefined) return bindSteps(context, scope, known, steps.slice(2));
  }
  return bindSteps(context, scope, bindVariable(at, first.name), steps.slice(1));
}

/** The function that the first names of the path spell, if there is one. */
function bindDotted(context: BindContext, scope: Scope, ast: Ast.Path): Expression | undefined {
  if (ast.base.kind !== 'name' || scope.names.has(ast.base.name)) return undefined;
  let name = ast.base.name;
  for (const [i, step] of ast.steps.entries()) {
    if (step.kind !== 'field' && step.kind !== 'method') return undefined;
    name += `.${step.name}`;
    if (step.kind === 'field') continue;
    if (!isDottedFunction(context, name)) {
      checkNamespace(context, {name, method: step.name, at: ast.at});
      return undefined;
    }
    const args = step.arguments.map(part => bindExpression(context, scope, part));
    const call = callFunction(context, scope, {name, at: ast.at, args});
    return bindSteps(context, scope, call, ast.steps.slice(i + 1));
  }
  return undefined;
}

function bindSteps(
  context: BindContext,
  scope: Scope,
  base: Expression,
  steps: readonly Ast.PathStep[],
): Expression {
  let current = base;
  for (const step of steps) current = bindStep(context, scope, current, step);
  return current;
}

function bindStep(
  context: BindContext,
  scope: Scope,
  of: Expression,
  step: Ast.PathStep,
): Expression {
  switch (step.kind) {
    case 'field':
      return fieldOf(of, step.name);
    case 'step-attribute':
      return attributeOf(of, step.name);
    case 'step-variable':
      return context.refuse(step.at, `'$${step.name}' is no property; only $parent has variables`);
    case 'method': {
      const args = step.arguments.map(part => bindExpression(context, scope, part));
      return callMethod(context, {name: step.name, at: step.at, args, receiver: of});
    }
    case 'select':
      return bindSelectors(context, scope, of, step);
    case 'where': {
      const item = context.newSlot();
      const where = bindExpression(context, itemScope(scope, item), step.condition);
      return {kind: 'comprehension', mode: 'list', list: of, item, where};
    }
    case 'compare-elements':
      return bindElementComparison(context, scope, of, step);
    case 'nested':
      return bindNested(context, of, scope, step.items);
    default:
      return unreachable(step);
  }
}

/** A field of a map that is being made is the value put there: `$matched.a`. */
function fieldOf(of: Expression, name: string): Expression {
  if (of.kind !== 'map') return property(of, name);
  const entry = of.entries.findLast(each => 'spread' in each || each.key === name);
  return entry !== undefined && 'value' in entry ? entry.value : property(of, name);
}

function bindSelectors(
  context: BindContext,
  scope: Scope,
  of: Expression,
  step: Extract<Ast.PathStep, {kind: 'select'}>,
): Expression {
  const [only, ...more] = step.selectors;
  if (only?.kind === 'range' && more.length === 0) return bindRange(context, scope, of, only);
  const keys = step.selectors.map(selector =>
    selector.kind === 'range'
      ? context.notAvailable(selector.at, 'A range among several selectors')
      : bindExpression(context, scope, selector.value),
  );
  return operator('item', of, ...keys);
}

function bindRange(
  context: BindContext,
  scope: Scope,
  of: Expression,
  range: Extract<Ast.Selector, {kind: 'range'}>,
): Expression {
  const bind = (end: Ast.Expression | undefined): Expression =>
    end === undefined ? literal(null) : bindExpression(context, scope, end);
  const inclusive = range.form !== '..' && range.to !== undefined;
  const to = bind(range.to);
  return operator('slice', of, bind(range.from), inclusive ? operator('add', to, literal(1)) : to);
}

function bindElementComparison(
  context: BindContext,
  scope: Scope,
  of: Expression,
  step: Extract<Ast.PathStep, {kind: 'compare-elements'}>,
): Expression {
  const item = context.newSlot();
  const name =
    compareNames[step.operator as Ast.CompareOperator] ??
    relationNames[step.operator as Ast.RelationOperator];
  if (name === undefined) return context.notAvailable(step.at, `The operator ${step.operator}`);
  const where = operator(name, slotOf(item), bindExpression(context, scope, step.value));
  return {kind: 'comprehension', mode: 'list', list: of, item, where};
}

/** What a column or entry is called that has no alias: its text. */
export function labelOf(expression: Ast.Expression): string {
  if (expression.kind === 'parameter' && expression.form === 'positional') return '?';
  return expression.kind === 'name'
    ? expression.name
    : printExpression(expression).replaceAll('`', '');
}

/** `of:{items}`: null stays null, a list becomes the list of its items' projections. */
function bindNested(
  context: BindContext,
  of: Expression,
  scope: Scope,
  items: readonly Ast.ProjectionItem[],
): Expression {
  // Both the value and the list of maps are bound to slots, so that each is computed (and its
  // items bound) once: projections nest.
  const [whole, item, maps] = [context.newSlot(), context.newSlot(), context.newSlot()];
  const yields = nestedMap(context, itemScope(scope, item), slotOf(item), items);
  const made: Expression = {kind: 'comprehension', mode: 'list', list: slotOf(whole), item, yields};
  const chosen: Expression = {
    kind: 'case',
    branches: [
      {when: {kind: 'is-null', of: slotOf(whole)}, then: literal(null)},
      {when: operator('isList', slotOf(whole)), then: slotOf(maps)},
    ],
    otherwise: operator('item', slotOf(maps), literal(0)),
  };
  return letIn(whole, of, letIn(maps, made, chosen));
}

function nestedMap(
  context: BindContext,
  scope: Scope,
  record: Expression,
  items: readonly Ast.ProjectionItem[],
): Expression {
  const excluded = items.filter(item => item.kind === 'exclude');
  const except = excluded.flatMap(({name, prefix}) => (prefix ? [] : [name]));
  const exceptBegun = excluded.flatMap(({name, prefix}) => (prefix ? [name] : []));
  const entries: MapEntry[] = [];
  const spreads = items.some(item => item.kind === 'all') || !items.some(isKept);
  const whole = exceptBegun.length === 0 ? record : begunBy('.exclude', record, exceptBegun);
  if (spreads) entries.push({spread: whole, ...(except.length > 0 && {except})});
  for (const item of items) {
    if (item.kind === 'prefix') entries.push({spread: begunBy('.include', record, [item.name])});
    if (item.kind !== 'item') continue;
    const key = item.alias?.text ?? nestedLabel(item.expression);
    entries.push({key, value: bindExpression(context, scope, item.expression)});
  }
  return {kind: 'map', entries};
}

/** The record with, or without, the properties whose names begin so. */
function begunBy(
  method: '.include' | '.exclude',
  record: Expression,
  beginnings: readonly string[],
): Expression {
  const names = beginnings.map(beginning => literal(`${beginning}*`));
  return {kind: 'call', name: method, args: [record, ...names]};
}

function isKept(item: Ast.ProjectionItem): boolean {
  return item.kind === 'item' || item.kind === 'prefix';
}

/** `c:{d}` nested is called `c`. */
function nestedLabel(expression: Ast.Expression): string {
  if (expression.kind !== 'path') return labelOf(expression);
  const steps = expression.steps.filter(step => step.kind !== 'nested');
  const [first, ...rest] = steps;
  if (steps.length === expression.steps.length) return labelOf(expression);
  return labelOf(first === undefined ? expression.base : {...expression, steps: [first, ...rest]});
}
