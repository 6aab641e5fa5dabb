/**
 * WITH and RETURN: new names for values, grouping, DISTINCT, order, SKIP and LIMIT.
 *
 * With an aggregate among the items, the items without one are the keys of groups. An item that
 * mixes both may read keys only: whatever else it reads would have many values in a group.
 */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {Aggregate, PlanNode, SortKey} from '#server/plan/node.ts';
import type * as Ast from './ast-expression.ts';
import type {ProjectionClause, ProjectionItem, SortItem} from './ast.ts';
import {
  type BindContext,
  type Bound,
  emptyScope,
  filtered,
  literal,
  operator,
  type Scope,
  slotOf,
  type Variable,
} from './bind-context.ts';
import {bindCondition, bindExpression} from './bind-expression.ts';
import {isAggregate, requireFunction} from './bind-function.ts';
import {kindOf} from './kind.ts';
import {syntaxKey, visitSyntax} from './syntax-key.ts';
import type {Kind} from './value-kind.ts';

export interface Column {
  readonly name: string;
  readonly slot: Slot;
}

interface Item {
  readonly name: string;
  readonly value: Ast.Expression;
  readonly at: number;
}

/** @returns the rows under their new names, and the columns in order. */
export function bindProjection(
  context: BindContext,
  input: Bound,
  clause: ProjectionClause,
): Bound & {readonly columns: readonly Column[]} {
  const items = itemsOf(context, input.scope, clause);
  const isGrouped = items.some(item => hasAggregate(item.value));
  const projector = new Projector(context, input, clause, items);
  return isGrouped ? projector.grouped() : projector.plain();
}

function itemsOf(context: BindContext, scope: Scope, clause: ProjectionClause): readonly Item[] {
  const items: Item[] = [];
  if (clause.star) {
    if (scope.variables.size === 0 && clause.kind === 'return') {
      context.refuse(
        clause.at,
        'NoVariablesInScope',
        'there is no variable that * could stand for',
      );
    }
    for (const name of [...scope.variables.keys()].sort()) {
      items.push({name, value: {kind: 'variable', name, at: clause.at}, at: clause.at});
    }
  }
  for (const item of clause.items) items.push(itemOf(context, clause, item));
  const names = new Set<string>();
  for (const {name, at} of items) {
    if (names.has(name)) {
      context.refuse(at, 'ColumnNameConflict', `two columns are named '${name}'`);
    }
    names.add(name);
  }
  return items;
}

function itemOf(context: BindContext, clause: ProjectionClause, item: ProjectionItem): Item {
  const {value, alias, text} = item;
  if (alias !== undefined) return {name: alias.text, value, at: value.at};
  if (clause.kind === 'with' && value.kind !== 'variable') {
    context.refuse(value.at, 'NoExpressionAlias', `give '${text}' a name with AS`);
  }
  return {name: value.kind === 'variable' ? value.name : text, value, at: value.at};
}

export function hasAggregate(ast: Ast.Expression): boolean {
  let found = false;
  visitSyntax(ast, part => {
    if (isAggregate(part)) found = true;
    return !found && part.kind !== 'subquery';
  });
  return found;
}

class Projector {
  readonly #context: BindContext;
  readonly #input: Bound;
  readonly #clause: ProjectionClause;
  readonly #items: readonly Item[];

  constructor(
    context: BindContext,
    input: Bound,
    clause: ProjectionClause,
    items: readonly Item[],
  ) {
    this.#context = context;
    this.#input = input;
    this.#clause = clause;
    this.#items = items;
  }

