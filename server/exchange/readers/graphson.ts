/**
 * GraphSON of TinkerPop, versions 1 to 3, a vertex with its edges on each line: what is written
 * with types (`{"@type":"g:Int32","@value":1}`) and what is not.
 * Source: Apache TinkerPop IO reference, GraphSON.
 */
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble} from '#server/model/number.ts';
import {bytesFromBase64} from '#server/model/base64.ts';
import {DateTimeValue, Double, type MapValue, type Value} from '#server/model/value.ts';
import {badItem, type ExchangedItem, malformed} from '../exchanged-record.ts';
import {idOf, plainText} from '../ids.ts';
import type {ImportOptions} from '../import-options.ts';
import {linesOf} from '../lines.ts';
import {objectIn} from './jsonl.ts';

export async function* readGraphson(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  let place = 0;
  for await (const line of linesOf(bytes)) {
    const at = ++place;
    if (line.trim() === '') continue;
    try {
      yield* itemsIn(objectIn(line, at), options, at);
    } catch (error) {
      yield badItem(error, at);
    }
  }
}

function* itemsIn(
  vertex: MapValue,
  options: ImportOptions,
  place: number,
): Generator<ExchangedItem> {
  const id = elementId(vertex.get('id'), place);
  const label = vertex.get('label');
  const type = typeof label === 'string' ? label : options.vertexType;
  const properties = new Map<string, Value>();
  for (const [name, values] of mapIn(vertex.get('properties'))) {
    properties.set(name, propertyOf(values));
  }
  yield {kind: 'vertex', type, id, properties, place};
  for (const [edgeType, edges] of mapIn(vertex.get('outE'))) {
    for (const edge of Array.isArray(edges) ? edges : []) {
      if (!(edge instanceof Map)) throw malformed(place, `an edge of ${edgeType} is no object`);
      const map = edge as MapValue;
      const own = [...mapIn(map.get('properties'))].map(
        ([name, value]) => [name, plain(value)] as const,
      );
      const to = elementId(map.get('inV'), place);
      yield {kind: 'edge', type: edgeType, from: id, to, properties: new Map(own), place};
    }
  }
}

function mapIn(value: Value | undefined): MapValue {
  return value instanceof Map ? (value as MapValue) : new Map();
}

function elementId(value: Value | undefined, place: number): string {
  const id = value === undefined ? undefined : idOf(plain(value));
  if (id !== undefined) return id;
  throw malformed(place, 'it has no id');
}

/** Vertex properties are lists of `{id, value}`; one value stands for itself. */
function propertyOf(values: Value): Value {
  if (!Array.isArray(values)) return plain(values);
  const plainValues = values.map(item => {
    const inner = untyped(item as Value);
    return inner instanceof Map && (inner as MapValue).has('value')
      ? plain((inner as MapValue).get('value') ?? null)
      : plain(item as Value);
  });
  return plainValues.length === 1 ? (plainValues[0] as Value) : plainValues;
}

/** The value of `{"@type":..,"@value":..}`, as it stands there. */
function untyped(value: Value): Value {
  if (!(value instanceof Map)) return value;
  return (value as MapValue).has('@type') ? ((value as MapValue).get('@value') ?? null) : value;
}

function plain(value: Value): Value {
  if (Array.isArray(value)) return value.map(item => plain(item as Value));
  if (!(value instanceof Map)) return value;
  const map = value as MapValue;
  const type = map.get('@type');
  const inner = map.get('@value') ?? null;
  if (typeof type !== 'string') {
    return new Map([...map].map(([name, item]) => [name, plain(item)]));
  }
  switch (type) {
    case 'g:Double':
    case 'g:Float':
      return makeDouble(inner instanceof Double ? inner.value : Number(inner));
    case 'gx:BigDecimal':
      return parseDecimal(plainText(inner)) ?? plainText(inner);
    case 'g:Date':
    case 'g:Timestamp': {
      const ms = Number(inner);
      const seconds = Math.floor(ms / 1_000);
      return new DateTimeValue(seconds, (ms - seconds * 1_000) * 1e6, 'millisecond');
    }
    case 'gx:ByteBuffer':
      return bytesFromBase64(plainText(inner)) ?? plainText(inner);
    case 'g:Map': {
      const items = Array.isArray(inner) ? (inner as readonly Value[]) : [];
      const pairs: [string, Value][] = [];
      for (let at = 0; at + 1 < items.length; at += 2) {
        pairs.push([plainText(plain(items[at] as Value)), plain(items[at + 1] as Value)]);
      }
      return new Map(pairs);
    }
    default:
      return plain(inner);
  }
}
