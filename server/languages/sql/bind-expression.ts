/**
 * Expressions: syntax tree to scalars of the algebra, in a scope.
 *
 * Comparisons are three-valued: null is unknown, and a filter passes only what is true. A
 * sub-query in an expression is the list of its rows; compared with a value, a sub-query of one
 * column is that column's single value, and on the right of IN its values.
 */

import {unreachable} from '#server/base/assert.ts';
import {makeDouble} from '#server/model/number.ts';
import {Rid} from '#server/model/value.ts';
import type {Attribute, Expression, MapEntry, Slot} from '#server/plan/expression.ts';
import {slotsOf} from '#server/plan/tree.ts';
import {listOf} from '#server/plan/written-list.ts';
import type * as Ast from './ast.ts';
import type {BindContext, BoundQuery, Scope} from './bind-context.ts';
import {
  isCheap,
  letIn,
  literal,
  makeScope,
  not,
  operator,
  slotOf,
  withNames,
} from './bind-context.ts';
import {callFunction, isAggregate} from './bind-function.ts';
import {bindPath, bindVariable} from './bind-path.ts';
import {parseLoneExpression} from './parser.ts';

/**
 * The scalar that `ast` means in `scope`.
 *
 * @throws {Refusal} `query.semantic`, `query.unknown-function`, `schema.unknown-type` (in
 *   sub-queries), `not-available`; each with its place.
 */
export function bindExpression(
  context: BindContext,
  scope: Scope,
  ast: Ast.Expression,
): Expression {
  const intercepted = scope.intercept?.(ast);
  if (intercepted !== undefined) return intercepted;
  const bind = (part: Ast.Expression): Expression => bindExpression(context, scope, part);
  switch (ast.kind) {
    case 'literal':
    case 'integer':
      return literal(ast.value);
    case 'real':
      return literal(makeDouble(ast.value));
    case 'rid':
      return literal(new Rid(ast.bucket, ast.position));
    case 'parameter':
      return {kind: 'parameter', name: ast.form === 'named' ? ast.name : String(ast.index)};
    case 'variable':
      return bindVariable(scope, ast.name);
    case 'name':
      return bindName(scope, ast.name);
    case 'attribute':
      return bindAttribute(scope, ast.name);
    case 'star':
      return context.refuse(ast.at, "'*' stands for columns and cannot be a value here");
    case 'list':
      return listOf(ast.items.map(bind));
    case 'map':
      return {kind: 'map', entries: bindEntries(ast.entries, bind)};
    case 'comprehension':
      return bindComprehension(context, scope, ast);
    case 'call':
      return bindCall(context, scope, ast);
    case 'path':
      return bindPath(context, scope, ast);
    case 'case':
      return bindCase(context, ast, bind);
    case 'subquery':
      return bindSubquery(context, scope, ast);
    default:
      return bindOperator(context, scope, ast);
  }
}

type OperatorNode = Extract<
  Ast.Expression,
  {
    kind:
      | 'unary'
      | 'binary'
      | 'compare'
      | 'and'
      | 'or'
      | 'not'
      | 'is'
      | 'between'
      | 'relation'
      | 'contains-where'
      | 'collate';
  }
>;

function bindOperator(context: BindContext, scope: Scope, ast: OperatorNode): Expression {
  const bind = (part: Ast.Expression): Expression => bindExpression(context, scope, part);
  switch (ast.kind) {
    case 'and':
    case 'or':
      return {kind: ast.kind, terms: ast.operands.map(bind)};
    case 'not':
      return not(bind(ast.operand));
    case 'unary':
      if (ast.operator === '-') return operator('negate', bind(ast.operand));
      if (ast.operator === '+') return bind(ast.operand);
      return operator('bitXor', bind(ast.operand), literal(-1));
    case 'binary':
      return operator(binaryNames[ast.operator], bind(ast.left), bind(ast.right));
    case 'compare':
      return bindCompare(context, scope, ast);
    case 'is':
      return bindIs(context, scope, ast);
    case 'between': {
      const test = operator('between', bind(ast.operand), bind(ast.low), bind(ast.high));
      return ast.negated ? not(test) : test;
    }
    case 'relation':
      return bindRelation(context, scope, ast);
    case 'contains-where':
      return bindContainsWhere(context, scope, ast);
    case 'collate':
      return bindCollate(context, scope, ast);
    default:
      return unreachable(ast);
  }
}

