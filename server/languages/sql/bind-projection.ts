/**
 * Projections and the clauses behind them, shared by SELECT and MATCH: items, grouping, HAVING,
 * UNWIND, DISTINCT, ORDER BY, SKIP, LIMIT, in that order.
 *
 * Columns stay expressions as long as nothing needs their values: they are computed when the
 * result is written, after SKIP and LIMIT.
 */

import type {Expression} from '#server/plan/expression.ts';
import type {OutputColumn, PlanNode, SortKey} from '#server/plan/node.ts';
import type * as Ast from './ast.ts';
import type {BindContext, BoundQuery, Scope, Shape, Source} from './bind-context.ts';
import {literal, makeScope, operator, slotOf, withNames} from './bind-context.ts';
import {bindExpression, lowerCase} from './bind-expression.ts';
import {Grouping, hasAggregate} from './bind-group.ts';
import {labelOf} from './bind-path.ts';

export interface Projected extends Ast.Tail {
  readonly distinct: boolean;
  readonly items: readonly Ast.ProjectionItem[];
}

/** Everything from the projection to LIMIT over the rows of `source`. */
export function bindProjected(context: BindContext, source: Source, ast: Projected): BoundQuery {
  const expanded = expandedItem(ast.items);
  if (expanded !== undefined) return bindExpand(context, source, ast, expanded);
  const grouping = groupingOf(context, source.scope, ast);
  const scope = grouping?.scope ?? source.scope;
  const shape = ast.items.length === 0 ? source.shape : bindItems(context, scope, ast.items);
  return bindTail(context, {plan: source.plan, scope, shape, grouping}, ast);
}

/** `expand(e)` as the only item. */
function expandedItem(items: readonly Ast.ProjectionItem[]): Ast.Expression | undefined {
  const [item, ...more] = items;
  if (item?.kind !== 'item' || more.length > 0) return undefined;
  const {expression} = item;
  if (expression.kind !== 'call' || expression.name.toLowerCase() !== 'expand') return undefined;
  const [argument, ...others] = expression.arguments;
  return others.length === 0 ? argument : undefined;
}

/** One row for each item of the value; ids become their records. */
function bindExpand(
  context: BindContext,
  source: Source,
  ast: Projected,
  argument: Ast.Expression,
): BoundQuery {
  const grouping =
    hasAggregate(argument) || ast.groupBy.length > 0
      ? new Grouping(context, source.scope, ast.groupBy)
      : undefined;
  const list = bindExpression(context, grouping?.scope ?? source.scope, argument);
  const item = context.newSlot();
  const slot = context.newSlot();
  const input = grouping?.plan(source.plan) ?? source.plan;
  const unnest: PlanNode = {kind: 'unnest', input, list, slot: item, keepEmpty: false};
  const value: Expression = {kind: 'attribute', of: slotOf(item), attribute: 'this'};
  const plan: PlanNode = {kind: 'extend', input: unnest, bind: [{slot, value}]};
  const scope = makeScope(slotOf(slot), source.scope.parent, {variables: source.scope.variables});
  const shape: Shape = {kind: 'element', slot};
  return bindTail(context, {plan, scope, shape, grouping: undefined}, ast);
}

function groupingOf(context: BindContext, scope: Scope, ast: Projected): Grouping | undefined {
  const grouped =
    ast.groupBy.length > 0 ||
    ast.items.some(item => item.kind === 'item' && hasAggregate(item.expression)) ||
    (ast.having !== undefined && hasAggregate(ast.having));
  if (!grouped) return undefined;
  return new Grouping(
    context,
    scope,
    ast.groupBy.map(key => aliased(key, ast.items)),
  );
}

/** GROUP BY and ORDER BY may name an item of the projection by its alias. */
function aliased(key: Ast.Expression, items: readonly Ast.ProjectionItem[]): Ast.Expression {
  if (key.kind !== 'name') return key;
  const item = items.find(each => each.kind === 'item' && each.alias?.text === key.name);
  return item?.kind === 'item' && !hasAggregate(item.expression) ? item.expression : key;
}

