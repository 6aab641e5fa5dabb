/**
 * Exports of OrientDB: its classes as types with their properties and indexes, its records as what
 * their classes are, edges without a record too.
 */
import {printName} from '#server/languages/sql/printer.ts';
import {bytesFromBase64} from '#server/model/base64.ts';
import {parseDataType} from '#server/model/data-type.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble} from '#server/model/number.ts';
import {parseRid} from '#server/model/rid.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  type MapValue,
  type RecordKind,
  type Value,
} from '#server/model/value.ts';
import type {ExchangedItem} from '../exchanged-record.ts';
import {plainText} from '../ids.ts';

const systemClass = /^(O[A-Z]\w+|_studio)$/;
/** Names of property types that are others here. */
const propertyTypes: Readonly<Record<string, string>> = {
  EMBEDDED: 'ANY',
  EMBEDDEDLIST: 'LIST',
  EMBEDDEDSET: 'LIST',
  EMBEDDEDMAP: 'MAP',
  LINKLIST: 'LIST',
  LINKSET: 'LIST',
  LINKBAG: 'LIST',
  LINKMAP: 'MAP',
};

interface OrientClass {
  readonly supers: readonly string[];
  readonly properties: readonly MapValue[];
}

/** The classes of an export: what their records are, and whose clusters ids name. */
export class OrientClasses {
  readonly #classes = new Map<string, OrientClass>();
  readonly #clusters = new Map<number, string>();

  get isKnown(): boolean {
    return this.#classes.size > 0;
  }

