/** Expressions: from the syntax tree to scalars over slots. */
import {unreachable} from '#server/base/assert.ts';
import {Double} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import {listOf} from '#server/plan/written-list.ts';
import type * as Ast from './ast-expression.ts';
import {
  type BindContext,
  literal,
  operator,
  type Scope,
  slotOf,
  withVariables,
} from './bind-context.ts';
import {nearestName} from '../expectation.ts';
import {bindCall, isAggregate} from './bind-function.ts';
import {labelTest} from './bind-label.ts';
import {bindPatternComprehension, bindPatternTest, bindSubquery} from './bind-subquery.ts';
import {kindOf, requireKind} from './kind.ts';
import {printExpression} from './printer.ts';
import type {Kind} from './value-kind.ts';

export function bindExpression(
  context: BindContext,
  scope: Scope,
  ast: Ast.Expression,
): Expression {
  const known = scope.intercept?.(ast);
  if (known !== undefined) return known;
  const bind = (inner: Ast.Expression): Expression =>
    bindExpression(context, inner.kind === 'pattern' ? scope : withoutPatterns(scope, ast), inner);
  switch (ast.kind) {
    case 'literal':
      return literal(valueOf(ast));
    case 'parameter':
      return context.parameter(ast.name, ast.at);
    case 'variable':
      return slotOf(variableOf(context, scope, ast).slot);
    case 'list':
      return listOf(ast.items.map(bind));
    case 'map':
      return {
        kind: 'map',
        entries: ast.entries.map(({key, value}) => ({key: key.text, value: bind(value)})),
      };
    case 'property':
      return bindProperty(context, scope, ast);
    case 'item':
      return told(context, ast, operator('at', bind(ast.of), bind(ast.key)));
    case 'slice':
      return operator(
        'cut',
        bind(ast.of),
        ast.from === undefined ? literal(0) : bind(ast.from),
        ast.to === undefined ? literal(Number.MAX_SAFE_INTEGER) : bind(ast.to),
      );
    case 'call':
    case 'count-star':
      return bindCall(context, scope, ast);
    case 'unary':
      return bindUnary(context, scope, ast, bind);
    case 'binary':
      return bindBinary(context, scope, ast, bind);
    case 'comparison':
      return bindComparison(ast, bind);
    case 'has-labels':
      return labelTest(bind(ast.of), ast.labels);
    case 'is-null': {
      const test: Expression = {kind: 'is-null', of: bind(ast.of)};
      return ast.negated ? {kind: 'not', of: test} : test;
    }
    case 'case':
      return bindCase(context, ast, bind);
    case 'list-comprehension':
    case 'quantifier':
      return bindComprehension(context, scope, ast);
    case 'reduce':
      return bindReduce(context, scope, ast);
    case 'map-projection':
      return bindMapProjection(context, scope, ast);
    case 'pattern':
      return bindPatternTest(context, scope, ast);
    case 'pattern-comprehension':
      return bindPatternComprehension(context, scope, ast);
    case 'subquery':
      return bindSubquery(context, scope, ast);
    default:
      return unreachable(ast);
  }
}

/** A condition: what is certainly no boolean is refused. */
export function bindCondition(context: BindContext, scope: Scope, ast: Ast.Expression): Expression {
  requireKind(context, ast, kindOf(ast, scope), ['boolean', 'any', 'null']);
  return bindExpression(context, scope, ast);
}

/** What is refused of its values at run time says which expression it was. */
function told(context: BindContext, ast: Ast.Expression, bound: Expression): Expression {
  if (bound.kind !== 'call') return bound;
  return {...bound, place: context.place(ast.at), written: () => printExpression(ast)};
}

/** A pattern is a condition under AND, OR, XOR and NOT; elsewhere it is no value. */
function withoutPatterns(scope: Scope, outer: Ast.Expression): Scope {
  const keeps =
    outer.kind === 'unary'
      ? outer.operator === 'not'
      : outer.kind === 'binary' && ['and', 'or', 'xor'].includes(outer.operator);
  return keeps || !scope.allowsPatterns ? scope : {...scope, allowsPatterns: false};
}

export function valueOf({value, isFloat}: Ast.Literal): Double | Ast.Literal['value'] {
  return isFloat && typeof value === 'number' && Number.isInteger(value)
    ? new Double(value)
    : value;
}

