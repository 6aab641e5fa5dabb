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

/** Works like `labelTest`, without the label that every value is known to have. */
export function labelTests(
  value: Expression,
  labels: LabelExpression,
  known: string | undefined,
): readonly Expression[] {
  if (labels.kind === 'label' && labels.name.text === known) return [];
  if (labels.kind === 'and') return labels.terms.flatMap(term => labelTests(value, term, known));
  return [labelTest(value, labels)];
}

/** The type whose records are scanned for a node: that of its first label, when there is one. */
export function scannedLabel(
  {catalog}: BindContext,
  {labels}: {readonly labels: LabelExpression | undefined},
): string | undefined {
  const first = plainLabels(labels)?.[0]?.text;
  const type = first === undefined ? undefined : catalog.type(first);
  return type?.kind === 'vertex' && type.name === first ? type.name : undefined;
}

/** Whether one relationship can be of both choices of types; subtypes count. */
export function mayShare(
  {catalog}: BindContext,
  left: readonly string[] | undefined,
  right: readonly string[] | undefined,
): boolean {
  if (left === undefined || right === undefined) return false;
  if (left.length === 0 || right.length === 0) return true;
  const family = new Set(left.flatMap(name => catalog.type(name)?.family ?? []));
  return right.some(name => catalog.type(name)?.family.some(type => family.has(type)) ?? true);
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

/** The edge types of a plain choice, [] for any; undefined when none of the names is one. */
export function relationshipTypes(
  {catalog}: BindContext,
  types: LabelExpression | undefined,
): readonly string[] | undefined {
  const names = plainTypes(types) ?? [];
  const known = names.map(name => name.text).filter(name => catalog.type(name)?.kind === 'edge');
  return known.length === 0 && names.length > 0 ? undefined : known;
}
