/**
 * Membership: IN, CONTAINS and their relatives, LIKE on lists, INSTANCEOF.
 *
 * Items are equal as `areEqual` says. A single value counts as a list of one.
 */
import {classify, groupKey} from '#server/model/compare.ts';
import {EmbeddedValue, type ListValue, RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {Graph} from '../graph.ts';
import {asItems, itemsOf, mapOf} from './access.ts';
import {areEqual} from './comparison.ts';

/** Lists longer than this are looked up by hash. */
const scanLengthMax = 8;

/** What an expression answers that may be unknown. */
export type Truth = boolean | null;

/**
 * Three-valued: of an unknown value, or beside an unknown item, it is unknown whether the list has
 * it, unless an item is the value or there are no items at all.
 */
export function isIn(value: Value, list: Value): Truth {
  return list === null ? null : memberTest(list)(value);
}

/** Works like `isIn`, prepared for a list that many values are looked for in. */
export function memberTest(list: Value): (value: Value) => Truth {
  const items = list instanceof Map ? [...list.values()] : asItems(list);
  const ofUnknown = items.length === 0 ? false : null;
  const otherwise = items.includes(null) ? null : false;
  const has = itemTest(items);
  return value => (value === null ? ofUnknown : has(value) || otherwise);
}

function hasItem(items: ListValue, value: Value): boolean {
  for (const item of items) {
    if (item !== null && areEqual(item, value)) return true;
  }
  return false;
}

/** Whether an item is the value, which is not null; prepared for many values. */
function itemTest(items: ListValue): (value: Value) => boolean {
  if (items.length <= scanLengthMax) return value => hasItem(items, value);
  const keys = new Set(items.map(groupKey));
  const classes = new Set(items.map(item => classify(item).of));
  return value => {
    if (keys.has(groupKey(value))) return true;
    const {of} = classify(value);
    // Only values of different classes can be equal without having the same key.
    return (classes.size > 1 || !classes.has(of)) && hasItem(items, value);
  };
}

/** Two-valued: null is an item like another, and as a container it has none. */
export function contains(container: Value, value: Value): boolean {
  return containsTest(container)(value);
}

/** Works like `contains`, prepared for a container that many values are looked for in. */
export function containsTest(container: Value): (value: Value) => boolean {
  if (container === null) return () => false;
  if (container instanceof Map) return value => typeof value === 'string' && container.has(value);
  const items = asItems(container);
  const has = itemTest(items);
  return value => (value === null ? items.includes(null) : has(value));
}

export function containsAll(container: Value, values: Value): boolean {
  const items = asItems(container);
  return asItems(values).every(value => hasItem(items, value));
}

export function containsAny(container: Value, values: Value): boolean {
  const items = asItems(container);
  return asItems(values).some(value => hasItem(items, value));
}

export function containsKey(container: Value, key: Value, graph: Graph): boolean {
  return typeof key === 'string' && mapOf(container, graph)?.has(key) === true;
}

export function containsValue(container: Value, value: Value, graph: Graph): boolean {
  const map = mapOf(container, graph);
  if (map === undefined) return hasItem(asItems(container), value);
  for (const item of map.values()) {
    if (item !== null && areEqual(item, value)) return true;
  }
  return false;
}

export function containsText(container: Value, text: Value): boolean {
  if (typeof text !== 'string') return false;
  if (typeof container === 'string') return container.includes(text);
  return itemsOf(container)?.some(item => typeof item === 'string' && item.includes(text)) ?? false;
}

export function instanceOf(value: Value, type: Value, graph: Graph): boolean {
  if (typeof type !== 'string') return false;
  const known = value instanceof Rid ? graph.record(value) : value;
  if (!(known instanceof RecordValue) && !(known instanceof EmbeddedValue)) return false;
  return graph.isSubtype(known.typeName, type);
}
