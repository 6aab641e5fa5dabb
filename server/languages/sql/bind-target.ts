/**
 * What a statement reads: the source of its rows and the scope they are seen in.
 */

import {Refusal} from '#server/base/errors.ts';
import {words} from '#server/base/words.ts';
import {nearestNameHint} from '#server/catalog/nearest-name.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {slotsOf} from '#server/plan/tree.ts';
import type * as Ast from './ast.ts';
import type {BindContext, BoundQuery, Scope, Source} from './bind-context.ts';
import {isCheap, literal, makeScope, operator, slotOf, withNames} from './bind-context.ts';
import {bindExpression, elementOf, mapOfColumns} from './bind-expression.ts';
import {bindManualEntries} from './bind-manual-index.ts';

/** @param parent - Scope of the statement around; undefined for the outermost. */
export function bindTarget(
  context: BindContext,
  target: Ast.Target | undefined,
  parent: Scope | undefined,
): Source {
  if (target === undefined) return bindNoTarget(parent);
  switch (target.kind) {
    case 'type-target': {
      const {name} = context.located(target.at, () => context.catalog.requireType(target.name));
      return bindElement(context, parent, slot => ({
        kind: 'scan-type',
        type: name,
        polymorphic: true,
        slot,
        descending: false,
      }));
    }
    case 'bucket-target': {
      const buckets = bindBuckets(context, target.buckets);
      return bindElement(context, parent, slot => ({
        kind: 'scan-bucket',
        ...buckets,
        slot,
        descending: false,
      }));
    }
    case 'index-target':
      return bindIndex(context, target, parent);
    case 'schema-target':
      return bindSchema(context, target, parent);
    default:
      return bindExpressionTarget(context, target.expression, parent);
  }
}

/** One row that is nothing: `SELECT 1`. Inside another statement it is that statement's row. */
function bindNoTarget(parent: Scope | undefined): Source {
  const plan: PlanNode = parent === undefined ? {kind: 'unit'} : {kind: 'argument'};
  return {plan, scope: makeScope(undefined, parent), shape: {kind: 'columns', columns: []}};
}

function bindElement(
  context: BindContext,
  parent: Scope | undefined,
  makePlan: (slot: number) => PlanNode,
): Source {
  const slot = context.newSlot();
  return {
    plan: makePlan(slot),
    scope: makeScope(slotOf(slot), parent),
    shape: {kind: 'element', slot},
  };
}

/** The buckets that are named or numbered, and those that parameters will name. */
export function bindBuckets(
  context: BindContext,
  references: readonly Ast.BucketReference[],
): {readonly buckets: readonly number[]; readonly asked?: readonly Expression[]} {
  const {catalog} = context;
  const buckets: number[] = [];
  const asked: Expression[] = [];
  for (const reference of references) {
    const {at} = reference;
    if (!('kind' in reference)) {
      buckets.push(context.located(at, () => catalog.requireBucket(reference.text)).id);
    } else if (reference.kind === 'parameter') {
      asked.push(bindExpression(context, makeScope(undefined, undefined), reference));
    } else {
      const id = Number(reference.value);
      buckets.push(context.located(at, () => catalog.requireBucketById(id)).id);
    }
  }
  return asked.length === 0 ? {buckets} : {buckets, asked};
}

/** `index:` answers entries {key, rid}; `indexvalues:` the records in the index's order. */
function bindIndex(
  context: BindContext,
  target: Extract<Ast.Target, {kind: 'index-target'}>,
  parent: Scope | undefined,
): Source {
  const index = context.located(target.at, () => context.catalog.requireIndex(target.name));
  const {name, properties} = index;
  if (index.manual === true) {
    if (target.form === 'index') return bindManualEntries(context, index, parent);
    return context.refuse(target.at, `'${name}' is filled by hand: SELECT expand(rid) FROM index:`);
  }
  const descending = target.form === 'indexvaluesdesc';
  if (target.form !== 'index') {
    return bindElement(context, parent, slot => ({
      kind: 'index-range',
      index: name,
      from: undefined,
      to: undefined,
      descending,
      slot,
    }));
  }
  const key = context.newSlot();
  const rid = context.newSlot();
  const plan = {kind: 'index-entries', index: name, key, rid, descending} as const;
  const source = ofColumns(plan, parent, [
    {name: 'key', value: slotOf(key)},
    {name: 'rid', value: slotOf(rid)},
  ]);
  // The key of one property is a list of one value; a condition means that value.
  const isOne = properties.length === 1;
  const compared = isOne ? operator('item', slotOf(key), literal(0)) : slotOf(key);
  // What a key is equal to is said by the index: folded, and converted to the property's type.
  const where = (condition: Expression): PlanNode => {
    const terms = condition.kind === 'and' ? condition.terms : [condition];
    const term = terms.find(each => equalTo(each, compared) !== undefined);
    const value = term && equalTo(term, compared);
    if (value === undefined) return {kind: 'filter', input: plan, condition};
    const found: PlanNode = {...plan, at: value};
    const [first, ...more] = terms.filter(each => each !== term);
    if (first === undefined) return found;
    const left: Expression = more.length === 0 ? first : {kind: 'and', terms: [first, ...more]};
    return {kind: 'filter', input: found, condition: left};
  };
  const conditions = isOne ? {conditions: withNames(source.scope, [['key', compared]])} : {};
  return {...source, ...conditions, where};
}