  plain(): ReturnType<typeof bindProjection> {
    const context = this.#context;
    const {scope} = this.#input;
    const inner: Scope = {...scope, allowsPatterns: false};
    const bind: {slot: Slot; value: Expression}[] = [];
    const columns = this.#items.map(({name, value}): Column & {readonly kind: Kind} => {
      const kind = kindOf(value, scope);
      const known = value.kind === 'variable' ? scope.variables.get(value.name) : undefined;
      if (known !== undefined) return {name, slot: known.slot, kind};
      const slot = context.newSlot();
      bind.push({slot, value: bindExpression(context, inner, value)});
      return {name, slot, kind};
    });
    let plan: PlanNode = this.#input.plan;
    if (bind.length > 0) plan = {kind: 'extend', input: plan, bind};
    const projected = variablesOf(columns);
    // Behind DISTINCT only what is projected is left; else what was there can be sorted by, too.
    const sortVariables = this.#clause.distinct
      ? projected
      : new Map([...scope.variables, ...projected]);
    const sortScope: Scope = {
      ...inner,
      variables: sortVariables,
      intercept: this.#projectedAgain(columns),
    };
    if (this.#clause.distinct) plan = distinct(plan, columns);
    return this.#finish(plan, columns, sortScope, false);
  }

  grouped(): ReturnType<typeof bindProjection> {
    const context = this.#context;
    const {scope} = this.#input;
    const inner: Scope = {...scope, allowsPatterns: false};
    const keys = this.#items
      .filter(item => !hasAggregate(item.value))
      .map(item => ({
        item,
        slot: context.newSlot(),
        value: bindExpression(context, inner, item.value),
        key: syntaxKey(item.value),
      }));
    const isPlain = (ast: Ast.Expression): boolean =>
      ast.kind === 'variable' || (ast.kind === 'property' && isPlain(ast.of));
    // Only names and their properties are known again inside an item with an aggregate.
    const grouping = new Grouping(
      context,
      inner,
      keys.filter(key => isPlain(key.item.value)),
    );
    const bind: {slot: Slot; value: Expression}[] = [];
    const columns = this.#items.map(({name, value}): Column & {readonly kind: Kind} => {
      const kind = kindOf(value, scope);
      const key = keys.find(one => one.item.name === name);
      if (key !== undefined) return {name, slot: key.slot, kind};
      const slot = context.newSlot();
      bind.push({slot, value: bindExpression(context, grouping.scope, value)});
      return {name, slot, kind};
    });
    const projected = this.#projectedAgain(columns);
    const sortScope: Scope = {
      ...inner,
      variables: variablesOf(columns),
      intercept: ast => projected(ast) ?? grouping.ofRows(ast, variablesOf(columns)),
    };
    const sortKeys = this.#groupedSortKeys(sortScope, grouping);
    let plan: PlanNode = {
      kind: 'aggregate',
      input: this.#input.plan,
      keys: keys.map(({slot, value}) => ({slot, value})),
      aggregates: grouping.aggregates,
    };
    if (bind.length > 0) plan = {kind: 'extend', input: plan, bind};
    if (this.#clause.distinct) plan = distinct(plan, columns);
    return this.#finish(plan, columns, sortScope, true, sortKeys);
  }

  /** Answers for expressions that a column holds. */
  #projectedAgain(columns: readonly Column[]): (ast: Ast.Expression) => Expression | undefined {
    const slots = new Map<string, Slot>();
    this.#items.forEach((item, at) => {
      if (item.value.kind !== 'variable' && item.value.kind !== 'literal') {
        slots.set(syntaxKey(item.value), columns[at]?.slot ?? 0);
      }
    });
    return ast => {
      if (slots.size === 0) return undefined;
      const slot = slots.get(syntaxKey(ast));
      return slot === undefined ? undefined : slotOf(slot);
    };
  }

  #sortKeys(scope: Scope): readonly SortKey[] {
    return this.#clause.orderBy.map(key => this.#sortKey(key, scope));
  }

  #sortKey({value, descending}: SortItem, scope: Scope): SortKey {
    return {
      by: bindExpression(this.#context, scope, value),
      descending,
      nulls: descending ? 'first' : 'last',
      classes: 'structures-first',
    };
  }

  /** A key with an aggregate of its own knows plain keys only, as the items do. */
  #groupedSortKeys(scope: Scope, grouping: Grouping): readonly SortKey[] {
    const read = new Set<string>();
    for (const item of this.#items) {
      visitSyntax(item.value, part => {
        if (part.kind === 'variable') read.add(part.name);
        return true;
      });
    }
    const mixed: Scope = {
      ...scope,
      intercept: ast => {
        const isHidden = ast.kind === 'variable' && !scope.variables.has(ast.name);
        return isHidden && !read.has(ast.name) ? undefined : grouping.intercept(ast);
      },
    };
    return this.#clause.orderBy.map(key => {
      const isWhole = scope.intercept?.(key.value) !== undefined;
      return this.#sortKey(key, !isWhole && hasAggregate(key.value) ? mixed : scope);
    });
  }

  #finish(
    input: PlanNode,
    columns: readonly (Column & {readonly kind: Kind})[],
    sortScope: Scope,
    isGrouped: boolean,
    sortKeys = this.#sortKeys(sortScope),
  ): ReturnType<typeof bindProjection> {
    const {skip, limit, where} = this.#clause;
    let plan = input;
    if (sortKeys.length > 0) plan = {kind: 'sort', input: plan, keys: sortKeys};
    if (skip !== undefined) plan = {kind: 'skip', input: plan, count: this.#count(skip, 'SKIP')};
    if (limit !== undefined)
      plan = {kind: 'limit', input: plan, count: this.#count(limit, 'LIMIT')};
    const {hasDeleted, functions} = this.#input.scope;
    const scope: Scope = {...emptyScope, functions, hasDeleted, variables: variablesOf(columns)};
    // WHERE sees what was there before, too, as long as rows are not grouped.
    const before = isGrouped ? [] : this.#input.scope.variables;
    const whereScope = {...scope, variables: new Map([...before, ...scope.variables])};
    const condition = where && bindCondition(this.#context, whereScope, where);
    return {plan: filtered(plan, condition === undefined ? [] : [condition]), scope, columns};
  }

  /** SKIP and LIMIT: a whole number that no row has a say in. */
  #count(ast: Ast.Expression, word: string): Expression {
    const context = this.#context;
    visitSyntax(ast, part => {
      if (part.kind === 'variable' || part.kind === 'pattern') {
        context.refuse(part.at, 'NonConstantExpression', `${word} cannot depend on a row`);
      }
      return true;
    });
    const sign = ast.kind === 'unary' && ast.operator === '-' ? -1 : 1;
    const number = ast.kind === 'unary' ? ast.of : ast;
    if (number.kind === 'literal') {
      const {value, isFloat} = number;
      if (typeof value !== 'number' || isFloat) {
        return context.refuse(ast.at, 'InvalidArgumentType', `${word} needs an integer`);
      }
      if (sign * value < 0) {
        context.refuse(ast.at, 'NegativeIntegerArgument', `${word} cannot be negative`);
      }
    }
    const {functions} = this.#input.scope;
    const value = bindExpression(context, {...emptyScope, functions}, ast);
    return operator('rowCount', value, literal(word));
  }
}

function variablesOf(
  columns: readonly (Column & {readonly kind: Kind})[],
): ReadonlyMap<string, Variable> {
  return new Map(columns.map(({name, slot, kind}) => [name, {slot, kind}]));
}

function distinct(input: PlanNode, columns: readonly Column[]): PlanNode {
  return {kind: 'distinct', input, by: columns.map(({slot}) => slotOf(slot))};
}

interface GroupKey {
  readonly slot: Slot;
  readonly key: string;
}

/** What expressions over groups read: keys, and aggregates made on the way. */
class Grouping {
  readonly aggregates: Aggregate[] = [];
  readonly scope: Scope;
  readonly #context: BindContext;
  readonly #rows: Scope;
  readonly #keys: readonly GroupKey[];
  readonly #known = new Map<string, Slot>();

  constructor(context: BindContext, rows: Scope, keys: readonly GroupKey[]) {
    this.#context = context;
    this.#rows = rows;
    this.#keys = keys;
    this.scope = {...rows, intercept: ast => this.intercept(ast)};
  }

  readonly intercept = (ast: Ast.Expression): Expression | undefined => {
    if ((ast.kind === 'call' || ast.kind === 'count-star') && isAggregate(ast)) {
      return slotOf(this.#aggregate(ast));
    }
    const key = this.#keys.length === 0 ? '' : syntaxKey(ast);
    const found = this.#keys.find(one => one.key === key);
    if (found !== undefined) return slotOf(found.slot);
    if (ast.kind === 'variable' && this.#rows.variables.has(ast.name)) {
      return this.#context.refuse(
        ast.at,
        'AmbiguousAggregationExpression',
        `'${ast.name}' has many values in a group: make what reads it an item of its own`,
      );
    }
    return undefined;
  };

  /** Binds for ORDER BY: aggregates and keys, but no variable that is not projected. */
  ofRows(ast: Ast.Expression, projected: ReadonlyMap<string, Variable>): Expression | undefined {
    if (ast.kind === 'variable' && !projected.has(ast.name)) {
      const key = this.#keys.find(one => one.key === syntaxKey(ast));
      return key === undefined ? undefined : slotOf(key.slot);
    }
    if (ast.kind === 'variable') return undefined;
    return this.intercept(ast);
  }

  #aggregate(ast: Extract<Ast.Expression, {kind: 'call' | 'count-star'}>): Slot {
    const key = syntaxKey(ast);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const context = this.#context;
    const slot = context.newSlot();
    this.#known.set(key, slot);
    if (ast.kind === 'count-star') {
      this.aggregates.push({slot, name: 'count', args: [], distinct: false});
      return slot;
    }
    const called = requireFunction(context, ast);
    for (const arg of ast.args) this.#checkArgument(arg);
    this.aggregates.push({
      slot,
      name: called.name,
      args: ast.args.map(arg => bindExpression(context, this.#rows, arg)),
      distinct: ast.distinct,
      place: context.place(ast.at),
    });
    return slot;
  }

  #checkArgument(arg: Ast.Expression): void {
    visitSyntax(arg, part => {
      if (isAggregate(part)) {
        this.#context.refuse(part.at, 'NestedAggregation', 'an aggregate cannot hold another');
      }
      if (part.kind === 'call' && part.name.toLowerCase() === 'rand') {
        this.#context.refuse(part.at, 'NonConstantExpression', 'rand() cannot be aggregated');
      }
      return true;
    });
  }
}
