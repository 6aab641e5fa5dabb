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

export function isIn(value: Value, list: Value): boolean {
  if (list instanceof Map) return [...list.values()].some(item => areEqual(item, value));
  return hasItem(asItems(list), value);
}

function hasItem(items: ListValue, value: Value): boolean {
  for (const item of items) {
    if (item !== null && areEqual(item, value)) return true;
  }
  return false;
}

/** As `isIn`, prepared for a list that many values are looked for in. */
export function membershipTest(list: Value): (value: Value) => boolean {
  const items = asItems(list);
  if (items.length <= scanLengthMax || list instanceof Map) return value => isIn(value, list);
  const keys = new Set(items.map(groupKey));
  const classes = new Set(items.map(item => classify(item).of));
  return value => {
    if (keys.has(groupKey(value))) return value !== null;
    const {of} = classify(value);
    // Only values of different classes can be equal without having the same key.
    return (classes.size > 1 || !classes.has(of)) && hasItem(items, value);
  };
}

export function contains(container: Value, value: Value): boolean {
  if (container instanceof Map) {
    return typeof value === 'string' && container.has(value);
  }
  return hasItem(asItems(container), value);
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
