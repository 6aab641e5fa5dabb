/** Queries: clause after clause, parts joined by UNION, sub-queries for every row. */
import {Refusal} from '#server/base/errors.ts';
import type {Slot} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import type {
  CallClause,
  Clause,
  LoadCsvClause,
  Name,
  ProjectionClause,
  Query,
  SingleQuery,
  SubqueryClause,
} from './ast.ts';
import {
  type BindContext,
  type Bound,
  filtered,
  literal,
  operator,
  type Scope,
  slotOf,
  withVariables,
} from './bind-context.ts';
import {bindCondition, bindExpression, variableOf} from './bind-expression.ts';
import {bindCall} from './bind-procedure.ts';
import {PatternBinder} from './bind-pattern.ts';
import {bindProjection, type Column} from './bind-projection.ts';
import {bindUpdate, isUpdate} from './bind-update.ts';
import {kindOf} from './kind.ts';

/** Rows, and the columns that RETURN gave names; none without a RETURN. */
export interface BoundQuery extends Bound {
  readonly columns: readonly Column[];
}

/** A query that stands inside another: it sees the names around it. */
export function bindInnerQuery(context: BindContext, input: Bound, query: Query): BoundQuery {
  const [first, ...more] = query.parts;
  if (first === undefined) throw new Refusal('query.semantic', 'a query has clauses');
  const bound = bindSingleQuery(context, input, first);
  if (more.length === 0) return bound;
  const parts = [bound, ...more.map(part => bindSingleQuery(context, input, part))];
  const names = bound.columns.map(column => column.name);
  parts.forEach(({columns}, at) => {
    const other = columns.map(column => column.name);
    if (other.length !== names.length || !names.every(name => other.includes(name))) {
      const place = query.parts[at]?.at ?? query.at;
      context.refuse(
        place,
        'DifferentColumnsInUnion',
        'the parts of a UNION have the same columns',
      );
    }
  });
  const columns = names.map(name => ({name, slot: context.newSlot()}));
  const inputs = parts.map(({plan, columns: own}): PlanNode => {
    const slotOfName = (name: string): Slot => own.find(column => column.name === name)?.slot ?? 0;
    const bind = columns.map(({name, slot}) => ({slot, value: slotOf(slotOfName(name))}));
    return {kind: 'extend', input: plan, bind};
  });
  const union: PlanNode = {kind: 'union', inputs};
  const by = columns.map(({slot}) => slotOf(slot));
  const plan: PlanNode = query.union === 'all' ? union : {kind: 'distinct', input: union, by};
  const variables = new Map(columns.map(({name, slot}) => [name, {slot, kind: 'any'}] as const));
  return {plan, scope: {...input.scope, variables}, columns};
}

export function bindSingleQuery(
  context: BindContext,
  input: Bound,
  query: SingleQuery,
): BoundQuery {
  let bound: Bound = input;
  let columns: readonly Column[] = [];
  query.clauses.forEach((clause, at) => {
    if (isProjection(clause)) {
      const projected = bindProjection(context, bound, clause);
      bound = projected;
      if (clause.kind === 'return') columns = projected.columns;
    } else if (clause.kind === 'call') {
      const called = bindCall(context, bound, clause, query.clauses.length === 1);
      bound = called;
      if (at === query.clauses.length - 1) columns = called.columns;
    } else bound = bindClause(context, bound, clause);
  });
  return {...bound, columns};
}

function isProjection(clause: Clause): clause is ProjectionClause {
  return clause.kind === 'with' || clause.kind === 'return';
}

type Plain = Exclude<Clause, ProjectionClause | CallClause>;

function bindClause(context: BindContext, input: Bound, clause: Plain): Bound {
  if (isUpdate(clause)) return bindUpdate(context, input, clause);
  switch (clause.kind) {
    case 'match':
      return bindMatch(context, input, clause);
    case 'unwind':
      return bindUnwind(context, input, clause);
    case 'subquery':
      if (clause.batches !== undefined) {
        context.refuse(
          clause.batches.at,
          'InvalidClauseComposition',
          'IN TRANSACTIONS stands once, in the outermost query, outside of UNION',
        );
      }
      return bindSubqueryClause(context, input, clause);
    case 'use':
      requireDatabase(context, clause.name);
      return input;
    default:
      return bindLoadCsv(context, input, clause);
  }
}

function requireDatabase(context: BindContext, {text, at}: Name): void {
  if (context.databaseName === text) return;
  throw new Refusal('argument', `'${text}' is not the database that the query is sent to`, {
    place: context.place(at),
    detail: {name: text},
  });
}

