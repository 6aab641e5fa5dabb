/**
 * Lists that are written out in a statement: of parts, or a value where every part is one.
 *
 * A list of thousands of values is one literal, which no walk through a plan looks into. Ids stay
 * parts: they stand for their records, which is asked where the list is used.
 */
import {Rid, type Value} from '#server/model/value.ts';
import type {Expression} from './expression.ts';

export function listOf(items: readonly Expression[]): Expression {
  const values: Value[] = [];
  for (const item of items) {
    if (item.kind !== 'literal' || item.value instanceof Rid) return {kind: 'list', items};
    values.push(item.value);
  }
  return {kind: 'literal', value: values};
}

/** Undefined: not written out. */
export function listLength(list: Expression): number | undefined {
  if (list.kind === 'list') return list.items.length;
  return list.kind === 'literal' && Array.isArray(list.value) ? list.value.length : undefined;
}

/** The items of a list that is written out, no more than `itemsMax` of them. */
export function listItems(list: Expression, itemsMax: number): readonly Expression[] | undefined {
  if (list.kind === 'list') return list.items.slice(0, itemsMax);
  if (list.kind !== 'literal' || !Array.isArray(list.value)) return undefined;
  const values: readonly Value[] = list.value.slice(0, itemsMax);
  return values.map(value => ({kind: 'literal', value}));
}
