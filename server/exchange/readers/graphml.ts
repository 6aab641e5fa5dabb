/**
 * GraphML: nodes and edges with typed data, as TinkerPop (`labelV`, `labelE`), Neo4j (attributes
 * `labels`, `label`) and others write it.
 * Source: GraphML specification 1.1; docs/import-export.md.
 */
import {typeOfLabels} from '#server/model/labels.ts';
import {makeDouble} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {type ExchangedItem, malformed} from '../exchanged-record.ts';
import type {ImportOptions} from '../import-options.ts';
import {type MarkupEvent, markupOf} from './markup.ts';

interface Key {
  readonly name: string;
  readonly type: string;
}

interface Open {
  readonly kind: 'node' | 'edge';
  readonly attributes: Readonly<Record<string, string>>;
  readonly properties: Map<string, Value>;
  readonly line: number;
}

const labelNames = new Set(['labelV', 'labelE', 'labels', 'label']);

export async function* readGraphml(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const reader = new GraphmlReader(options);
  for await (const event of markupOf(bytes)) {
    const item = reader.take(event);
    if (item !== undefined) yield item;
  }
}

class GraphmlReader {
  readonly #options: ImportOptions;
  readonly #keys = new Map<string, Key>();
  #open: Open | undefined;
  #data: {key: Key; text: string} | undefined;

  constructor(options: ImportOptions) {
    this.#options = options;
  }

  take(event: MarkupEvent): ExchangedItem | undefined {
    if (event.kind === 'open') this.#begin(event);
    else if (event.kind === 'text') {
      if (this.#data !== undefined) this.#data.text += event.text;
    } else return this.#end(event.name);
    return undefined;
  }

  #begin({name, attributes, line}: Extract<MarkupEvent, {kind: 'open'}>): void {
    if (name === 'key') {
      const {id = ''} = attributes;
      const type = attributes['attr.type'] ?? 'string';
      this.#keys.set(id, {name: attributes['attr.name'] ?? id, type});
    } else if (name === 'node' || name === 'edge') {
      if (this.#open !== undefined) throw malformed(line, 'graphs inside of nodes are not read');
      this.#open = {kind: name, attributes, properties: new Map(), line};
    } else if (name === 'data' && this.#open !== undefined) {
      const id = attributes['key'] ?? '';
      this.#data = {key: this.#keys.get(id) ?? {name: id, type: 'string'}, text: ''};
    } else if (name === 'hyperedge' || name === 'port') {
      throw malformed(line, `a ${name} is not read`);
    }
  }

  #end(name: string): ExchangedItem | undefined {
    const open = this.#open;
    if (name === 'data' && this.#data !== undefined && open !== undefined) {
      const {key, text} = this.#data;
      this.#data = undefined;
      open.properties.set(key.name, valueOf(text, key.type, open.line));
      return undefined;
    }
    if (open === undefined || name !== open.kind) return undefined;
    this.#open = undefined;
    return open.kind === 'node' ? this.#vertex(open) : this.#edge(open);
  }

  #vertex({attributes, properties, line}: Open): ExchangedItem {
    const {id} = attributes;
    if (id === undefined) throw malformed(line, 'a node has no id');
    const type = labelIn(attributes, properties) ?? this.#options.vertexType;
    return {kind: 'vertex', type, id, properties, place: line};
  }

  #edge({attributes, properties, line}: Open): ExchangedItem {
    const {source, target} = attributes;
    if (source === undefined || target === undefined) throw malformed(line, 'an edge has no ends');
    const type = labelIn(attributes, properties) ?? this.#options.edgeType;
    return {kind: 'edge', type, from: source, to: target, properties, place: line};
  }
}

/** The labels as a type, wherever they are; they are no property then. */
function labelIn(
  attributes: Readonly<Record<string, string>>,
  properties: Map<string, Value>,
): string | undefined {
  let found = attributes['labels'] ?? attributes['label'];
  for (const name of labelNames) {
    const value = properties.get(name);
    if (typeof value !== 'string') continue;
    properties.delete(name);
    found ??= value;
  }
  const labels = (found ?? '').split(':').filter(part => part !== '');
  return labels.length === 0 ? undefined : typeOfLabels(labels);
}

function valueOf(written: string, type: string, line: number): Value {
  const text = type === 'string' ? written : written.trim();
  switch (type) {
    case 'boolean':
      return text === 'true' || text === '1';
    case 'int':
    case 'long': {
      if (!/^[+-]?\d{1,19}$/.test(text)) throw malformed(line, `'${text}' is no whole number`);
      const integer = BigInt(text);
      return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
    }
    case 'float':
    case 'double': {
      const double = Number(text);
      if (text === '' || Number.isNaN(double)) throw malformed(line, `'${text}' is no number`);
      return makeDouble(double);
    }
    default:
      return text;
  }
}
