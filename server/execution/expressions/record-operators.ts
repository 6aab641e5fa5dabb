/**
 * Operators about records, paths, types of values and what properties can hold, as
 * `plan/functions/operators.ts` lists them among those without conversions.
 */
import {Refusal} from '#server/base/errors.ts';
import {rootType} from '#server/model/labels.ts';
import {isIntegerValue, isNumberValue, numberOf} from '#server/model/number.ts';
import {pointParts} from '#server/model/point.ts';
import {isListValue} from '#server/model/compare.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  EmbeddedValue,
  PathValue,
  PointValue,
  RecordValue,
  Rid,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import type {CallContext} from '../context.ts';
import type {Graph} from '../graph.ts';
import {mapOf, propertyOf} from './access.ts';
import {describe, plainText} from './arithmetic.ts';
import {itemsOfList, typeError} from './strict-operators.ts';
import {isTemporal, temporalPart} from './temporal-parts.ts';

type Binary = (left: Value, right: Value, call: CallContext) => Value;
type Variadic = (args: readonly Value[], call: CallContext) => Value;

function field(value: Value, name: string, graph: Graph): Value {
  if (value instanceof RecordValue || value instanceof Rid)
    return propertyOf(value, name, graph) ?? null;
  if (value instanceof Map || value instanceof EmbeddedValue) {
    return propertyOf(value, name, graph) ?? null;
  }
  if (isTemporal(value)) return temporalPart(value, name);
  if (value instanceof PointValue) return pointParts(value).get(name) ?? null;
  throw typeError(`${describe(value)} has no property '${name}'`);
}

function at(value: Value, key: Value, graph: Graph): Value {
  const items = itemsOfList(value);
  if (items !== undefined) {
    if (!isIntegerValue(key)) {
      throw typeError(`${describe(key)} is no position in a list`, 'ListElementAccessByNonInteger');
    }
    return items.at(Number(key)) ?? null;
  }
  if (value instanceof Map || value instanceof RecordValue || value instanceof Rid) {
    if (typeof key !== 'string') {
      throw typeError(`${describe(key)} is no name of a property`, 'MapElementAccessByNonString');
    }
    return propertyOf(value, key, graph) ?? null;
  }
  throw typeError(`${describe(value)} has no items`);
}

/** Vertices and edges in turn; a list of edges brings the vertices between them along. */
function pathOf(parts: readonly Value[], graph: Graph): Value {
  const elements: (Rid | RecordValue)[] = [];
  for (const part of parts) {
    if (part === null) return null;
    const edges = itemsOfList(part);
    if (edges === undefined) addElement(part, elements);
    else for (const edge of edges) addEdge(edge, elements, graph);
  }
  return new PathValue(elements);
}

/** The vertex at the end of a list of edges is there already when its own part comes. */
function addElement(part: Value, elements: (Rid | RecordValue)[]): void {
  if (!(part instanceof Rid) && !(part instanceof RecordValue)) {
    throw typeError(`${describe(part)} is no part of a path`);
  }
  const last = elements.at(-1);
  const isVertexAgain = elements.length % 2 === 1 && last !== undefined && sameId(last, part);
  const isEdge = part instanceof RecordValue && part.kind === 'edge';
  if (isVertexAgain && !isEdge) elements[elements.length - 1] = part;
  else elements.push(part);
}

function addEdge(edge: Value, elements: (Rid | RecordValue)[], graph: Graph): void {
  const record = edge instanceof Rid ? graph.record(edge) : edge;
  const from = elements.at(-1);
  if (!(record instanceof RecordValue) || from === undefined) {
    throw typeError('a path goes over edges');
  }
  const isForward = record.from !== undefined && sameId(from, record.from);
  const other = isForward ? record.to : record.from;
  elements.push(record);
  if (other !== undefined) elements.push(graph.record(other) ?? other);
}

function idOf(value: Rid | RecordValue): Rid {
  return value instanceof Rid ? value : value.rid;
}

function sameId(left: Rid | RecordValue, right: Rid | RecordValue): boolean {
  const [a, b] = [idOf(left), idOf(right)];
  return a.bucket === b.bucket && a.position === b.position;
}

function ofType(value: Value, name: Value, graph: Graph): Value {
  const record = value instanceof Rid ? graph.record(value) : value;
  if (!(record instanceof RecordValue) || typeof name !== 'string') {
    throw typeError(`${describe(value)} has no labels`);
  }
  if (name === '') return record.typeName === rootType;
  return record.typeName === name || graph.isSubtype(record.typeName, name);
}

function areDisjoint(left: Value, right: Value): Value {
  const leftItems = itemsOfList(left) ?? [left];
  const rightItems = itemsOfList(right) ?? [right];
  const ids = new Set(leftItems.map(idText));
  return !rightItems.some(item => ids.has(idText(item)));
}

function idText(value: Value): string {
  if (!(value instanceof Rid) && !(value instanceof RecordValue)) return '';
  const {bucket, position} = idOf(value);
  return `${bucket}:${position}`;
}

