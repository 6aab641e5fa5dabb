/**
 * Lines of an export of ArcadeDB: `{"t":KIND,"c":CONTENT}`, the schema in front of the records.
 *
 * Values are numbers and texts in it, whose types the schema says, or a line itself for those that
 * the schema does not declare (`y`): days and milliseconds since 1970, links, embedded documents.
 */
import {convertValue, type DataType, parseDataType} from '#server/model/data-type.ts';
import {parseRid} from '#server/model/rid.ts';
import {DateValue, EmbeddedValue, type MapValue, type Value} from '#server/model/value.ts';
import {type ExchangedItem, malformed} from '../exchanged-record.ts';
import {plainText} from '../ids.ts';
import {type ArcadeProperty, type ArcadeSchema, readArcadeSchema} from './arcade-schema.ts';

/** Whether a line is one of such an export; our own have texts in `c`. */
export function isArcadeLine(object: MapValue): boolean {
  return object.has('t') && object.get('c') instanceof Map;
}

export class ArcadeLines {
  #schema: ArcadeSchema | undefined;
  /** Properties of types with those that they inherit. */
  readonly #declared = new Map<string, ReadonlyMap<string, ArcadeProperty>>();

  *itemsOf(object: MapValue, place: number): Generator<ExchangedItem> {
    const content = object.get('c') as MapValue;
    const kind = object.get('t');
    if (kind === 'schema') {
      this.#schema = readArcadeSchema(content, place);
      for (const statement of this.#schema.before) yield {kind: 'schema', statement, place};
      for (const what of this.#schema.left) {
        const refusal = malformed(place, `${what}: it cannot be made here (onRowError skip)`);
        yield {kind: 'bad', refusal, place};
      }
    } else if (kind === 'v' || kind === 'd' || kind === 'e') {
      const record = this.#record(content, place);
      if (record !== undefined) yield record;
    } else if (kind !== 'info' && kind !== 'db') {
      throw malformed(place, "its field 't' is none of info, db, schema, v, d, e");
    }
  }

  /** What follows the last line. */
  *end(): Generator<ExchangedItem> {
    for (const statement of this.#schema?.behind ?? []) {
      yield {kind: 'schema', statement, place: 0};
    }
  }

  #record(content: MapValue, place: number): ExchangedItem | undefined {
    if (this.#schema === undefined) throw malformed(place, 'it stands in front of the schema');
    const type = plainText(content.get('t'));
    const kind = this.#schema.types.get(type)?.kind;
    // Records of views are made again by the view.
    if (kind === undefined) return undefined;
    const declared = this.#propertiesOf(type);
    const hints = mapOf(content.get('y'));
    const properties = new Map<string, Value>();
    for (const [name, value] of mapOf(content.get('p')) ?? []) {
      const property = declared.get(name);
      const read =
        property === undefined
          ? hinted(value, hints?.get(name), name)
          : declaredValue(value, property, name);
      properties.set(name, read);
    }
    const id = plainText(content.get('r'));
    if (kind !== 'edge') return {kind, type, id, properties, place};
    const ends = {from: plainText(content.get('o')), to: plainText(content.get('i'))};
    return {kind, type, ...ends, properties, place};
  }

  #propertiesOf(type: string): ReadonlyMap<string, ArcadeProperty> {
    const known = this.#declared.get(type);
    if (known !== undefined) return known;
    const all = new Map<string, ArcadeProperty>();
    this.#declared.set(type, all);
    const own = this.#schema?.types.get(type);
    for (const parent of own?.parents ?? []) {
      for (const [name, property] of this.#propertiesOf(parent)) all.set(name, property);
    }
    for (const [name, property] of own?.properties ?? []) all.set(name, property);
    return all;
  }
}

function mapOf(value: Value | undefined): MapValue | undefined {
  return value instanceof Map ? (value as MapValue) : undefined;
}

function declaredValue(value: Value, {type, of}: ArcadeProperty, name: string): Value {
  // Types of records stand for links to them, and for embedded documents of them.
  const element = of === undefined ? undefined : parseDataType(of);
  const holdsRecords = of !== undefined && element === undefined;
  const inner = (item: Value): Value =>
    element === undefined ? linkOrEmbedded(item, holdsRecords) : typed(item, element, name);
  if (type === 'LIST' && Array.isArray(value)) return value.map(item => inner(item as Value));
  if (type === 'MAP' && value instanceof Map) {
    return new Map([...(value as MapValue)].map(([key, item]) => [key, inner(item)]));
  }
  return typed(value, type, name);
}

function linkOrEmbedded(value: Value, isRecord: boolean): Value {
  if (!isRecord) return value;
  if (typeof value === 'string') return parseRid(value) ?? value;
  return embedded(value);
}

function hinted(value: Value, hint: Value | undefined, name: string): Value {
  if (typeof hint === 'string') {
    const type = parseDataType(hint);
    return type === undefined ? value : typed(value, type, name);
  }
  if (Array.isArray(hint) && Array.isArray(value)) {
    return value.map((item, at) => hinted(item as Value, hint[at] as Value | undefined, name));
  }
  const hints = mapOf(hint);
  const map = mapOf(value);
  if (hints === undefined || map === undefined) return value;
  return new Map([...map].map(([key, item]) => [key, hinted(item, hints.get(key), name)]));
}

function typed(value: Value, type: DataType, name: string): Value {
  if (value === null) return null;
  if (type === 'EMBEDDED') return embedded(value);
  if (type === 'LINK' && typeof value === 'string') return parseRid(value) ?? value;
  if (type === 'DATE' && typeof value === 'number') return new DateValue(value);
  // Lists and maps hold what they hold.
  return type === 'LIST' || type === 'MAP' ? value : convertValue(value, {type}, name);
}

/** `{"t":TYPE,"p":PROPERTIES}`. */
function embedded(value: Value): Value {
  const map = mapOf(value);
  const type = map?.get('t');
  const properties = mapOf(map?.get('p'));
  if (typeof type !== 'string' || properties === undefined) return value;
  return new EmbeddedValue(type, properties);
}
