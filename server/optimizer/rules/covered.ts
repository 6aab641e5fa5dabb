/**
 * Reads properties from an index's keys where nothing else is asked of the records.
 *
 * Keys of texts, booleans and whole numbers hold the values as they are; of other numbers they tell
 * equal ones not apart (1.10 and 1.1), so those are fetched. All uses of the record in the whole
 * statement must be plain properties that are parts of the index.
 */
import type {IndexDefinition as Index} from '#server/catalog/definition.ts';
import {isWholeNumberType} from '#server/model/data-type.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import {mapExpressions} from '#server/plan/map-expressions.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {expressionsOf, mapInputs, mapParts, partsOf, visitPlan} from '#server/plan/tree.ts';
import type {Rule, RuleContext} from '../rule.ts';
import {rowPreservingInput} from '../row-preserving-path.ts';

type Range = PlanNode & {readonly kind: 'index-range'};

export const covered: Rule = {
  name: 'covered',
  about: ['index-range'],
  rewrite(plan, context) {
    const range = sourceOf(plan);
    if (range === undefined) return plan;
    const used = propertyUses(plan, range.slot);
    // Every other way to read the slot counts as a read of its own.
    if (context.slots.reads.get(range.slot) !== used.count) return plan;
    const parts = partSlots(range, used.names, context);
    return parts === undefined ? plan : withParts(plan, range, parts, context);
  },
};

/** The index at the end of the one way down along which rows come: nobody else binds its slot. */
function sourceOf(node: PlanNode): Range | undefined {
  if (node.kind === 'index-range') return node.parts === undefined ? node : undefined;
  const input = rowPreservingInput(node) ?? ('input' in node ? node.input : undefined);
  return input && sourceOf(input);
}

interface Uses {
  count: number;
  readonly names: Set<string>;
}

/** The properties that are read of a slot, and how often in all. */
function propertyUses(plan: PlanNode, slot: Slot): Uses {
  const uses: Uses = {count: 0, names: new Set()};
  const inExpression = (expression: Expression): void => {
    if (isPropertyOf(expression, slot)) {
      uses.count += 1;
      uses.names.add(expression.name);
    }
    if (expression.kind === 'subplan') inPlan(expression.plan);
    for (const part of partsOf(expression)) inExpression(part);
  };
  const inPlan = (whole: PlanNode): void => {
    visitPlan(whole, node => {
      for (const expression of expressionsOf(node)) inExpression(expression);
    });
  };
  inPlan(plan);
  return uses;
}

function isPropertyOf(
  expression: Expression,
  slot: Slot,
): expression is Expression & {readonly kind: 'property'} {
  if (expression.kind !== 'property' || expression.of.kind !== 'slot') return false;
  return expression.of.slot === slot;
}

/** A slot for each part that is read; undefined when a property is no part, or none to be read. */
function partSlots(
  range: Range,
  names: ReadonlySet<string>,
  context: RuleContext,
): readonly (Slot | undefined)[] | undefined {
  const {catalog} = context;
  const index = catalog.requireIndex(range.index);
  if (index.properties.some(({by, ignoreCase}) => by !== undefined || ignoreCase)) return undefined;
  const parts = index.properties.map(({name}) => name);
  const isRead = [...names].every(name => parts.includes(name) && isWhole(index, name, catalog));
  return isRead && names.size > 0
    ? parts.map(name => (names.has(name) ? context.newSlot() : undefined))
    : undefined;
}

/** Whether every record under the index has values that its key holds as they are. */
function isWhole(index: Index, name: string, catalog: RuleContext['catalog']): boolean {
  const family = catalog.typeById(index.typeId)?.family ?? [];
  const types = new Set(family.map(type => type.properties.get(name)?.type));
  const [type] = types;
  return types.size === 1 && (type === 'STRING' || type === 'BOOLEAN' || isWholeNumberType(type));
}

function withParts(
  plan: PlanNode,
  range: Range,
  parts: readonly (Slot | undefined)[],
  {catalog}: RuleContext,
): PlanNode {
  const names = catalog.requireIndex(range.index).properties.map(({name}) => name);
  const inExpression = (expression: Expression): Expression => {
    if (isPropertyOf(expression, range.slot)) {
      const slot = parts[names.indexOf(expression.name)];
      if (slot !== undefined) return {kind: 'slot', slot};
    }
    return mapParts(expression, inExpression, inPlan);
  };
  const inPlan = (node: PlanNode): PlanNode => {
    if (node === range) return {...range, parts};
    return mapExpressions(mapInputs(node, inPlan), inExpression);
  };
  return inPlan(plan);
}