export function variableOf(
  context: BindContext,
  scope: Scope,
  {name, at}: {readonly name: string; readonly at: number},
): {readonly slot: number; readonly kind: Kind} {
  const variable = scope.variables.get(name);
  if (variable !== undefined) return variable;
  const near = nearestName(name, scope.variables.keys());
  const hint = near === undefined || name.length < 3 ? '' : `; did you mean ${near}?`;
  return context.refuse(at, 'UndefinedVariable', `the variable '${name}' is not defined${hint}`);
}

function bindProperty(context: BindContext, scope: Scope, ast: Ast.Property): Expression {
  const kind = kindOf(ast.of, scope);
  const type = kind === 'path' || kind === 'relationships' ? 'SyntaxError' : 'TypeError';
  requireKind(context, ast.of, kind, ['node', 'relationship', 'map', 'null'], type);
  const of = bindExpression(context, {...scope, allowsPatterns: false}, ast.of);
  const name = ast.name.text;
  const isRecord = kind === 'node' || kind === 'relationship';
  if (!isRecord) return told(context, ast, operator('field', of, literal(name)));
  const record = scope.hasDeleted ? operator('existing', of) : of;
  return {kind: 'property', of: record, name, each: false};
}

function bindUnary(
  context: BindContext,
  scope: Scope,
  ast: Ast.Unary,
  bind: (ast: Ast.Expression) => Expression,
): Expression {
  if (ast.operator === 'not') {
    requireKind(context, ast.of, kindOf(ast.of, scope), ['boolean', 'any', 'null']);
    return {kind: 'not', of: bind(ast.of)};
  }
  if (ast.operator !== '-') return bind(ast.of);
  return told(context, ast, operator('minusOf', bind(ast.of)));
}

const operators: Readonly<Record<Exclude<Ast.BinaryOperator, 'and' | 'or' | 'xor'>, string>> = {
  '+': 'plus',
  '-': 'minus',
  '*': 'times',
  '/': 'over',
  '%': 'rest',
  '^': 'power',
  '||': 'joined',
  in: 'member',
  'starts-with': 'startsWith',
  'ends-with': 'endsWith',
  contains: 'hasPart',
  '=~': 'describedBy',
};

function bindBinary(
  context: BindContext,
  scope: Scope,
  ast: Ast.Binary,
  bind: (ast: Ast.Expression) => Expression,
): Expression {
  const {operator: name, left, right} = ast;
  if (name === 'and' || name === 'or' || name === 'xor') {
    for (const side of [left, right]) {
      requireKind(context, side, kindOf(side, scope), ['boolean', 'any', 'null']);
    }
    if (name === 'xor') return operator('xor', bind(left), bind(right));
    return {kind: name, terms: [...termsOf(left, name), ...termsOf(right, name)].map(bind)};
  }
  if (['-', '*', '/', '%', '^'].includes(name)) {
    for (const side of [left, right]) {
      requireKind(context, side, kindOf(side, scope), ['integer', 'float', 'null']);
    }
  }
  if (name === 'in') {
    requireKind(context, right, kindOf(right, scope), ['list', 'relationships', 'any', 'null']);
  }
  return told(context, ast, operator(operators[name], bind(left), bind(right)));
}

/** The terms of a chain of one operator, so that it does not nest as deep as it is long. */
function termsOf(ast: Ast.Expression, name: 'and' | 'or'): readonly Ast.Expression[] {
  if (ast.kind !== 'binary' || ast.operator !== name) return [ast];
  return [...termsOf(ast.left, name), ast.right];
}

const comparisons: Readonly<Record<Ast.ComparisonOperator, string>> = {
  '=': 'same',
  '<>': 'differs',
  '<': 'before',
  '<=': 'notAfter',
  '>': 'after',
  '>=': 'notBefore',
};

function bindComparison(
  ast: Ast.Comparison,
  bind: (ast: Ast.Expression) => Expression,
): Expression {
  let left = bind(ast.first);
  const terms = ast.rest.map(({operator: name, value}) => {
    const right = bind(value);
    const term = operator(comparisons[name], left, right);
    left = right;
    return term;
  });
  const [only] = terms;
  return terms.length === 1 && only !== undefined ? only : {kind: 'and', terms};
}