/** A row of the file beside each row; `file()` and `linenumber()` read where it comes from. */
function bindLoadCsv(context: BindContext, input: Bound, clause: LoadCsvClause): Bound {
  const {name, at} = clause;
  context.requireNew(input.scope, name);
  const scope = {...input.scope, allowsPatterns: false};
  const separator = clause.separator && bindExpression(context, scope, clause.separator);
  const [row, file, line] = [context.newSlot(), context.newSlot(), context.newSlot()];
  const plan: PlanNode = {
    kind: 'call',
    procedure: 'load.csv',
    args: [
      bindExpression(context, scope, clause.from),
      literal(clause.withHeaders),
      separator ?? literal(','),
    ],
    outputs: [
      {name: 'row', slot: row},
      {name: 'file', slot: file},
      {name: 'line', slot: line},
    ],
    place: context.place(at),
  };
  const kind = clause.withHeaders ? 'map' : 'list';
  const slots = [row, file, line];
  return {
    plan: {kind: 'apply', mode: 'inner', input: input.plan, plan, slots},
    scope: withVariables({...input.scope, csv: {file, line}}, [[name.text, {slot: row, kind}]]),
  };
}

function bindMatch(
  context: BindContext,
  input: Bound,
  clause: Extract<Clause, {kind: 'match'}>,
): Bound {
  const search = (from: Bound): Bound => {
    const binder = new PatternBinder(context, from, clause.repeats);
    binder.bindAll(clause.patterns);
    const {plan, scope} = binder.bound;
    const where = clause.where && bindCondition(context, scope, clause.where);
    return {plan: filtered(plan, where === undefined ? [] : [where]), scope};
  };
  if (!clause.optional) return search(input);
  const {plan, scope} = search({plan: {kind: 'argument'}, scope: input.scope});
  const slots = newSlots(input.scope, scope);
  return {plan: {kind: 'apply', mode: 'left', input: input.plan, plan, slots}, scope};
}

function newSlots(before: Scope, after: Scope): readonly Slot[] {
  return [...after.variables]
    .filter(([name]) => !before.variables.has(name))
    .map(([, {slot}]) => slot);
}

function bindUnwind(
  context: BindContext,
  input: Bound,
  clause: Extract<Clause, {kind: 'unwind'}>,
): Bound {
  const {name} = clause;
  context.requireNew(input.scope, name);
  const slot = context.newSlot();
  const scope = {...input.scope, allowsPatterns: false};
  const list = operator('each', bindExpression(context, scope, clause.list));
  const kind = kindOf(clause.list, input.scope) === 'relationships' ? 'relationship' : 'any';
  return {
    plan: {kind: 'unnest', input: input.plan, list, slot, keepEmpty: false},
    scope: withVariables(input.scope, [[name.text, {slot, kind}]]),
  };
}

/** CALL {...}: its columns beside the row; without a RETURN the row as it is. */
export function bindSubqueryClause(
  context: BindContext,
  input: Bound,
  clause: SubqueryClause,
): Bound {
  const {imports} = clause;
  const names =
    imports === 'star'
      ? [...input.scope.variables]
      : (imports ?? importedByWith(clause.query)).map(
          name =>
            [name.text, variableOf(context, input.scope, {name: name.text, at: name.at})] as const,
        );
  const scope: Scope = {...input.scope, variables: new Map(names)};
  const inner = bindInnerQuery(context, {plan: {kind: 'argument'}, scope}, clause.query);
  for (const {name} of inner.columns) {
    context.requireNew(input.scope, {text: name, at: clause.at});
  }
  const slots = inner.columns.map(column => column.slot);
  const returns = inner.columns.length > 0;
  const mode = returns ? (clause.optional ? 'left' : 'inner') : 'for-each';
  return {
    plan: {kind: 'apply', mode, input: input.plan, plan: inner.plan, slots},
    scope: withVariables(
      input.scope,
      inner.columns.map(({name, slot}) => [
        name,
        {slot, kind: inner.scope.variables.get(name)?.kind ?? 'any'},
      ]),
    ),
  };
}

/** `CALL { WITH a, b ... }`: the names that the query's first clause takes over. */
function importedByWith(query: Query): readonly {readonly text: string; readonly at: number}[] {
  return query.parts.flatMap(({clauses: [first]}) => {
    if (first?.kind !== 'with') return [];
    return first.items.flatMap(({value}) =>
      value.kind === 'variable' ? [{text: value.name, at: value.at}] : [],
    );
  });
}
