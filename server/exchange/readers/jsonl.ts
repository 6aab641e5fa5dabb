/**
 * JSON Lines: what `export` writes, exports of ArcadeDB and of Neo4j by APOC, lines of the bulk
 * route, and plain objects.
 *
 * Each line says by its fields what it is, so that a reader is chosen line by line.
 * Source: docs/import-export.md; APOC export of JSON lines (`type`, `id`, `labels`, `properties`,
 * `start`, `end`).
 */
import {typeOfLabels} from '#server/model/labels.ts';
import type {MapValue, RecordKind, Value} from '#server/model/value.ts';
import {badItem, type ExchangedItem, malformed} from '../exchanged-record.ts';
import {idOf} from '../ids.ts';
import type {ImportOptions} from '../import-options.ts';
import {jsonIn} from '../json-text.ts';
import {linesOf} from '../lines.ts';
import {plainRecord} from '../plain-record.ts';
import {fromTypedJson} from '../typed-json.ts';
import {ArcadeLines, isArcadeLine} from './arcade.ts';

export async function* readJsonLines(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const arcade = new ArcadeLines();
  let place = 0;
  for await (const line of linesOf(bytes)) {
    place += 1;
    if (line.trim() === '') continue;
    yield* itemsIn(line, options, place, arcade);
  }
  yield* arcade.end();
}

function* itemsIn(
  line: string,
  options: ImportOptions,
  place: number,
  arcade: ArcadeLines,
): Generator<ExchangedItem> {
  try {
    const object = objectIn(line, place);
    if (isArcadeLine(object)) {
      yield* arcade.itemsOf(object, place);
      return;
    }
    const item = itemOf(object, options, place);
    if (item !== undefined) yield item;
  } catch (error) {
    yield badItem(error, place);
  }
}

export function objectIn(line: string, place: number): MapValue {
  const value = jsonIn(line, place);
  if (value instanceof Map) return value as MapValue;
  throw malformed(place, 'it is no object');
}

/** One object, whatever of the known forms it has; undefined for a line that says nothing. */
export function itemOf(
  object: MapValue,
  options: ImportOptions,
  place: number,
): ExchangedItem | undefined {
  if (object.has('t') && object.size <= 6) return ownItem(object, place);
  const type = object.get('type');
  if (type === 'node' && object.has('id')) return neo4jNode(object, options, place);
  if (type === 'relationship' && object.has('start')) return neo4jEdge(object, place);
  if (object.has('@type') && object.has('@class')) return bulkItem(object, place);
  return plainRecord(object, options, place);
}

const own = {v: 'vertex', d: 'document', e: 'edge'} as const;

function ownItem(object: MapValue, place: number): ExchangedItem | undefined {
  const kind = object.get('t');
  if (kind === 'info' || kind === 'end') return undefined;
  const text = (name: string): string => textIn(object, name, place);
  if (kind === 'schema') return {kind: 'schema', statement: text('s'), place};
  if (kind !== 'v' && kind !== 'd' && kind !== 'e') {
    throw malformed(place, "its field 't' is none of info, schema, v, d, e, end");
  }
  const properties = fromTypedJson(object.get('p') ?? new Map());
  if (!(properties instanceof Map)) throw malformed(place, "its field 'p' holds no properties");
  const record = {kind: own[kind], type: text('c'), properties: properties as MapValue, place};
  if (kind !== 'e') return {...record, id: text('r')};
  return {...record, from: text('f'), to: text('o')};
}

function neo4jNode(object: MapValue, options: ImportOptions, place: number): ExchangedItem {
  const labels = object.get('labels');
  const names = Array.isArray(labels) ? labels.map(String) : [];
  const type = names.length === 0 ? options.vertexType : typeOfLabels(names);
  const properties = propertiesIn(object, place);
  return {kind: 'vertex', type, id: idIn(object, 'id', place), properties, place};
}

function neo4jEdge(object: MapValue, place: number): ExchangedItem {
  const end = (name: string): string => {
    const value = object.get(name);
    if (value instanceof Map) return idIn(value as MapValue, 'id', place);
    throw malformed(place, `its field '${name}' is no node`);
  };
  const type = textIn(object, 'label', place);
  const properties = propertiesIn(object, place);
  return {kind: 'edge', type, from: end('start'), to: end('end'), properties, place};
}

function propertiesIn(object: MapValue, place: number): MapValue {
  const properties = object.get('properties') ?? new Map<string, Value>();
  if (properties instanceof Map) return properties as MapValue;
  throw malformed(place, 'its properties are no object');
}

const kinds: ReadonlyMap<Value | undefined, RecordKind> = new Map([
  ['v', 'vertex'],
  ['vertex', 'vertex'],
  ['e', 'edge'],
  ['edge', 'edge'],
  ['d', 'document'],
  ['document', 'document'],
]);

function bulkItem(object: MapValue, place: number): ExchangedItem {
  const kind = kinds.get(object.get('@type'));
  if (kind === undefined) throw malformed(place, 'its @type is none of v, e and d');
  const entries = [...object].filter(([name]) => !name.startsWith('@'));
  const type = textIn(object, '@class', place);
  const record = {kind, type, properties: new Map(entries), place};
  if (kind === 'edge') {
    const ends = {from: idIn(object, '@from', place), to: idIn(object, '@to', place)};
    return {...record, ...ends, endsMayBeRecords: true};
  }
  return {...record, id: object.has('@id') ? idIn(object, '@id', place) : undefined};
}

function idIn(object: MapValue, name: string, place: number): string {
  const id = idOf(object.get(name));
  if (id !== undefined) return id;
  throw malformed(place, `its field '${name}' is neither a text nor a whole number`);
}

function textIn(object: MapValue, name: string, place: number): string {
  const value = object.get(name);
  if (typeof value === 'string') return value;
  throw malformed(place, `its field '${name}' is no text`);
}
