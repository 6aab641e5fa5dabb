/**
 * `INDEX:name` of an index that is filled by hand: its entries are records of the type of its name
 * (catalog/manual-index.ts), in which `key` stands for the parts of the key.
 */
import {entryRid} from '#server/catalog/manual-index.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Assignment, PlanNode} from '#server/plan/node.ts';
import {listLength} from '#server/plan/written-list.ts';
import type * as Ast from './ast.ts';
import {
  type BindContext,
  literal,
  makeScope,
  operator,
  property,
  type Scope,
  slotOf,
  withNames,
  type Source,
} from './bind-context.ts';
import {mapOfColumns} from './bind-expression.ts';

type IndexTarget = Extract<Ast.Target, {kind: 'index-target'}>;

/** The index that a target names, if that is filled by hand. */
export function manualIndexAt(
  context: BindContext,
  target: Ast.Target | undefined,
): IndexDefinition | undefined {
  if (target?.kind !== 'index-target' || target.form !== 'index') return undefined;
  const index = context.located(target.at, () => context.catalog.requireIndex(target.name));
  return index.manual === true ? index : undefined;
}

/** Entries as rows {key, rid}: in order of the keys, or those that a condition holds for. */
export function bindManualEntries(
  context: BindContext,
  index: IndexDefinition,
  parent: Scope | undefined,
): Source {
  const {name, properties, kind} = index;
  const slot = context.newSlot();
  const scan: PlanNode = {
    kind: 'scan-type',
    type: name,
    polymorphic: true,
    slot,
    descending: false,
  };
  const inOrder: PlanNode = {
    kind: 'index-range',
    index: name,
    from: undefined,
    to: undefined,
    descending: false,
    slot,
  };
  const parts = properties.map(part => property(slotOf(slot), part.name));
  const key: Expression = {kind: 'list', items: parts};
  const columns = [
    {name: 'key', value: key},
    {name: 'rid', value: property(slotOf(slot), entryRid)},
  ];
  const names = new Map(columns.map(column => [column.name, column.value]));
  const scope = makeScope(mapOfColumns(columns), parent, {names, closed: true});
  return {
    plan: kind === 'ordered' ? inOrder : scan,
    scope,
    shape: {kind: 'columns', columns},
    conditions: withNames(scope, [['key', comparedKey(parts, key)]]),
    where: condition => ({kind: 'filter', input: scan, condition: byParts(condition, key, parts)}),
  };
}

/** Entries as the records that they are, for a statement that removes them. */
export function bindManualRecords(
  context: BindContext,
  {name, properties}: IndexDefinition,
  parent: Scope | undefined,
): Source {
  const slot = context.newSlot();
  const plan: PlanNode = {
    kind: 'scan-type',
    type: name,
    polymorphic: true,
    slot,
    descending: false,
  };
  const parts = properties.map(part => property(slotOf(slot), part.name));
  const key: Expression = {kind: 'list', items: parts};
  const names = new Map([['key', comparedKey(parts, key)]]);
  return {
    plan,
    scope: makeScope(slotOf(slot), parent, {names}),
    shape: {kind: 'element', slot},
    where: condition => ({kind: 'filter', input: plan, condition: byParts(condition, key, parts)}),
  };
}

/** The key of one part is a list of one value; a condition means that value. */
function comparedKey(parts: readonly Expression[], key: Expression): Expression {
  const [first = key, ...more] = parts;
  return more.length === 0 ? first : key;
}

/** Where a key is equal to something, its parts are equal to the items, which an index finds. */
function byParts(condition: Expression, key: Expression, parts: readonly Expression[]): Expression {
  const terms = condition.kind === 'and' ? condition.terms : [condition];
  const more = terms.flatMap(term => {
    if (term.kind !== 'call' || term.name !== 'op:equal' || term.args[0] !== key) return [];
    const value = term.args[1] ?? literal(null);
    return parts.map((part, at) => operator('equal', part, operator('item', value, literal(at))));
  });
  const [first = condition, ...others] = [...terms, ...more];
  return others.length === 0 ? first : {kind: 'and', terms: [first, ...others]};
}

/** What `SET key = ..` and `(key, rid) VALUES ..` assign: each part gets its item of the key. */
export function assignedParts(
  context: BindContext,
  target: IndexTarget,
  {name, properties}: IndexDefinition,
  assignments: readonly Assignment[],
): readonly Assignment[] {
  if (properties.length === 1) return assignments;
  return assignments.flatMap((assignment): readonly Assignment[] => {
    if (assignment.kind !== 'set') {
      return context.refuse(target.at, `An entry of '${name}' is given by SET or VALUES`);
    }
    if (assignment.name !== 'key') return [assignment];
    const {value} = assignment;
    const given = listLength(value);
    if (given !== undefined && given !== properties.length) {
      const text = `A key of '${name}' is a list of ${properties.length} values`;
      return context.refuse(target.at, text);
    }
    return properties.map((part, at) => {
      return {kind: 'set', name: part.name, value: operator('item', value, literal(at))};
    });
  });
}
