/**
 * The keys that a record has in an index: which values, in which form.
 *
 * BY ITEM, BY KEY and BY VALUE give one key for each distinct element; several such parts give
 * every combination. COLLATE CI sorts by the lower-case text and keeps the original beside it.
 * Nulls: a key whose parts are all null is skipped, refused or indexed as the index says; a key
 * with some null is indexed but never a duplicate, so that prefixes find every record.
 */
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition, IndexProperty} from '#server/catalog/definition.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {appendIndexEntry, type IndexEntryBytes, type KeyPart} from '#server/layout/index-key.ts';
import {groupKey, isListValue, isNumberArray, listOfArray} from '#server/model/compare.ts';
import {convertValue, type DataType, isNumberType, parseDataType} from '#server/model/data-type.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {jsonText} from '#server/model/json.ts';
import {isNumberValue, numberText} from '#server/model/number.ts';
import {ridOfText} from '#server/model/rid.ts';
import {EmbeddedValue, type MapValue, type Rid, type Value} from '#server/model/value.ts';

const keyBytesUsual = 64;
/** A product of several multi-valued parts may not exceed this. */
const keysMax = 10_000;

/** What of a record is looked at. */
export interface IndexedRecord {
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;
  get(name: string): Value | undefined;
}

/** Where an entry lies: the key is [start, keyEnd), the value [keyEnd, end). */
export interface EntryPlace {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly keyEnd: number;
  readonly end: number;
}

/** An entry to write, and whether another record may not have its key. */
export interface IndexKey extends IndexEntryBytes, EntryPlace {
  readonly unique: boolean;
  /** The index's name. */
  readonly index: string;
  /** The values as the refusal of a duplicate shows them: `[ann,30]`. */
  readonly text: string;
}

/** Data type of each part, as far as the schema declares it: decides what keys must keep. */
export function declaredParts(
  index: IndexDefinition,
  type: CatalogType,
): readonly (DataType | undefined)[] {
  return index.properties.map(({name, by}) => {
    if (name === '@in' || name === '@out') return 'LINK';
    const property = type.properties.get(name);
    if (by === undefined) return property?.type === 'ANY' ? undefined : property?.type;
    if (by === 'key') return 'STRING';
    return property?.ofType === undefined ? undefined : parseDataType(property.ofType);
  });
}

/**
 * The entries of `record` under an ordered or a hash index (see `EntriesOf`).
 *
 * @throws {Refusal} `value.validation` for a null key where the index says ERROR.
 */
export function keyedEntries(
  index: IndexDefinition,
  declared: readonly (DataType | undefined)[],
  rid: Rid,
  record: IndexedRecord,
  out: ByteWriter,
): readonly IndexKey[] {
  const {properties} = index;
  const [first] = properties;
  if (properties.length === 1 && first !== undefined && first.by === undefined) {
    const key = keyOf(index, declared, rid, [valueOf(first, record)], out);
    return key === undefined ? none : [key];
  }
  const lists = properties.map(property => valuesOfPart(property, record));
  const keys: IndexKey[] = [];
  for (const values of combinations(lists, index.name)) {
    const key = keyOf(index, declared, rid, values, out);
    if (key !== undefined) keys.push(key);
  }
  return keys;
}

const none: readonly IndexKey[] = [];

/** The entry of one value a part; undefined where the index takes none. */
function keyOf(
  index: IndexDefinition,
  declared: readonly (DataType | undefined)[],
  rid: Rid,
  values: readonly Value[],
  out: ByteWriter,
): IndexKey | undefined {
  let nulls = 0;
  for (const value of values) if (value === null) nulls++;
  if (nulls > 0 && index.nullStrategy === 'ERROR') throw nullRefusal(index);
  if (nulls === values.length && index.nullStrategy === 'SKIP') return undefined;
  const parts = values.map((original, at): KeyPart => {
    const property = index.properties[at] as IndexProperty;
    return {original, sorted: sortedForm(property, original), declared: declared[at]};
  });
  const unique = index.unique && (nulls === 0 || index.nullStrategy === 'INDEX');
  const start = out.length;
  const keyEnd = appendIndexEntry(out, index, parts, rid, !unique);
  return new RecordKey(index.name, values, out, {unique, start, keyEnd});
}

class RecordKey implements IndexKey {
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly keyEnd: number;
  readonly end: number;
  readonly index: string;
  readonly unique: boolean;
  readonly #values: readonly Value[];