function bindCase(
  context: BindContext,
  ast: Ast.Case,
  bind: (ast: Ast.Expression) => Expression,
): Expression {
  const otherwise = ast.otherwise === undefined ? undefined : bind(ast.otherwise);
  if (ast.value === undefined) {
    const branches = ast.branches.map(({when, then}) => ({when: bind(when), then: bind(then)}));
    return {kind: 'case', branches, otherwise};
  }
  // The value is read once: a comprehension over it as the only item.
  const item = context.newSlot();
  const branches = ast.branches.map(({when, then}) => ({
    when: operator('same', slotOf(item), bind(when)),
    then: bind(then),
  }));
  return {
    kind: 'comprehension',
    mode: 'first',
    list: {kind: 'list', items: [bind(ast.value)]},
    item,
    yields: {kind: 'case', branches, otherwise},
  };
}

function bindComprehension(
  context: BindContext,
  scope: Scope,
  ast: Ast.ListComprehension | Ast.Quantifier,
): Expression {
  requireKind(context, ast.list, kindOf(ast.list, scope), ['list', 'relationships', 'any', 'null']);
  const list = operator(
    'items',
    bindExpression(context, {...scope, allowsPatterns: false}, ast.list),
  );
  const item = context.newSlot();
  const kind = elementKind(ast.list, scope);
  // Inside, nothing is a grouping key as a whole any more.
  const inner = withVariables(withoutAggregates(scope), [[ast.item.text, {slot: item, kind}]]);
  const where = ast.where === undefined ? {} : {where: bindExpression(context, inner, ast.where)};
  if (ast.kind === 'quantifier') {
    return {kind: 'comprehension', mode: ast.mode, list, item, ...where};
  }
  const yields =
    ast.yields === undefined ? {} : {yields: bindExpression(context, inner, ast.yields)};
  return {kind: 'comprehension', mode: 'list', list, item, ...where, ...yields};
}

/** Inside a comprehension there are no groups: keys are known, aggregates are not. */
function withoutAggregates(scope: Scope): Scope {
  const {intercept} = scope;
  if (intercept === undefined) return scope;
  return {...scope, intercept: ast => (isAggregate(ast) ? undefined : intercept(ast))};
}

function elementKind(list: Ast.Expression, scope: Scope): Kind {
  if (list.kind === 'list') {
    const kinds = new Set(list.items.map(item => kindOf(item, scope)));
    const [only] = kinds;
    return kinds.size === 1 && only !== undefined ? only : 'any';
  }
  if (kindOf(list, scope) === 'relationships') return 'relationship';
  if (list.kind !== 'call') return 'any';
  const name = list.name.toLowerCase();
  return name === 'nodes' ? 'node' : name === 'relationships' ? 'relationship' : 'any';
}

function bindReduce(
  context: BindContext,
  scope: Scope,
  ast: Extract<Ast.Expression, {kind: 'reduce'}>,
): Expression {
  const [accumulator, item] = [context.newSlot(), context.newSlot()];
  const inner = withVariables(scope, [
    [ast.accumulator.text, {slot: accumulator, kind: 'any'}],
    [ast.item.text, {slot: item, kind: elementKind(ast.list, scope)}],
  ]);
  return {
    kind: 'reduce',
    list: operator('items', bindExpression(context, scope, ast.list)),
    item,
    accumulator,
    initial: bindExpression(context, scope, ast.initial),
    step: bindExpression(context, inner, ast.step),
  };
}

function bindMapProjection(context: BindContext, scope: Scope, ast: Ast.MapProjection): Expression {
  const variable = variableOf(context, scope, {name: ast.of.text, at: ast.of.at});
  const of = slotOf(variable.slot);
  const entries = ast.entries.map(entry => {
    switch (entry.kind) {
      case 'all':
        return {spread: of};
      case 'property':
        return {key: entry.name.text, value: operator('field', of, literal(entry.name.text))};
      case 'variable': {
        const {text, at} = entry.name;
        return {key: text, value: slotOf(variableOf(context, scope, {name: text, at}).slot)};
      }
      default:
        return {key: entry.name.text, value: bindExpression(context, scope, entry.value)};
    }
  });
  return {
    kind: 'case',
    branches: [{when: {kind: 'is-null', of}, then: literal(null)}],
    otherwise: {kind: 'map', entries},
  };
}
