/**
 * Reading out of values: properties, attributes, items and slices.
 *
 * What is not there reads as null; only `isDefined` tells a missing property from a null one.
 * An id stands for its record wherever a property is asked of it.
 */
import {isListValue, isNumberArray, listOfArray} from '#server/model/compare.ts';
import {isIntegerValue, isNumberValue, numberOf} from '#server/model/number.ts';
import {
  EmbeddedValue,
  type ListValue,
  type MapValue,
  PathValue,
  RecordValue,
  Rid,
  type Value,
} from '#server/model/value.ts';
import {unreachable} from '#server/base/assert.ts';
import type {Attribute} from '#server/plan/expression.ts';
import {NeighbourRecord} from '../functions/neighbour-records.ts';
import type {Graph} from '../graph.ts';

const categories = {vertex: 'v', edge: 'e', document: 'd'} as const;

/** The items of a list, number array or path; undefined for anything else. */
export function itemsOf(value: Value): ListValue | undefined {
  if (Array.isArray(value)) return value;
  if (isNumberArray(value)) return listOfArray(value);
  if (value instanceof PathValue) return value.elements;
  return undefined;
}

/** A list as it is, null as no item, anything else as one item. */
export function asItems(value: Value): ListValue {
  return itemsOf(value) ?? (value === null ? [] : [value]);
}

/** The properties of a record, embedded document or map; undefined for anything else. */
export function mapOf(value: Value, graph: Graph): MapValue | undefined {
  if (value instanceof Map) return value;
  if (value instanceof EmbeddedValue) return value.properties;
  const record = value instanceof Rid ? graph.record(value) : value;
  return record instanceof RecordValue ? propertiesOf(record) : undefined;
}

export function propertiesOf(record: RecordValue): MapValue {
  return record.properties();
}

/** A property; undefined when there is no such thing. */
export function propertyOf(value: Value, name: string, graph: Graph): Value | undefined {
  if (value instanceof RecordValue) return value.get(name);
  if (value instanceof Map) return value.get(name);
  if (value instanceof EmbeddedValue) return value.properties.get(name);
  if (value instanceof Rid) return graph.record(value)?.get(name);
  return undefined;
}

/** Works like `propertyOf`, over a list the list of its items' properties. */
export function propertyOfEach(value: Value, name: string, graph: Graph): Value {
  const items = itemsOf(value);
  if (items !== undefined) return items.map(item => propertyOfEach(item, name, graph));
  return propertyOf(value, name, graph) ?? null;
}

export function attributeOf(value: Value, attribute: Attribute, graph: Graph): Value {
  if (value === null) return null;
  if (attribute === 'this') return recordItself(value, graph);
  if (attribute === 'properties') return mapOf(value, graph) ?? null;
  const items = itemsOf(value);
  if (items !== undefined) return items.map(item => attributeOf(item, attribute, graph));
  if (value instanceof Rid) {
    if (attribute === 'rid') return value;
    if (attribute === 'rid-bucket') return value.bucket;
    if (attribute === 'rid-position') return value.position;
    return recordAttribute(graph.record(value), attribute);
  }
  if (value instanceof RecordValue) return recordAttribute(value, attribute);
  if (value instanceof EmbeddedValue && attribute === 'type') return value.typeName;
  if (value instanceof Map)
    return value.get(`@${attribute === 'category' ? 'cat' : attribute}`) ?? null;
  return null;
}

/** The record of an id; of a neighbour that is not loaded yet the stored record. */
function recordItself(value: Value, graph: Graph): Value {
  if (value instanceof Rid) return graph.record(value) ?? null;
  return value instanceof NeighbourRecord ? (value.stored ?? value) : value;
}

function recordAttribute(
  record: RecordValue | undefined,
  attribute: Exclude<Attribute, 'this' | 'properties'>,
): Value {
  if (record === undefined) return null;
  switch (attribute) {
    case 'rid':
      return record.rid;
    case 'rid-bucket':
      return record.rid.bucket;
    case 'rid-position':
      return record.rid.position;
    case 'type':
      return record.typeName;
    case 'category':
      return categories[record.kind];
    case 'out':
      return record.from ?? null;
    case 'in':
      return record.to ?? null;
    default:
      return unreachable(attribute);
  }
}

const attributes: Readonly<Record<string, Attribute>> = {
  '@rid': 'rid',
  '@type': 'type',
  '@cat': 'category',
  '@out': 'out',
  '@in': 'in',
  '@this': 'this',
  '@props': 'properties',
};

/** `value[key]`: a list by position (from 0, none below), what has properties by name. */
export function itemOf(value: Value, key: Value, graph: Graph): Value {
  if (value === null || key === null) return null;
  if (isNumberValue(key)) {
    const at = numberOf(key);
    const items = itemsOf(value);
    if (items !== undefined) return items[at] ?? null;
    return mapOf(value, graph)?.get(String(at)) ?? null;
  }
  if (typeof key !== 'string') return null;
  const attribute = attributes[key];
  if (attribute !== undefined && !(value instanceof Map))
    return attributeOf(value, attribute, graph);
  return propertyOfEach(value, key, graph);
}

/** Items (or characters) from `from` up to before `to`; null bounds mean the ends. */
export function sliceOf(value: Value, from: Value, to: Value): Value {
  if (value === null) return null;
  const start = isIntegerValue(from) ? Math.max(Number(from), 0) : 0;
  const end = isIntegerValue(to) ? Math.max(Number(to), 0) : undefined;
  if (typeof value === 'string') return value.slice(start, end);
  const items = itemsOf(value);
  return items === undefined ? null : items.slice(start, end);
}

/** Whether a map or record has the property, be it null. */
export function isDefined(value: Value, name: string, graph: Graph): boolean {
  return propertyOf(value, name, graph) !== undefined;
}

/** Whether the value is a list of any kind. */
export function isList(value: Value): boolean {
  return isListValue(value);
}