const binaryNames: Readonly<Record<Ast.BinaryOperator, string>> = {
  '+': 'add',
  '-': 'subtract',
  '*': 'multiply',
  '/': 'divide',
  '%': 'modulo',
  '<<': 'shiftLeft',
  '>>': 'shiftRight',
  '>>>': 'shiftRightUnsigned',
  '&': 'bitAnd',
  '|': 'bitOr',
  '^': 'bitXor',
  '||': 'concatenate',
  '??': 'coalesce',
};

export const compareNames: Readonly<Record<Ast.CompareOperator, string>> = {
  '=': 'equal',
  '!=': 'notEqual',
  '<': 'less',
  '<=': 'lessOrEqual',
  '>': 'greater',
  '>=': 'greaterOrEqual',
  '<=>': 'nullSafeEqual',
};

/** The operator of a relation; undefined for those of other models. */
export const relationNames: Readonly<Partial<Record<Ast.RelationOperator, string>>> = {
  IN: 'in',
  LIKE: 'like',
  ILIKE: 'ilike',
  MATCHES: 'matches',
  CONTAINS: 'contains',
  CONTAINSALL: 'containsAll',
  CONTAINSANY: 'containsAny',
  CONTAINSKEY: 'containsKey',
  CONTAINSVALUE: 'containsValue',
  CONTAINSTEXT: 'containsText',
  INSTANCEOF: 'instanceOf',
};

const attributes: Readonly<Record<Ast.AttributeName, Attribute>> = {
  rid: 'rid',
  rid_id: 'rid-bucket',
  rid_pos: 'rid-position',
  type: 'type',
  cat: 'category',
  this: 'this',
  props: 'properties',
  out: 'out',
  in: 'in',
};

/** `@name` of a record. */
export function attributeOf(of: Expression, name: Ast.AttributeName): Expression {
  return {kind: 'attribute', of, attribute: attributes[name]};
}

function bindAttribute(scope: Scope, name: Ast.AttributeName): Expression {
  const known = scope.names.get(`@${name}`);
  if (known !== undefined) return known;
  return scope.record === undefined ? literal(null) : attributeOf(scope.record, name);
}

/** A bare name: one of the scope's, else a property of the current record. */
export function bindName(scope: Scope, name: string): Expression {
  const known = scope.names.get(name);
  if (known !== undefined) return known;
  if (scope.closed || scope.record === undefined) return literal(null);
  return {kind: 'property', of: scope.record, name, each: false};
}

function bindEntries(
  entries: readonly Ast.MapEntry[],
  bind: (ast: Ast.Expression) => Expression,
): readonly MapEntry[] {
  return entries.map(entry => ({key: entry.key, value: bind(entry.value)}));
}

function bindCase(
  context: BindContext,
  ast: Ast.Case,
  bind: (ast: Ast.Expression) => Expression,
): Expression {
  const subject = ast.subject && bind(ast.subject);
  // A subject that costs something is computed once, however many branches compare with it.
  const slot = subject === undefined || isCheap(subject) ? undefined : context.newSlot();
  const compared = slot === undefined ? subject : slotOf(slot);
  const branches = ast.branches.map(({when, then}) => ({
    when: compared === undefined ? bind(when) : operator('equal', compared, bind(when)),
    then: bind(then),
  }));
  const chosen: Expression = {
    kind: 'case',
    branches,
    otherwise: ast.otherwise && bind(ast.otherwise),
  };
  return slot === undefined || subject === undefined ? chosen : letIn(slot, subject, chosen);
}

function bindComprehension(context: BindContext, scope: Scope, ast: Ast.Comprehension): Expression {
  const item = context.newSlot();
  const list = bindExpression(context, scope, ast.source);
  const named = withNames(scope, [[ast.variable.text, slotOf(item)]]);
  const inner: Scope = {
    ...named,
    variables: new Map([...scope.variables, [ast.variable.text, slotOf(item)]]),
  };
  const yields = bindExpression(context, inner, ast.item);
  const where = ast.where && bindExpression(context, inner, ast.where);
  return {kind: 'comprehension', mode: 'list', list, item, yields, ...(where && {where})};
}