  /** The entry that `out` ends with. */
  constructor(
    index: string,
    values: readonly Value[],
    out: ByteWriter,
    {unique, start, keyEnd}: Pick<IndexKey, 'unique' | 'start' | 'keyEnd'>,
  ) {
    this.bytes = out.bytes;
    this.start = start;
    this.keyEnd = keyEnd;
    this.end = out.length;
    this.index = index;
    this.unique = unique;
    this.#values = values;
  }

  get key(): Uint8Array {
    return this.bytes.subarray(this.start, this.keyEnd);
  }

  get value(): Uint8Array {
    return this.bytes.subarray(this.keyEnd, this.end);
  }

  get text(): string {
    return keyText(this.#values);
  }
}

/** A writer for one key on a piece of a shared slab: the store needs bytes outside of the heap. */
export function keyWriter(): ByteWriter {
  return new ByteWriter(Buffer.allocUnsafe(keyBytesUsual));
}

function nullRefusal(index: IndexDefinition): Refusal {
  const names = index.properties.map(property => property.name).join(', ');
  return new Refusal('value.validation', `index '${index.name}' takes no null in ${names}`, {
    detail: {index: index.name},
  });
}

/** `[a,b]` for people, cut when it is long. */
export function keyText(values: readonly Value[]): string {
  // JSON has no word for NaN and the infinities.
  const texts = values.map(value =>
    typeof value === 'string' || typeof value === 'number' ? String(value) : jsonText(value),
  );
  const text = `[${texts.join(',')}]`;
  return text.length > 200 ? `${text.slice(0, 200)}...` : text;
}

function sortedForm(property: IndexProperty, value: Value): Value {
  return property.ignoreCase && typeof value === 'string' ? value.toLowerCase() : value;
}

function valueOf({name}: IndexProperty, record: IndexedRecord): Value {
  if (name === '@in') return record.to ?? null;
  if (name === '@out') return record.from ?? null;
  return record.get(name) ?? null;
}

function valuesOfPart(property: IndexProperty, record: IndexedRecord): readonly Value[] {
  const value = valueOf(property, record);
  if (property.by === undefined || value === null) return [value];
  if (property.by === 'item') {
    if (!isListValue(value)) return [value];
    return distinct(property, isNumberArray(value) ? listOfArray(value) : value);
  }
  const map = value instanceof EmbeddedValue ? value.properties : value;
  if (!(map instanceof Map)) return [null];
  const entries = map as MapValue;
  return distinct(property, property.by === 'key' ? [...entries.keys()] : [...entries.values()]);
}

function distinct(property: IndexProperty, values: readonly Value[]): readonly Value[] {
  const seen = new Map<string | number, Value>();
  for (const value of values) {
    const key = groupKey(sortedForm(property, value));
    if (!seen.has(key)) seen.set(key, value);
  }
  // Nothing in it counts as null, so that a prefix of other parts still finds the record.
  return seen.size === 0 ? [null] : [...seen.values()];
}

function combinations(
  lists: readonly (readonly Value[])[],
  name: string,
): readonly (readonly Value[])[] {
  let rows: (readonly Value[])[] = [[]];
  for (const list of lists) {
    if (rows.length * list.length > keysMax) {
      throw new Refusal('value.validation', `a record has over ${keysMax} keys in index '${name}'`);
    }
    const next: (readonly Value[])[] = [];
    for (const row of rows) for (const value of list) next.push([...row, value]);
    rows = next;
  }
  return rows;
}

/**
 * A searched value in the form of the index's keys: folded under COLLATE CI, a text read as the
 * number, date, boolean or record id that the property holds, a number as the text that it holds.
 */
export function searchForm(
  property: IndexProperty,
  declared: DataType | undefined,
  value: Value,
): Value {
  if (declared === 'STRING' && isNumberValue(value)) {
    return sortedForm(property, numberText(value));
  }
  if (typeof value !== 'string') return value;
  if (isNumberType(declared)) return parseDecimal(value.trim()) ?? value;
  if (declared === 'BOOLEAN') return value === 'true' || (value === 'false' ? false : value);
  if (declared === 'LINK') return ridOfText(value) ?? value;
  if (declared === 'DATE' || declared?.startsWith('DATETIME') === true) {
    try {
      return convertValue(value, {type: declared}, property.name);
    } catch (error) {
      // A text that is no date is equal to no date: it stays a text and is found nowhere.
      if (error instanceof Refusal) return value;
      throw error;
    }
  }
  return sortedForm(property, value);
}