function isRecord(value: Value): value is Rid | RecordValue {
  return value instanceof Rid || value instanceof RecordValue;
}

function existing(value: Value, graph: Graph): Value {
  if (!isRecord(value)) return value;
  const record = graph.record(idOf(value));
  if (record !== undefined) return record;
  throw new Refusal('query.execution', 'the record was deleted by this statement', {
    detail: {type: 'EntityNotFound', reason: 'DeletedEntityAccess'},
  });
}

function endpoint(value: Value): Value {
  if (isRecord(value)) return value;
  throw typeError(`an edge needs two vertices, not ${describe(value)}`, 'InvalidArgumentValue');
}

/** Maps and records cannot be a property's value, nor can a list that has one. */
function storable(value: Value): Value {
  const items = isListValue(value) ? itemsOfList(value) : undefined;
  const parts = items ?? [value];
  if (parts.some(part => part instanceof Map || isRecord(part) || part instanceof PathValue)) {
    throw typeError(`a property cannot hold ${describe(value)}`, 'InvalidPropertyType');
  }
  return value;
}

function notNull(value: Value, name: Value): Value {
  if (value !== null) return value;
  throw new Refusal('query.execution', `MERGE cannot search for null in '${plainText(name)}'`, {
    detail: {type: 'SemanticError', reason: 'MergeReadOwnWrites'},
  });
}

export function typeNameOf(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'boolean') return 'BOOLEAN';
  if (typeof value === 'string') return 'STRING';
  if (isIntegerValue(value)) return 'INTEGER';
  if (isNumberValue(value)) return 'FLOAT';
  if (isListValue(value)) return 'LIST';
  if (value instanceof PathValue) return 'PATH';
  if (value instanceof PointValue) return 'POINT';
  if (value instanceof DateValue) return 'DATE';
  if (value instanceof DurationValue) return 'DURATION';
  if (value instanceof DateTimeValue) return value.local ? 'LOCAL DATETIME' : 'ZONED DATETIME';
  if (value instanceof TimeValue)
    return value.offsetSeconds === undefined ? 'LOCAL TIME' : 'ZONED TIME';
  if (value instanceof RecordValue) return value.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
  return value instanceof Map ? 'MAP' : 'ANY';
}

/** @throws {Refusal} `query.execution` when the value is none of the type. */
function typed(value: Value, type: Value, notNull: Value): Value {
  const isOfType = value === null ? notNull !== true : type === 'ANY' || typeNameOf(value) === type;
  if (isOfType) return value;
  const wanted = `${plainText(type)}${notNull === true ? ' NOT NULL' : ''}`;
  throw typeError(`a value of the type ${wanted} is needed, not ${describe(value)}`);
}

function content(value: Value, graph: Graph): Value {
  const map = value === null ? undefined : mapOf(value, graph);
  if (map === undefined) throw typeError(`a map or record is needed, not ${describe(value)}`);
  for (const property of map.values()) storable(property);
  return map;
}

function withoutNulls(value: Value): Value {
  if (!(value instanceof Map)) throw typeError(`a map is needed, not ${describe(value)}`);
  return new Map([...value].filter(([, property]) => storable(property) !== null));
}

function rowCount(value: Value, word: Value): Value {
  const refuse = (reason: string, what: string): Refusal =>
    new Refusal('query.execution', `${plainText(word)} ${what}`, {
      detail: {type: 'SyntaxError', reason},
    });
  if (!isIntegerValue(value)) throw refuse('InvalidArgumentType', 'needs an integer');
  if (numberOf(value) < 0) throw refuse('NegativeIntegerArgument', 'cannot be negative');
  return value;
}

function entry(key: Value, value: Value): Value {
  if (typeof key === 'string') return new Map([[key, value]]);
  throw typeError(`${describe(key)} is no name of a property`, 'MapElementAccessByNonString');
}

export const recordUnary: Readonly<Record<string, (value: Value) => Value>> = {
  'op:storable': storable,
};

export const recordBinary: Readonly<Record<string, Binary>> = {
  'op:field': (value, name, call) => field(value, plainText(name), call.graph),
  'op:at': (value, key, call) => at(value, key, call.graph),
  'op:ofType': (value, name, call) => ofType(value, name, call.graph),
  'op:disjoint': areDisjoint,
  'op:notNull': notNull,
  'op:entry': entry,
  'op:rowCount': rowCount,
};

export const recordVariadic: Readonly<Record<string, Variadic>> = {
  'op:path': (parts, call) => pathOf(parts, call.graph),
  'op:current': ([value = null], call) =>
    isRecord(value) ? (call.graph.record(idOf(value)) ?? value) : value,
  'op:existing': ([value = null], call) => existing(value, call.graph),
  'op:endpoint': ([value = null]) => endpoint(value),
  'op:content': ([value = null], call) => content(value, call.graph),
  'op:typed': ([value = null, type = null, notNull = null]) => typed(value, type, notNull),
  'op:withoutNulls': ([value = null]) => withoutNulls(value),
};
