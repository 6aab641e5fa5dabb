/**
 * GraphSON 3 of TinkerPop, a vertex with its outgoing edges on each line. Types that it has not are
 * text; documents have no place in it.
 * Source: Apache TinkerPop IO reference, GraphSON 3.0.
 */
import {base64Text} from '#server/model/base64.ts';
import {decimalText} from '#server/model/decimal.ts';
import {doubleText, jsonString, jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {
  DateTimeValue,
  Decimal,
  Double,
  type MapValue,
  type RecordValue,
  type Value,
} from '#server/model/value.ts';
import type {RecordWriter, WriterOptions} from '../export-order.ts';

const hopsAtOnce = 1_000;

export function graphsonWriter({snapshot}: WriterOptions): RecordWriter {
  const {graph} = snapshot;
  const types = graph.edgeTypes([]);
  let propertyId = 0;

  function edgesOf(vertex: RecordValue): string {
    const byType = new Map<string, string[]>();
    const ends = [vertex.rid];
    const source = graph.hops(ends, {direction: 'out', types});
    try {
      for (let hops = source.next(hopsAtOnce); hops !== undefined; hops = source.next(hopsAtOnce)) {
        for (const edge of graph.hopEdges(hops, ends)) {
          if (edge?.to === undefined) continue;
          const list = byType.get(edge.typeName) ?? [];
          byType.set(edge.typeName, list);
          list.push(edgeJson(edge));
        }
      }
    } finally {
      source.close();
    }
    const entries = Array.from(byType, ([name, edges]) => `${jsonString(name)}:[${edges.join()}]`);
    return entries.length === 0 ? '' : `,"outE":{${entries.join()}}`;
  }

  function propertiesOf(vertex: RecordValue): string {
    const entries = Array.from(vertex.properties(), ([name, value]) => {
      propertyId += 1;
      const id = `{"@type":"g:Int64","@value":${propertyId}}`;
      const item = `{"id":${id},"value":${typed(value)}}`;
      return `${jsonString(name)}:[{"@type":"g:VertexProperty","@value":${item}}]`;
    });
    return entries.length === 0 ? '' : `,"properties":{${entries.join()}}`;
  }

  return {
    kinds: ['vertex'],
    *begin() {},
    record: vertex => {
      const head = `{"id":"${ridText(vertex.rid)}","label":${jsonString(vertex.typeName)}`;
      return `${head}${edgesOf(vertex)}${propertiesOf(vertex)}}\n`;
    },
    *end() {},
  };
}

function edgeJson(edge: RecordValue): string {
  const to = edge.to === undefined ? '' : ridText(edge.to);
  const entries = Array.from(
    edge.properties(),
    ([name, value]) => `${jsonString(name)}:${typed(value)}`,
  );
  const properties = entries.length === 0 ? '' : `,"properties":{${entries.join()}}`;
  return `{"id":"${ridText(edge.rid)}","inV":"${to}"${properties}}`;
}

function typed(value: Value): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') {
    return jsonText(value);
  }
  if (typeof value === 'number') {
    if (!Number.isInteger(value)) return of('g:Double', doubleText(value));
    return of(value === (value | 0) ? 'g:Int32' : 'g:Int64', String(value));
  }
  if (typeof value === 'bigint') return of('g:Int64', String(value));
  if (value instanceof Double) {
    const isPlain = Number.isFinite(value.value);
    return of('g:Double', isPlain ? doubleText(value.value) : jsonString(String(value.value)));
  }
  if (value instanceof Decimal) return of('gx:BigDecimal', decimalText(value));
  if (value instanceof Uint8Array) return of('gx:ByteBuffer', jsonString(base64Text(value)));
  if (value instanceof DateTimeValue) {
    return of('g:Date', String(value.epochSeconds * 1_000 + Math.floor(value.nanos / 1e6)));
  }
  if (Array.isArray(value)) {
    return of('g:List', `[${value.map(item => typed(item as Value)).join()}]`);
  }
  if (value instanceof Map) {
    const pairs = Array.from(
      value as MapValue,
      ([name, item]) => `${jsonString(name)},${typed(item)}`,
    );
    return of('g:Map', `[${pairs.join()}]`);
  }
  const text = jsonText(value);
  return text.startsWith('"') ? text : jsonString(text);
}

function of(type: string, json: string): string {
  return `{"@type":"${type}","@value":${json}}`;
}
