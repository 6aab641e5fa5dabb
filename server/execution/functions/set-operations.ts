/**
 * Lists as sets: equal values count as one, the order of the first list is kept.
 */
import {groupKey} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import {distinctItems} from './arguments.ts';

function keysOf(items: readonly Value[]): Set<string | number> {
  return new Set(items.map(groupKey));
}

/** The different items that both lists have. */
export function intersection(left: readonly Value[], right: readonly Value[]): Value[] {
  const keys = keysOf(right);
  return distinctItems(left.filter(item => keys.has(groupKey(item))));
}

/** The items of the left list that the right one lacks, duplicates kept. */
export function difference(left: readonly Value[], right: readonly Value[]): Value[] {
  const keys = keysOf(right);
  return left.filter(item => !keys.has(groupKey(item)));
}

/** The different items that exactly one of the lists has. */
export function symmetricDifference(left: readonly Value[], right: readonly Value[]): Value[] {
  return distinctItems([...difference(left, right), ...difference(right, left)]);
}