function bindCall(context: BindContext, scope: Scope, ast: Ast.Call): Expression {
  if (isAggregate(ast)) {
    return context.refuse(ast.at, `'${ast.name}' is computed over rows and cannot stand here`);
  }
  const [first] = ast.arguments;
  if (ast.name.toLowerCase() === 'eval' && first?.kind === 'literal') {
    const text = typeof first.value === 'string' ? first.value : '';
    return bindExpression(context, scope, parseLoneExpression(text));
  }
  const args = ast.arguments.map(part => bindExpression(context, scope, part));
  return callFunction(context, scope, {name: ast.name, at: ast.at, args});
}

function bindCompare(context: BindContext, scope: Scope, ast: Ast.Compare): Expression {
  const folded = ast.left.kind === 'collate' || ast.right.kind === 'collate';
  const [left, right] = [ast.left, ast.right].map(side => {
    const value =
      side.kind === 'subquery'
        ? bindSubquery(context, scope, side, 'scalar')
        : bindExpression(context, scope, side);
    return folded && side.kind !== 'collate' ? lowerCase(value) : value;
  });
  return operator(compareNames[ast.operator], left ?? literal(null), right ?? literal(null));
}

function bindCollate(context: BindContext, scope: Scope, ast: Ast.Collate): Expression {
  const {text, at} = ast.collation;
  if (text.toLowerCase() !== 'ci') {
    context.refuse(at, `Unknown collation '${text}'; there is 'ci', which ignores case`);
  }
  return lowerCase(bindExpression(context, scope, ast.operand));
}

export function lowerCase(value: Expression): Expression {
  return {kind: 'call', name: '.toLowerCase', args: [value]};
}

function bindIs(context: BindContext, scope: Scope, ast: Ast.Is): Expression {
  const test: Expression =
    ast.test === 'null'
      ? {kind: 'is-null', of: bindExpression(context, scope, ast.operand)}
      : bindDefined(context, scope, ast.operand);
  return ast.negated ? not(test) : test;
}

/** Only a property can be there or not; anything else is defined unless null. */
function bindDefined(context: BindContext, scope: Scope, operand: Ast.Expression): Expression {
  if (operand.kind === 'name' && !scope.names.has(operand.name) && scope.record !== undefined) {
    return {kind: 'defined', of: scope.record, name: operand.name};
  }
  if (operand.kind === 'path') {
    const last = operand.steps[operand.steps.length - 1];
    if (last?.kind === 'field') {
      const [first, ...rest] = operand.steps.slice(0, -1);
      const base: Ast.Expression =
        first === undefined ? operand.base : {...operand, steps: [first, ...rest]};
      return {kind: 'defined', of: bindExpression(context, scope, base), name: last.name};
    }
  }
  return not({kind: 'is-null', of: bindExpression(context, scope, operand)});
}

function bindRelation(context: BindContext, scope: Scope, ast: Ast.Relation): Expression {
  const left = bindExpression(context, scope, ast.left);
  const right = bindRight(context, scope, ast);
  const test =
    wordsTest(context, scope, ast, right) ?? operator(relationName(context, ast), left, right);
  return ast.negated ? not(test) : test;
}

/** `title CONTAINSTEXT x` goes by words where some type has a full-text index on `title` alone. */
function wordsTest(
  context: BindContext,
  scope: Scope,
  {operator: relation, left}: Ast.Relation,
  right: Expression,
): Expression | undefined {
  const {record} = scope;
  if (relation !== 'CONTAINSTEXT' || left.kind !== 'name' || record === undefined) return undefined;
  if (scope.closed || scope.names.has(left.name)) return undefined;
  const isIndexed = context.catalog.indexes.some(({kind, properties}) => {
    return kind === 'text' && properties.length === 1 && properties[0]?.name === left.name;
  });
  if (!isIndexed) return undefined;
  return {kind: 'call', name: 'fulltext.containsText', args: [literal(left.name), right, record]};
}

