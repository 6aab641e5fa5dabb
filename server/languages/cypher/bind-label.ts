/** Labels and relationship types: tests of a record, and the types that a pattern names. */
import type {Expression} from '#server/plan/expression.ts';
import type {LabelExpression, Name} from './ast.ts';
import {type BindContext, literal, operator} from './bind-context.ts';

/** Whether the value has the labels (or the type); null of null. */
export function labelTest(value: Expression, labels: LabelExpression): Expression {
  switch (labels.kind) {
    case 'label':
      return operator('ofType', value, literal(labels.name.text));
    case 'and':
    case 'or':
      return {kind: labels.kind, terms: labels.terms.map(term => labelTest(value, term))};
    case 'not':
      return {kind: 'not', of: labelTest(value, labels.of)};
    default:
      return {kind: 'not', of: operator('ofType', value, literal(''))};
  }
}

/** The names of a plain conjunction of labels; undefined for anything else. */
export function plainLabels(labels: LabelExpression | undefined): readonly Name[] | undefined {
  if (labels === undefined) return [];
  if (labels.kind === 'label') return [labels.name];
  if (labels.kind !== 'and') return undefined;
  const names = labels.terms.map(plainLabels);
  return names.includes(undefined) ? undefined : names.flatMap(list => list ?? []);
}

/** The names of a plain choice of types; undefined for anything else. */
export function plainTypes(types: LabelExpression | undefined): readonly Name[] | undefined {
  if (types === undefined) return [];
  if (types.kind === 'label') return [types.name];
  if (types.kind !== 'or') return undefined;
  const names = types.terms.map(plainTypes);
  return names.includes(undefined) ? undefined : names.flatMap(list => list ?? []);
}

/** Those of the names that are types of edges; undefined when names are given and none is. */
export function edgeTypes(
  context: BindContext,
  names: readonly Name[],
): readonly string[] | undefined {
  if (names.length === 0) return [];
  const known = names
    .map(name => name.text)
    .filter(name => context.catalog.type(name)?.kind === 'edge');
  return known.length === 0 ? undefined : known;
}