/** What a term says the key is equal to: something that is the same for every entry. */
function equalTo(term: Expression, compared: Expression): Expression | undefined {
  if (term.kind !== 'call' || term.name !== 'op:equal') return undefined;
  const [left, right] = term.args;
  if (left === undefined || right === undefined || slotsOf(right).size > 0) return undefined;
  return isSame(left, compared) ? right : undefined;
}

/** Whether an expression is the key as `compared` says it. */
function isSame(expression: Expression, compared: Expression): boolean {
  if (expression === compared) return true;
  return (
    expression.kind === 'slot' && compared.kind === 'slot' && expression.slot === compared.slot
  );
}

function ofColumns(
  plan: PlanNode,
  parent: Scope | undefined,
  columns: readonly {readonly name: string; readonly value: Expression}[],
): Source {
  return {
    plan,
    scope: columnScope(columns, parent),
    shape: {kind: 'columns', columns},
  };
}

function columnScope(
  columns: readonly {readonly name: string; readonly value: Expression}[],
  parent: Scope | undefined,
): Scope {
  const names = new Map(columns.map(column => [column.name, column.value]));
  return makeScope(mapOfColumns(columns), parent, {names, closed: true});
}

const schemaSubjects = [
  ...words('types indexes index buckets bucket database dictionary stats materializedViews'),
  ...words('continuousAggregates graphAnalyticalViews triggers functions'),
];

/** The table function `schema:<subject>`: one output `row`, a map; its argument is the name. */
function bindSchema(
  context: BindContext,
  target: Extract<Ast.Target, {kind: 'schema-target'}>,
  parent: Scope | undefined,
): Source {
  const wanted = target.subject.toLowerCase();
  const subject = schemaSubjects.find(each => each.toLowerCase() === wanted);
  if (subject === undefined) {
    throw new Refusal(
      'query.execution',
      `Invalid metadata: ${target.subject}${nearestNameHint(target.subject, schemaSubjects)}`,
      {place: context.place(target.at), detail: {name: target.subject}},
    );
  }
  checkSchemaName(context, target, subject);
  const args = target.name === undefined ? [] : [literal(target.name.text)];
  const place = context.place(target.at);
  return bindElement(context, parent, slot => ({
    kind: 'call',
    procedure: `schema:${subject}`,
    args,
    outputs: [{name: 'row', slot}],
    place,
  }));
}

/** `schema:index` and `schema:bucket` are of one name, the other subjects of none. */
function checkSchemaName(
  context: BindContext,
  {name, at}: Extract<Ast.Target, {kind: 'schema-target'}>,
  subject: (typeof schemaSubjects)[number],
): void {
  const {catalog} = context;
  const wanted = subject === 'index' || subject === 'bucket';
  if (wanted !== (name !== undefined)) {
    context.refuse(at, `schema:${subject} takes ${wanted ? 'a' : 'no'} name`);
  }
  if (name === undefined) return;
  context.located(name.at, () =>
    subject === 'index' ? catalog.requireIndex(name.text) : catalog.requireBucket(name.text),
  );
}

function bindExpressionTarget(
  context: BindContext,
  ast: Ast.Expression,
  parent: Scope | undefined,
): Source {
  if (ast.kind === 'subquery') {
    return sourceOfQuery(context, context.bindQuery(ast.statement, parent, ast.at), parent);
  }
  const ids = bindExpression(context, makeScope(undefined, parent), ast);
  return bindElement(context, parent, slot => ({
    kind: 'records',
    ids,
    slot,
    loose: !isRids(ids),
    ...(ast.kind === 'parameter' && {typeNames: true}),
  }));
}

function isRids(ids: Expression): boolean {
  if (ids.kind === 'list') return ids.items.every(isRids);
  if (ids.kind !== 'literal') return false;
  return Array.isArray(ids.value) ? ids.value.every(isRid) : isRid(ids.value);
}

function isRid(value: Value): boolean {
  return typeof value === 'object' && value !== null && 'bucket' in value;
}

/** The rows of a query as the source of another. */
export function sourceOfQuery(
  context: BindContext,
  query: BoundQuery,
  parent: Scope | undefined,
): Source {
  const {variables} = query;
  if (query.shape.kind === 'element') {
    const scope = makeScope(slotOf(query.shape.slot), parent, {variables});
    return {plan: query.plan, scope, shape: query.shape};
  }
  const {columns} = query.shape;
  if (!columns.every(column => 'value' in column)) {
    const {plan, slot} = elementOf(context, query);
    const scope = makeScope(slotOf(slot), parent, {variables});
    return {plan, scope, shape: {kind: 'element', slot}};
  }
  const {plan, bound} = computeOnce(context, query.plan, columns);
  return {
    plan,
    scope: {...columnScope(bound, parent), variables},
    shape: {kind: 'columns', columns: bound},
  };
}

/** Columns that cost something are computed into slots, since they may be read several times. */
function computeOnce(
  context: BindContext,
  input: PlanNode,
  columns: readonly {readonly name: string; readonly value: Expression}[],
): {
  readonly plan: PlanNode;
  readonly bound: readonly {readonly name: string; readonly value: Expression}[];
} {
  const bind: {slot: number; value: Expression}[] = [];
  const bound = columns.map(column => {
    if (isCheap(column.value)) return column;
    const slot = context.newSlot();
    bind.push({slot, value: column.value});
    return {name: column.name, value: slotOf(slot)};
  });
  const plan: PlanNode = bind.length === 0 ? input : {kind: 'extend', input, bind};
  return {plan, bound};
}