  /** The types and properties, as statements. */
  *learn(document: MapValue): Generator<ExchangedItem> {
    const classes = mapOf(document.get('schema'))?.get('classes');
    for (const map of mapsIn(classes)) {
      const name = plainText(map.get('name'));
      const own = map.get('super-classes') ?? map.get('super-class');
      const list = Array.isArray(own) ? (own as readonly Value[]) : own ? [own] : [];
      this.#classes.set(name, {
        supers: list.map(plainText).filter(above => above !== ''),
        properties: mapsIn(map.get('properties')),
      });
      const clusters = map.get('cluster-ids');
      for (const id of Array.isArray(clusters) ? clusters : []) {
        this.#clusters.set(Number(id), name);
      }
    }
    const names = this.#inOrder();
    for (const name of names) yield schemaItem(this.#createType(name));
    for (const name of names) {
      for (const statement of this.#createProperties(name)) yield schemaItem(statement);
    }
  }

  /** The indexes of properties; those of the database itself are no concern here. */
  *indexesOf(document: MapValue, place: number): Generator<ExchangedItem> {
    for (const index of mapsIn(document.get('indexes'))) {
      const definition = mapOf(index.get('definition'));
      const type = plainText(definition?.get('className'));
      const fields = fieldsOf(definition);
      if (!this.#classes.has(type) || systemClass.test(type) || fields.length === 0) continue;
      const declared = this.#propertyNames(type);
      if (!fields.every(field => declared.has(field))) continue;
      const kind = plainText(index.get('type'));
      const word = kind.startsWith('UNIQUE') ? 'UNIQUE' : 'NOTUNIQUE';
      const family = kind.startsWith('FULLTEXT') ? 'FULL_TEXT' : word;
      const on = `${printName(type)} (${fields.map(printName).join(', ')})`;
      const name = printName(`${type}[${fields.join(',')}]`);
      const statement = `CREATE INDEX ${name} IF NOT EXISTS ON ${on} ${family}`;
      yield {kind: 'schema', statement, place};
    }
  }

  *itemsOf(record: MapValue, place: number): Generator<ExchangedItem> {
    const type = record.get('@class');
    const id = record.get('@rid');
    // Records without a class are those of the database itself.
    if (typeof type !== 'string' || typeof id !== 'string' || systemClass.test(type)) return;
    const kind = this.#kindOf(type);
    const types = fieldTypes(record.get('@fieldTypes'));
    const properties = new Map<string, Value>();
    for (const [name, value] of record) {
      if (name.startsWith('@') || (kind === 'vertex' && /^(in|out)_/.test(name))) continue;
      if (kind === 'edge' && (name === 'in' || name === 'out')) continue;
      properties.set(name, typedValue(value, types.get(name)));
    }
    if (kind === 'edge') {
      const [from, to] = [record.get('out'), record.get('in')];
      yield {kind, type, from: plainText(from), to: plainText(to), properties, place};
      return;
    }
    yield {kind, type, id, properties, place};
    if (kind === 'vertex') yield* this.#lightEdges(record, id, place);
  }

  /** Edges without a record: a field `out_X` names vertices and not edges. */
  *#lightEdges(record: MapValue, from: string, place: number): Generator<ExchangedItem> {
    for (const [name, value] of record) {
      if (!name.startsWith('out_')) continue;
      for (const to of Array.isArray(value) ? value : [value]) {
        const cluster = /^#(\d+):/.exec(String(to))?.[1];
        const target = cluster && this.#clusters.get(Number(cluster));
        if (target === undefined || target === '' || this.#kindOf(target) === 'edge') continue;
        const type = name.slice('out_'.length);
        yield {kind: 'edge', type, from, to: String(to), properties: new Map(), place};
      }
    }
  }

  #kindOf(name: string, depth = 0): RecordKind {
    if (name === 'V') return 'vertex';
    if (name === 'E') return 'edge';
    // Classes that extend each other in a circle are documents.
    if (depth > this.#classes.size) return 'document';
    const supers = this.#classes.get(name)?.supers ?? [];
    const kinds = supers.map(one => this.#kindOf(one, depth + 1));
    return kinds.find(kind => kind !== 'document') ?? 'document';
  }

  /** Each class behind those that it extends. */
  #inOrder(): readonly string[] {
    const ordered = new Set<string>();
    const add = (name: string, depth: number): void => {
      const known = this.#classes.get(name);
      if (known === undefined || ordered.has(name) || depth > this.#classes.size) return;
      for (const above of known.supers) add(above, depth + 1);
      if (!systemClass.test(name)) ordered.add(name);
    };
    for (const name of this.#classes.keys()) add(name, 0);
    return [...ordered];
  }

  #createType(name: string): string {
    const supers = this.#classes.get(name)?.supers ?? [];
    const above = supers.filter(one => this.#classes.has(one) && !systemClass.test(one));
    const extended = above.length === 0 ? '' : ` EXTENDS ${above.map(printName).join(', ')}`;
    const kind = this.#kindOf(name).toUpperCase();
    return `CREATE ${kind} TYPE ${printName(name)} IF NOT EXISTS${extended}`;
  }

  #createProperties(name: string): readonly string[] {
    const kind = this.#kindOf(name);
    return (this.#classes.get(name)?.properties ?? []).flatMap(map => {
      const property = plainText(map.get('name'));
      const isOfGraph =
        (kind === 'vertex' && /^(in|out)_/.test(property)) ||
        (kind === 'edge' && (property === 'in' || property === 'out'));
      if (isOfGraph) return [];
      const given = plainText(map.get('type'));
      const type = parseDataType(propertyTypes[given] ?? given) ?? 'ANY';
      const rules = [
        map.get('mandatory') === true && 'mandatory true',
        map.get('not-null') === true && 'notnull true',
        map.get('read-only') === true && 'readonly true',
      ].filter(rule => rule !== false);
      const path = `${printName(name)}.${printName(property)}`;
      const list = rules.length === 0 ? '' : ` (${rules.join(', ')})`;
      return [`CREATE PROPERTY ${path} IF NOT EXISTS ${type}${list}`];
    });
  }

  #propertyNames(name: string, depth = 0): ReadonlySet<string> {
    const known = this.#classes.get(name);
    if (known === undefined || depth > this.#classes.size) return new Set();
    const own = known.properties.map(map => plainText(map.get('name')));
    return new Set([
      ...own,
      ...known.supers.flatMap(one => [...this.#propertyNames(one, depth + 1)]),
    ]);
  }
}

function schemaItem(statement: string): ExchangedItem {
  return {kind: 'schema', statement, place: 0};
}

function mapOf(value: Value | undefined): MapValue | undefined {
  return value instanceof Map ? (value as MapValue) : undefined;
}

function mapsIn(value: Value | undefined): readonly MapValue[] {
  const items = Array.isArray(value) ? (value as readonly Value[]) : [];
  return items.map(mapOf).filter(map => map !== undefined);
}

/** The properties of an index. */
function fieldsOf(definition: MapValue | undefined): readonly string[] {
  const field = definition?.get('field');
  if (typeof field === 'string') return [field];
  const parts = definition?.get('indexDefinitions');
  return mapsIn(parts).flatMap(part => fieldsOf(part));
}

/** `price=f,born=a`. */
function fieldTypes(value: Value | undefined): ReadonlyMap<string, string> {
  if (typeof value !== 'string') return new Map();
  const pairs = value.split(',').map(pair => pair.split('='));
  return new Map(pairs.map(([name = '', type = '']) => [name, type]));
}

const dayMs = 86_400_000;

function typedValue(value: Value, type: string | undefined): Value {
  if (type === 'c') return parseDecimal(plainText(numberIn(value) ?? value)) ?? value;
  if (type === 'b' && typeof value === 'string') return bytesFromBase64(value) ?? value;
  if (type === 'x' || type === 'z' || type === 'n' || type === 'm' || type === 'g') {
    return linksIn(value);
  }
  const number = numberIn(value);
  if (number === undefined) return value;
  if (type === 'f' || type === 'd') return makeDouble(number);
  if (type === 'a') return new DateValue(Math.floor(number / dayMs));
  if (type !== 't') return value;
  const seconds = Math.floor(number / 1_000);
  return new DateTimeValue(seconds, (number - seconds * 1_000) * 1e6, 'millisecond');
}

function linksIn(value: Value): Value {
  if (typeof value === 'string') return parseRid(value) ?? value;
  if (Array.isArray(value)) return value.map(item => linksIn(item as Value));
  const map = mapOf(value);
  return map === undefined ? value : new Map([...map].map(([key, item]) => [key, linksIn(item)]));
}

function numberIn(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  if (value instanceof Decimal) return undefined;
  return typeof value === 'number' ? value : undefined;
}