function relationName(context: BindContext, ast: Ast.Relation): string {
  return (
    relationNames[ast.operator] ?? context.notAvailable(ast.at, `The operator ${ast.operator}`)
  );
}

/** Relations that look at the items of their right side. */
const ofItems: ReadonlySet<string> = new Set(['IN', 'CONTAINSALL', 'CONTAINSANY']);

/** A value whose items matter: of a query of one column, its values. */
export function bindItems(context: BindContext, scope: Scope, ast: Ast.Expression): Expression {
  return ast.kind === 'subquery'
    ? bindSubquery(context, scope, ast, 'values')
    : bindExpression(context, scope, ast);
}

function bindRight(context: BindContext, scope: Scope, ast: Ast.Relation): Expression {
  const {right} = ast;
  if (ast.operator === 'INSTANCEOF' && right.kind === 'name') return literal(right.name);
  return ofItems.has(ast.operator)
    ? bindItems(context, scope, right)
    : bindExpression(context, scope, right);
}

function bindContainsWhere(context: BindContext, scope: Scope, ast: Ast.ContainsWhere): Expression {
  const mode = ast.operator === 'CONTAINSALL' ? 'all' : 'any';
  const list = bindExpression(context, scope, ast.left);
  const item = context.newSlot();
  const where = bindExpression(context, itemScope(scope, item), ast.condition);
  const test: Expression = {kind: 'comprehension', mode, list, item, where};
  return ast.negated ? not(test) : test;
}

/** The scope of a condition on the elements of a list: each is the current record in turn. */
export function itemScope(scope: Scope, item: Slot): Scope {
  return {
    ...makeScope(slotOf(item), scope.parent, {variables: scope.variables}),
    intercept: undefined,
  };
}

/**
 * A query as a value: the list of its rows. `values`: of its only column, if it has one;
 * `scalar`: the only column of its only row.
 */
export function bindSubquery(
  context: BindContext,
  scope: Scope,
  ast: Ast.Subquery,
  wanted: 'rows' | 'values' | 'scalar' = 'rows',
): Expression {
  const firstOwn = context.slotCount;
  const query = context.bindQuery(ast.statement, scope, ast.at);
  const column = wanted === 'rows' ? undefined : onlyColumn(query);
  const {plan, slot} =
    column === undefined ? elementOf(context, query) : extended(context, query, column);
  const mode = wanted === 'scalar' && column !== undefined ? 'scalar' : 'collect';
  const subplan: Expression = {kind: 'subplan', mode, plan, slot, correlated: false};
  // Slots are given in order: whatever was there before this query belongs to the rows around.
  const correlated = [...slotsOf(subplan)].some(each => each < firstOwn);
  return correlated ? {...subplan, correlated} : subplan;
}

function onlyColumn(query: BoundQuery): Expression | undefined {
  if (query.shape.kind === 'element') return undefined;
  const [column, ...more] = query.shape.columns;
  return column !== undefined && more.length === 0 && 'value' in column ? column.value : undefined;
}

function extended(
  context: BindContext,
  query: BoundQuery,
  value: Expression,
): {readonly plan: BoundQuery['plan']; readonly slot: Slot} {
  if (value.kind === 'slot') return {plan: query.plan, slot: value.slot};
  const slot = context.newSlot();
  return {plan: {kind: 'extend', input: query.plan, bind: [{slot, value}]}, slot};
}

/** The query's rows as one value each: the record, or a map of the columns. */
export function elementOf(
  context: BindContext,
  query: BoundQuery,
): {readonly plan: BoundQuery['plan']; readonly slot: Slot} {
  if (query.shape.kind === 'element') return {plan: query.plan, slot: query.shape.slot};
  return extended(context, query, mapOfColumns(query.shape.columns));
}

/** The map that a row of columns is. */
export function mapOfColumns(
  columns: Extract<BoundQuery['shape'], {kind: 'columns'}>['columns'],
): Expression {
  const entries = columns.map(
    (column): MapEntry =>
      'value' in column
        ? {key: column.name, value: column.value}
        : {spread: column.spread, ...(column.except && {except: column.except})},
  );
  return {kind: 'map', entries};
}