function bindItems(
  context: BindContext,
  scope: Scope,
  items: readonly Ast.ProjectionItem[],
): Shape {
  const [only, ...more] = items;
  const slot = scope.record?.kind === 'slot' ? scope.record.slot : undefined;
  const whole = only?.kind === 'all' || isThis(only);
  if (whole && more.length === 0 && slot !== undefined && scope.intercept === undefined) {
    return {kind: 'element', slot};
  }
  const except = items.flatMap(item => (item.kind === 'exclude' ? [item.name] : []));
  const columns = new Map<string, OutputColumn>();
  const kept = items.some(item => item.kind === 'item' || item.kind === 'all');
  if (!kept && except.length > 0) addSpread(context, scope, columns, except, items[0]?.at ?? 0);
  for (const item of items) {
    if (item.kind === 'all') addSpread(context, scope, columns, except, item.at);
    if (item.kind === 'item') {
      const name = item.alias?.text ?? itemLabel(item.expression);
      // The last item of a name wins, in the first one's place.
      columns.set(name, {name, value: bindExpression(context, scope, item.expression)});
    }
  }
  return {kind: 'columns', columns: [...columns.values()]};
}

/** `SELECT @this` answers the records themselves. */
function isThis(item: Ast.ProjectionItem | undefined): boolean {
  if (item?.kind !== 'item' || item.alias !== undefined) return false;
  return item.expression.kind === 'attribute' && item.expression.name === 'this';
}

/** `dim:{w}` is called `dim`. */
function itemLabel(expression: Ast.Expression): string {
  if (expression.kind !== 'path') return labelOf(expression);
  const steps = expression.steps.filter(step => step.kind !== 'nested');
  if (steps.length === expression.steps.length) return labelOf(expression);
  const [first, ...rest] = steps;
  return labelOf(first === undefined ? expression.base : {...expression, steps: [first, ...rest]});
}

function addSpread(
  context: BindContext,
  scope: Scope,
  columns: Map<string, OutputColumn>,
  except: readonly string[],
  at: number,
): void {
  if (scope.intercept !== undefined) {
    context.refuse(at, "'*' cannot stand beside aggregates or GROUP BY");
  }
  if (scope.closed) {
    for (const [name, value] of scope.names) {
      if (!except.includes(name)) columns.set(name, {name, value});
    }
    return;
  }
  if (scope.record === undefined) return;
  columns.set(`*${columns.size}`, {
    spread: scope.record,
    attributes: true,
    ...(except.length > 0 && {except}),
  });
}

/** Each is a level of the plan, and multiplies the rows. */
const unwindMax = 50;

interface Rows {
  readonly plan: PlanNode;
  readonly scope: Scope;
  readonly shape: Shape;
  readonly grouping: Grouping | undefined;
}

/** HAVING to LIMIT. Expressions are bound before the group's node is made: they add to it. */
function bindTail(context: BindContext, rows: Rows, ast: Projected): BoundQuery {
  let {shape} = rows;
  const steps: ((input: PlanNode) => PlanNode)[] = [];
  if (ast.having !== undefined) {
    const condition = bindExpression(context, aliasScope(rows.scope, shape, ast.items), ast.having);
    steps.push(input => ({kind: 'filter', input, condition}));
  }
  const excess = ast.unwind[unwindMax];
  if (excess !== undefined) context.refuse(excess.at, `at most ${unwindMax} items can be unwound`);
  for (const item of ast.unwind) {
    const unwound = bindUnwind(context, rows.scope, shape, item);
    if (unwound === undefined) continue;
    steps.push(unwound.step);
    shape = unwound.shape;
  }
  if (ast.distinct) {
    const by = distinctBy(shape);
    steps.push(input => ({kind: 'distinct', input, by}));
  }
  if (ast.orderBy.length > 0) {
    const scope = aliasScope(rows.scope, shape, ast.items);
    const keys = ast.orderBy.flatMap(item => bindOrder(context, scope, item));
    steps.push(input => ({kind: 'sort', input, keys}));
  }
  steps.push(...bindBounds(context, rows.scope.parent, ast));
  const start = rows.grouping?.plan(rows.plan) ?? rows.plan;
  const plan = steps.reduce((input, step) => step(input), start);
  return {plan, shape, variables: rows.scope.variables};
}

/** The scope with the output columns' names before it. */
function aliasScope(scope: Scope, shape: Shape, items: readonly Ast.ProjectionItem[]): Scope {
  if (shape.kind === 'element') return scope;
  const named = shape.columns.flatMap((column): (readonly [string, Expression])[] =>
    'value' in column ? [[column.name, column.value]] : [],
  );
  const {intercept} = scope;
  const aliases = new Map(named);
  const inner = withNames(scope, named);
  if (intercept === undefined || items.length === 0) return inner;
  return {
    ...inner,
    intercept: ast => (ast.kind === 'name' ? aliases.get(ast.name) : undefined) ?? intercept(ast),
  };
}

