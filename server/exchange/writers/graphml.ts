/**
 * GraphML as TinkerPop writes and reads it: `labelV` and `labelE`, a key for each property of the
 * schema's or of the first records, values of other types as text. Documents have no place in it.
 * Source: GraphML specification 1.1; Apache TinkerPop IO reference.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {jsonText} from '#server/model/json.ts';
import {ridText} from '#server/model/rid.ts';
import {Double, type RecordValue, type Value} from '#server/model/value.ts';
import type {DatabaseSnapshot} from '#server/session/import-session.ts';
import type {RecordWriter, WriterOptions} from '../export-order.ts';

type Scalar = 'boolean' | 'long' | 'double' | 'string';

export function graphmlWriter({database, snapshot, giveWay}: WriterOptions): RecordWriter {
  // A property has one type in the whole document: that of all its values, or text.
  const keys = {node: new Map<string, Scalar>(), edge: new Map<string, Scalar>()};
  return {
    kinds: ['vertex', 'edge'],
    async *begin() {
      await learnKeys(keys.node, snapshot, {kind: 'vertex', giveWay});
      await learnKeys(keys.edge, snapshot, {kind: 'edge', giveWay});
      yield '<?xml version="1.0" encoding="UTF-8"?>\n';
      yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n';
      yield '  <key id="labelV" for="node" attr.name="labelV" attr.type="string"/>\n';
      yield '  <key id="labelE" for="edge" attr.name="labelE" attr.type="string"/>\n';
      for (const place of ['node', 'edge'] as const) {
        for (const [name, type] of keys[place]) {
          const id = attribute(`${place[0]}_${name}`);
          const about = `for="${place}" attr.name="${attribute(name)}" attr.type="${type}"`;
          yield `  <key id="${id}" ${about}/>\n`;
        }
      }
      yield `  <graph id="${attribute(database)}" edgedefault="directed">\n`;
    },
    record: record => element(record, record.kind === 'edge' ? keys.edge : keys.node),
    *end() {
      yield '  </graph>\n</graphml>\n';
    },
  };
}

/** Each property's type, by one reading of the records. */
async function learnKeys(
  keys: Map<string, Scalar>,
  {catalog, graph}: DatabaseSnapshot,
  {kind, giveWay}: {readonly kind: 'vertex' | 'edge'; readonly giveWay: () => Promise<void>},
): Promise<void> {
  for (const name of typeNames(catalog, kind)) {
    const source = graph.scanType(name, false, {descending: false});
    try {
      for (let part = source.next(1_000); part !== undefined; part = source.next(1_000)) {
        for (const record of part) learn(keys, record);
        await giveWay();
      }
    } finally {
      source.close();
    }
  }
}

function typeNames(catalog: Catalog, kind: 'vertex' | 'edge'): readonly string[] {
  const types = [...catalog.types].filter(type => type.definition.view === undefined);
  return types.filter(type => type.kind === kind).map(({name}) => name);
}

function learn(keys: Map<string, Scalar>, record: RecordValue): void {
  for (const [name, value] of record.properties()) {
    if (value === null) continue;
    const type = scalarOf(value);
    const before = keys.get(name);
    keys.set(name, before === undefined || before === type ? type : 'string');
  }
}

function scalarOf(value: Value): Scalar {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'bigint') return 'long';
  // Doubles with a fraction are plain numbers.
  if (typeof value === 'number') return Number.isInteger(value) ? 'long' : 'double';
  return value instanceof Double && Number.isFinite(value.value) ? 'double' : 'string';
}

function element(record: RecordValue, keys: ReadonlyMap<string, Scalar>): string {
  const {rid, typeName, from, to} = record;
  const isEdge = from !== undefined && to !== undefined;
  const name = isEdge ? 'edge' : 'node';
  const ends = isEdge ? ` source="${ridText(from)}" target="${ridText(to)}"` : '';
  let text = `    <${name} id="${ridText(rid)}"${ends}>\n`;
  text += datum(isEdge ? 'labelE' : 'labelV', typeName);
  for (const [property, value] of record.properties()) {
    if (value === null || !keys.has(property)) continue;
    const written = typeof value === 'string' ? value : jsonText(value).replace(/^"(.*)"$/s, '$1');
    text += datum(`${name[0]}_${property}`, written);
  }
  return `${text}    </${name}>\n`;
}

function datum(key: string, text: string): string {
  return `      <data key="${attribute(key)}">${escaped(text)}</data>\n`;
}

function attribute(text: string): string {
  return escaped(text).replaceAll('"', '&quot;');
}

/** What XML cannot carry at all is left out. */
function escaped(text: string): string {
  return text
    .replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('\r', '&#13;');
}
