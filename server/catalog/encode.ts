/**
 * The catalog as JSON bytes, and back: how it is stored and travels in log entries.
 *
 * Stable: one catalog has one encoding (arrays in order, keys in the order written here).
 * `format` names the shape; a reader refuses one that it does not know.
 */
import {Corruption} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import {jsonText} from '#server/model/json.ts';
import {parseJson} from '#server/model/json-parser.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {Catalog} from './catalog.ts';
import {type CatalogData, emptyCatalogData} from './definition.ts';
import type {DeclaredFamilies} from './index-families.ts';

/** The format since there are functions and triggers. */
const format = 2;
/** The format before that. */
const formatBefore = 1;
/** Marks a database whose records may hold compressed values: older releases must refuse it. */
const formatCompressing = 3;
/** Marks a database with indexes of families that are not keyed. */
const formatSearch = 4;
const known: ReadonlySet<unknown> = new Set([
  format,
  formatBefore,
  formatCompressing,
  formatSearch,
]);
const depthMax = 1_000;

/**
 * Writes catalogs. A definition never changes, so its text is made once, however often the schema
 * around it is written: the cost is that of what is new, and of putting the texts together.
 */
export class CatalogEncoder {
  /** The texts of the catalog that was written last. */
  #texts: ReadonlyMap<object, string> = new Map();

  encode({data, families}: Catalog): Uint8Array {
    const texts = new Map<object, string>();
    const textOf = (definition: object): string => {
      const text = this.#texts.get(definition) ?? jsonText(toValue(definition));
      texts.set(definition, text);
      return text;
    };
    const fields = Object.entries(data).map(([name, field]: [string, unknown]) => {
      const isList = Array.isArray(field);
      return `"${name}":${isList ? `[${field.map(textOf).join(',')}]` : jsonText(toValue(field))}`;
    });
    this.#texts = texts;
    const hasSearch = data.indexes.some(index => !families.of(index).isKeyed);
    const compressing = data.foldsValues === true ? formatCompressing : format;
    const shape = hasSearch ? formatSearch : compressing;
    return utf8Bytes(`{"format":${shape},"data":{${fields.join(',')}}}`);
  }
}

/**
 * Whether `after` is `before` with more types and buckets and nothing else changed: then what was
 * written under the one means the same under the other.
 */
export function extendsCatalog(before: Catalog, after: Catalog): boolean {
  const {types, buckets} = before.data;
  const common: CatalogData = {
    ...after.data,
    version: before.version,
    typeIdNext: before.data.typeIdNext,
    bucketIdNext: before.data.bucketIdNext,
    types: after.data.types.slice(0, types.length),
    buckets: after.data.buckets.slice(0, buckets.length),
  };
  return Object.entries(common).every(([name, field]: [string, unknown]) =>
    isSame(field, before.data[name as keyof CatalogData] ?? null),
  );
}

/** Whether two definitions, lists of them or values say the same; most are the same objects. */
function isSame(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (!Array.isArray(left) || !Array.isArray(right)) {
    return jsonText(toValue(left)) === jsonText(toValue(right));
  }
  return left.length === right.length && left.every((one, at) => isSame(one, right[at]));
}

/**
 * The catalog of stored bytes; an empty one where nothing is stored.
 *
 * @throws {Corruption} when the bytes are not an encoded catalog of a known format, and for indexes
 * of a family that is none of `families`.
 */
export function decodeCatalog(bytes: Uint8Array | undefined, families: DeclaredFamilies): Catalog {
  if (bytes === undefined) return new Catalog(undefined, families);
  const data = decodeCatalogData(bytes);
  const unknown = data.indexes.find(({kind}) => !families.has(kind));
  if (unknown === undefined) return new Catalog(data, families);
  throw new Corruption(
    `the stored catalog has an index '${unknown.name}' of family '${unknown.kind}', ` +
      'which is not known here',
  );
}

/** Works like `decodeCatalog` for whoever asks for names alone, whatever its indexes are of. */
export function decodeCatalogData(bytes: Uint8Array | undefined): CatalogData {
  if (bytes === undefined) return emptyCatalogData;
  const read = readDocument(bytes);
  if (!(read instanceof Map) || !known.has(read.get('format'))) {
    throw new Corruption('the stored catalog has an unknown format');
  }
  const data = read.get('data');
  if (!(data instanceof Map)) throw new Corruption('the stored catalog has no data');
  const stored = fromValue(data, 'data') as CatalogData;
  return {...stored, functions: stored.functions ?? [], triggers: stored.triggers ?? []};
}

function readDocument(bytes: Uint8Array): Value {
  try {
    return parseJson(bytes, depthMax);
  } catch (cause) {
    throw new Corruption(`the stored catalog is not readable: ${String(cause)}`);
  }
}

/** Keys whose objects are maps of values and not fields of a definition. */
const mapKeys = new Set(['custom', 'settings', 'options']);
/** Keys whose content is a value as it is. */
const valueKeys = new Set(['min', 'max']);

function toValue(data: unknown): Value {
  if (Array.isArray(data)) return data.map(toValue);
  if (data instanceof Map || typeof data !== 'object' || data === null) return data as Value;
  const map = new Map<string, Value>();
  for (const [key, field] of Object.entries(data)) {
    if (field === undefined) continue;
    map.set(key, valueKeys.has(key) ? (field as Value) : toValue(field));
  }
  return map;
}

function fromValue(value: Value, key: string): unknown {
  if (valueKeys.has(key) || mapKeys.has(key)) return value;
  if (Array.isArray(value)) return value.map(element => fromValue(element, key));
  if (!(value instanceof Map)) return value;
  const fields: Record<string, unknown> = {};
  for (const [name, field] of value as MapValue) fields[name] = fromValue(field, name);
  return fields;
}