function distinctBy(shape: Shape): readonly Expression[] {
  if (shape.kind === 'element') return [slotOf(shape.slot)];
  return shape.columns.map(column => ('value' in column ? column.value : column.spread));
}

/**
 * SQL puts null first when ascending and last when descending. A direction that only a parameter
 * tells is two keys of which one is null in every row.
 */
function bindOrder(context: BindContext, scope: Scope, item: Ast.OrderItem): readonly SortKey[] {
  const {direction} = item;
  const by = bindExpression(context, scope, item.expression);
  const rising: SortKey = {by, descending: false, nulls: 'first'};
  const falling: SortKey = {by, descending: true, nulls: 'last'};
  if (typeof direction === 'string') return [direction === 'desc' ? falling : rising];
  const word = lowerCase(bindExpression(context, scope, direction));
  const falls = operator('equal', word, literal('desc'));
  const [none, value] = [literal(null), by];
  const chosen = (then: Expression, otherwise: Expression): Expression => ({
    kind: 'case',
    branches: [{when: falls, then}],
    otherwise,
  });
  return [
    {...falling, by: chosen(value, none)},
    {...rising, by: chosen(none, value)},
  ];
}

interface Unwound {
  readonly step: (input: PlanNode) => PlanNode;
  readonly shape: Shape;
}

/** A row for each item of a column; a row whose column is empty stays, with null. */
function bindUnwind(
  context: BindContext,
  scope: Scope,
  shape: Shape,
  item: Ast.UnwindItem,
): Unwound | undefined {
  const source = labelOf(item.expression);
  const name = item.alias?.text ?? source;
  const slot = context.newSlot();
  if (shape.kind === 'element') {
    const list = bindExpression(context, scope, item.expression);
    return {
      step: input => ({kind: 'unnest', input, list, slot, keepEmpty: true}),
      shape: {
        kind: 'columns',
        columns: [
          {spread: slotOf(shape.slot), attributes: true, except: [name]},
          {name, value: slotOf(slot)},
        ],
      },
    };
  }
  const column = shape.columns.find(each => 'value' in each && each.name === source);
  const target = shape.columns.find(each => 'value' in each && each.name === name);
  const spreads = shape.columns.some(each => 'spread' in each);
  if (target === undefined && !spreads) return undefined;
  const list =
    column !== undefined && 'value' in column
      ? column.value
      : bindExpression(context, scope, item.expression);
  const others = shape.columns.map((each): OutputColumn => {
    if ('value' in each) return each.name === name ? {name, value: slotOf(slot)} : each;
    return {...each, except: [...(each.except ?? []), name]};
  });
  const columns = target === undefined ? [...others, {name, value: slotOf(slot)}] : others;
  return {
    step: input => ({kind: 'unnest', input, list, slot, keepEmpty: true}),
    shape: {kind: 'columns', columns},
  };
}

/** SKIP and LIMIT; a negative LIMIT is none. */
export function bindBounds(
  context: BindContext,
  parent: Scope | undefined,
  ast: {readonly skip: Ast.Expression | undefined; readonly limit: Ast.Expression | undefined},
): readonly ((input: PlanNode) => PlanNode)[] {
  const scope = makeScope(undefined, parent);
  const steps: ((input: PlanNode) => PlanNode)[] = [];
  if (ast.skip !== undefined && !isNegative(ast.skip)) {
    const count = bindExpression(context, scope, ast.skip);
    steps.push(input => ({kind: 'skip', input, count}));
  }
  if (ast.limit !== undefined && !isNegative(ast.limit)) {
    const count = bindExpression(context, scope, ast.limit);
    steps.push(input => ({kind: 'limit', input, count}));
  }
  return steps;
}

function isNegative(ast: Ast.Expression): boolean {
  return ast.kind === 'integer' && ast.value < 0;
}

/** A value that needs no row: LIMIT, TIMEOUT. */
export function bindConstant(
  context: BindContext,
  ast: Ast.Expression | undefined,
): Expression | undefined {
  if (ast === undefined || isNegative(ast)) return undefined;
  return bindExpression(context, makeScope(literal(null), undefined), ast);
}
