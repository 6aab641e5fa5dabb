/** What the nodes and relationships of a pattern must be, as terms of a condition. */
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {NodePattern, RelationshipPattern} from './ast.ts';
import {
  type BindContext,
  conjunction,
  literal,
  operator,
  type Scope,
  slotOf,
  type Variable,
  withVariables,
} from './bind-context.ts';
import {bindCondition, bindExpression} from './bind-expression.ts';
import {labelTest, labelTests, plainTypes} from './bind-label.ts';

/** The properties that stand in braces. @throws {Refusal} for a parameter in their place. */
export function propertyTerms(
  context: BindContext,
  scope: Scope,
  {properties}: Pick<NodePattern, 'properties'>,
  value: Expression,
): readonly Expression[] {
  if (properties === undefined) return [];
  if (properties.kind === 'parameter') {
    return context.refuse(
      properties.at,
      'InvalidParameterUse',
      'a parameter cannot stand for the properties of a pattern that is searched',
    );
  }
  return properties.entries.map(entry =>
    operator(
      'same',
      {kind: 'property', of: value, name: entry.key.text, each: false},
      bindExpression(context, {...scope, allowsPatterns: false}, entry.value),
    ),
  );
}

/** The condition that stands behind WHERE inside the pattern. */
export function whereTerms(
  context: BindContext,
  scope: Scope,
  {where}: Pick<NodePattern, 'where'>,
): readonly Expression[] {
  return where === undefined ? [] : [bindExpression(context, scope, where)];
}

/**
 * What a node must be: its labels, its properties, its condition.
 *
 * @param known - A label that every record in the slot has.
 */
export function nodeTerms(
  context: BindContext,
  scope: Scope,
  node: NodePattern,
  slot: Slot,
  known?: string,
): readonly Expression[] {
  const value = slotOf(slot);
  return [
    ...(node.labels === undefined ? [] : labelTests(value, node.labels, known)),
    ...propertyTerms(context, scope, node, value),
    ...whereTerms(context, scope, node),
  ];
}

/** What every relationship of a path must be; in its condition the name stands for the one. */
export function stepCondition(
  context: BindContext,
  scope: Scope,
  relationship: RelationshipPattern,
  edge: Slot,
  isNone: boolean,
): Expression | undefined {
  const {name, types, where} = relationship;
  const value = slotOf(edge);
  const terms: Expression[] = isNone ? [literal(false)] : [];
  if (types !== undefined && plainTypes(types) === undefined) terms.push(labelTest(value, types));
  terms.push(...propertyTerms(context, scope, relationship, value));
  if (where !== undefined) {
    const named: readonly (readonly [string, Variable])[] =
      name === undefined ? [] : [[name.text, {slot: edge, kind: 'relationship'}]];
    terms.push(bindCondition(context, withVariables(scope, named), where));
  }
  return conjunction(terms);
}
