/**
 * A JSON document that goes over several lines: a list of objects, one object, or an export of
 * OrientDB; its parts are read one by one, so that none but the largest part is in memory.
 */
import {parseDecimal} from '#server/model/decimal.ts';
import {makeDouble} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  type MapValue,
  type Value,
} from '#server/model/value.ts';
import {badItem, type ExchangedItem, itemOrBad, malformed} from '../exchanged-record.ts';
import {plainText} from '../ids.ts';
import type {ImportOptions} from '../import-options.ts';
import {textOf} from '../lines.ts';
import {itemOf, objectIn} from './jsonl.ts';

export async function* readJson(
  bytes: AsyncIterable<Buffer>,
  options: ImportOptions,
): AsyncGenerator<ExchangedItem> {
  const orient = new OrientClasses();
  let whole: Map<string, Value> | undefined;
  let place = 0;
  for await (const {key, text} of partsOf(bytes)) {
    if (key === 'schema') orient.learn(objectIn(`{"schema":${text}}`, 0));
    else if (key === undefined) {
      const at = ++place;
      const item = itemOrBad(() => itemOf(objectIn(text, at), options, at), at);
      if (item !== undefined) yield item;
    } else if (key === 'records' && orient.isKnown) {
      const at = ++place;
      try {
        yield* orient.itemsOf(objectIn(text, at), at);
      } catch (error) {
        yield badItem(error, at);
      }
    } else {
      whole ??= new Map();
      for (const [name, value] of objectIn(`{${JSON.stringify(key)}:${text}}`, 1)) {
        const more = key === 'records' ? [...((whole.get(name) as Value[]) ?? []), value] : value;
        whole.set(name, more);
      }
    }
  }
  // The export of a whole database is no document itself.
  if (whole === undefined || orient.isKnown) return;
  const document = whole;
  const item = itemOrBad(() => itemOf(document, options, 1), 1);
  if (item !== undefined) yield item;
}

interface Part {
  /** The member of the document; undefined: the document is a list, and this an item. */
  readonly key: string | undefined;
  readonly text: string;
}

const partCharactersMax = 64 << 20;

/** Items of the list, or members of the object; of the member `records`, its items. */
async function* partsOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<Part> {
  const splitter = new PartSplitter();
  for await (const text of textOf(bytes)) yield* splitter.add(text);
  splitter.end();
}

class PartSplitter {
  #outer: '[' | '{' | undefined;
  #depth = 0;
  /** Depth at which values are parts. */
  #partDepth = 1;
  #isInText = false;
  #isEscaped = false;
  #part = '';
  #key: string | undefined;
  #count = 0;

  *add(text: string): Generator<Part> {
    let from = 0;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      if (this.#isInText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (code === 0x5c) this.#isEscaped = true;
        else if (code === 0x22) this.#isInText = false;
        continue;
      }
      if (code === 0x22) this.#isInText = true;
      else if (code === 0x7b || code === 0x5b) {
        if (this.#opens(text, from, at)) from = at + 1;
      } else if (code === 0x7d || code === 0x5d) {
        if (this.#depth === this.#partDepth) {
          yield* this.#finish(text.slice(from, at));
          from = at + 1;
          if (this.#partDepth === 2) this.#partDepth = 1;
        }
        this.#depth -= 1;
      } else if (code === 0x2c && this.#depth === this.#partDepth) {
        yield* this.#finish(text.slice(from, at));
        from = at + 1;
      } else if (code === 0x3a && this.#depth === 1 && this.#outer === '{') {
        this.#key ??= this.#keyIn(this.#part + text.slice(from, at));
        this.#part = '';
        from = at + 1;
      }
    }
    this.#part += text.slice(from);
    if (this.#part.length > partCharactersMax) {
      throw malformed(this.#count + 1, 'it is larger than 64 MB');
    }
  }

  end(): void {
    if (this.#depth === 0 && this.#part.trim() === '') return;
    throw malformed(this.#count + 1, 'the document ends in its middle');
  }

  /** Whether what was read until here belongs to no part. */
  #opens(text: string, from: number, at: number): boolean {
    this.#depth += 1;
    if (this.#depth === 1) {
      this.#outer = text[at] === '[' ? '[' : '{';
      this.#part = '';
      return true;
    }
    const isBegin = this.#depth === 2 && this.#outer === '{' && text[at] === '[';
    if (!isBegin || this.#key !== 'records' || this.#partDepth === 2) return false;
    if ((this.#part + text.slice(from, at)).trim() !== '') return false;
    this.#partDepth = 2;
    this.#part = '';
    return true;
  }

  *#finish(rest: string): Generator<Part> {
    const text = (this.#part + rest).trim();
    this.#part = '';
    const key = this.#key;
    if (this.#depth === 1) this.#key = undefined;
    if (text === '') return;
    this.#count += 1;
    yield {key, text};
  }

  #keyIn(text: string): string {
    try {
      return String(JSON.parse(text.trim()));
    } catch {
      throw malformed(this.#count + 1, 'it is no JSON');
    }
  }
}

type OrientKind = 'vertex' | 'edge' | 'document';

/** The classes of an export of OrientDB: what their records are, and whose clusters ids name. */
class OrientClasses {
  readonly #supers = new Map<string, readonly string[]>();
  readonly #clusters = new Map<number, string>();

  get isKnown(): boolean {
    return this.#supers.size > 0;
  }

  learn(document: MapValue): void {
    const schema = document.get('schema');
    const classes = schema instanceof Map ? (schema as MapValue).get('classes') : undefined;
    if (!Array.isArray(classes)) return;
    for (const item of classes) {
      if (!(item instanceof Map)) continue;
      const map = item as MapValue;
      const name = plainText(map.get('name'));
      const own = map.get('super-classes') ?? map.get('super-class');
      this.#supers.set(
        name,
        Array.isArray(own)
          ? own.map(item => plainText(item as Value))
          : own
            ? [plainText(own)]
            : [],
      );
      const clusters = map.get('cluster-ids');
      for (const id of Array.isArray(clusters) ? clusters : []) {
        this.#clusters.set(Number(id), name);
      }
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

  #kindOf(name: string): OrientKind {
    if (name === 'V') return 'vertex';
    if (name === 'E') return 'edge';
    const kinds = (this.#supers.get(name) ?? []).map(one => this.#kindOf(one));
    return kinds.find(kind => kind !== 'document') ?? 'document';
  }
}

const systemClass = /^(O[A-Z]\w+|_studio)$/;

/** `price=f,born=a`. */
function fieldTypes(value: Value | undefined): ReadonlyMap<string, string> {
  if (typeof value !== 'string') return new Map();
  const pairs = value.split(',').map(pair => pair.split('='));
  return new Map(pairs.map(([name = '', type = '']) => [name, type]));
}

const dayMs = 86_400_000;

function typedValue(value: Value, type: string | undefined): Value {
  if (type === 'c') return parseDecimal(plainText(numberIn(value) ?? value)) ?? value;
  const number = numberIn(value);
  if (number === undefined) return value;
  if (type === 'f' || type === 'd') return makeDouble(number);
  if (type === 'a') return new DateValue(Math.floor(number / dayMs));
  if (type !== 't') return value;
  const seconds = Math.floor(number / 1_000);
  return new DateTimeValue(seconds, (number - seconds * 1_000) * 1e6, 'millisecond');
}

function numberIn(value: Value): number | undefined {
  if (value instanceof Double) return value.value;
  if (value instanceof Decimal) return undefined;
  return typeof value === 'number' ? value : undefined;
}
