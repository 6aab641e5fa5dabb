/**
 * Compresses values of records when they are written, and decompresses them when they are read.
 *
 * A property that the schema calls external or compressed is compressed with the next write of its
 * record (layout/compressed-value.ts says what the bytes are). What is stored is read by its own
 * bytes, never by the schema: a change of the schema rewrites nothing. Compressing happens where
 * the commit is made, before its entry is appended, so all members hold the same bytes.
 *
 * A value that is not asked for costs nothing: what lies beside a record is another key, and what
 * is compressed stays so. See docs/design/0025-compressed-values.md.
 */
import {constants, crc32, zstdCompressSync, zstdDecompressSync} from 'node:zlib';
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {Compression, PropertyDefinition} from '#server/catalog/definition.ts';
import {externalKey} from '#server/layout/external-key.ts';
import {
  type Body,
  codecs,
  type CompressedValue,
  compressedValueAt,
  compressedOutside,
  compressedInline,
  compressedValuesOf,
  packHeaderBytes,
  withBodies,
} from '#server/layout/compressed-value.ts';
import {findProperty, propertyEnd, propertyStart, propertyTag} from '#server/layout/record.ts';
import {recordBytesMaxDefault} from '#server/layout/record-encoding.ts';
import {
  type CompressedValueSource,
  type RecordPlace,
  StoredRecord,
} from '#server/layout/stored-record.ts';
import {readValue} from '#server/layout/stored-value-reader.ts';
import {ridText} from '#server/model/rid.ts';
import type {Rid, Value} from '#server/model/value.ts';
import {createPackedRows, eachRow, getManyGrowing, packKeys} from '#server/storage/packed-rows.ts';
import type {Reader} from '#server/storage/store.ts';

/** `auto` leaves shorter values alone, and those of which less than an eighth would be saved. */
const autoBytesMin = 256;
const autoSaving = 1 / 8;
const zstdLevel = 1;
/** Keys in one packed call, and the largest buffer that it begins with. */
const keysAtOnce = 256;
const rowsBytesMax = 1 << 20;
/** What a packed value takes beside it: the headers of its row and of its pack. */
const rowBytesMore = 16;

/** A record as it is to be stored. */
export interface CompressedRecord {
  readonly bytes: Uint8Array;
  /** What is to lie beside it, by the ids of the properties' names. */
  readonly beside: ReadonlyMap<number, Uint8Array>;
}

/** Compresses the values of `properties` in a record, as far as it has them and it pays. */
export function compressRecord(
  record: RecordPlace,
  properties: readonly PropertyDefinition[],
): CompressedRecord {
  const {bytes, offset, length} = record;
  const bodies = new Map<number, Body>();
  const beside = new Map<number, Uint8Array>();
  for (const {id, external, compression} of properties) {
    const slot = findProperty(bytes, offset, id);
    if (slot < 0) continue;
    const start = propertyStart(bytes, offset, slot);
    const end = propertyEnd(bytes, offset, length, slot);
    // null, true, false and the empty text have no bytes that could lie elsewhere.
    if (start === end) continue;
    const pack = packOf(propertyTag(bytes, offset, slot), bytes.subarray(start, end), compression);
    if (external === true) {
      beside.set(id, pack);
      bodies.set(slot, compressedOutside(end - start, crc32(pack)));
    } else if (pack[0] !== codecs.none) bodies.set(slot, compressedInline(end - start, pack));
  }
  return {bytes: bodies.size === 0 ? sliceOf(record) : withBodies(record, bodies), beside};
}

function sliceOf({bytes, offset, length}: RecordPlace): Uint8Array {
  return bytes.subarray(offset, offset + length);
}

function packOf(tag: number, body: Uint8Array, requested: Compression | undefined): Uint8Array {
  const compressed = requested && compressedBody(body, requested);
  const pack = new Uint8Array(packHeaderBytes + (compressed ?? body).length);
  pack[0] = compressed === undefined ? codecs.none : codecs.zstd;
  pack[1] = tag;
  pack.set(compressed ?? body, packHeaderBytes);
  return pack;
}

/** Undefined where the requested is better served without. */
function compressedBody(body: Uint8Array, requested: Compression): Uint8Array | undefined {
  if (requested === 'auto' && body.length < autoBytesMin) return undefined;
  const params = {[constants.ZSTD_c_compressionLevel]: zstdLevel};
  const compressed = zstdCompressSync(body, {params});
  const worthwhile = requested === 'auto' ? body.length * (1 - autoSaving) : body.length - 1;
  return compressed.length <= worthwhile ? compressed : undefined;
}

/** A value that lies beside its record is not there, or is another one than it says. */
export class BesideFault extends Corruption {
  /** Id of its name. */
  readonly property: number;
  readonly isMissing: boolean;

  constructor(rid: Rid, property: number, isMissing: boolean) {
    const says = isMissing ? 'is missing' : 'is not the one that belongs to it';
    super(`the value of a property that lies beside its record ${says}`, {
      rid: ridText(rid),
      property,
    });
    this.property = property;
    this.isMissing = isMissing;
  }
}

/**
 * Reads the compressed values of records from one reader. What it gives is as of the reader's
 * snapshot.
 *
 * Every method throws Corruption where the bytes of a record or beside it are no such thing
 * (BesideFault where they are not there), and Refusal (`limit.record`) where a record would be
 * larger than any may be.
 */
export class CompressedValueReader implements CompressedValueSource {
  readonly #reader: Reader;
  readonly #isAsked: ((property: number) => boolean) | undefined;

  /**
   * @param isAsked - Which properties `decompress` is about, by their names' ids; the others are
   * read when a record is asked for them. Default: all.
   */
  constructor(reader: Reader, isAsked?: (property: number) => boolean) {
    this.#reader = reader;
    this.#isAsked = isAsked;
  }

  /** The record with the values that are asked for as they are. */
  decompress(record: StoredRecord): StoredRecord {
    return record.isCompressed ? (this.decompressAll([record])[0] ?? record) : record;
  }

  /** Works like `decompress`, and reads all that lies outside the records at once. */
  decompressAll<R extends StoredRecord | undefined>(records: readonly R[]): readonly R[] {
    const asked = records.map(record =>
      record?.isCompressed === true ? this.#asked(record) : none,
    );
    const packs = this.#packsBeside(records, asked);
    return records.map((record, at) => {
      const values = asked[at] ?? none;
      return record?.isCompressed === true
        ? (this.#uncompressed(record, values, packs) as R)
        : record;
    });
  }

  whole(record: StoredRecord): StoredRecord {
    return new CompressedValueReader(this.#reader).decompress(record);
  }

  value(rid: Rid, place: RecordPlace, slot: number): Value {
    const value = compressedValueAt(place.bytes, place.offset, place.length, slot);
    const {tag, bytes} = bodyOf(rid, value, this.#packOf(rid, value));
    return readValue(tag, bytes, 0, bytes.length);
  }

  /** Bytes that the values of a record that are asked for have when they are uncompressed. */
  bytesAsked(record: RecordPlace): number {
    return this.#asked(record).reduce((sum, value) => sum + value.length, 0);
  }

  #asked({bytes, offset, length}: RecordPlace): readonly CompressedValue[] {
    const values = compressedValuesOf(bytes, offset, length);
    const isAsked = this.#isAsked;
    return isAsked === undefined ? values : values.filter(({property}) => isAsked(property));
  }

  #packOf(rid: Rid, {pack, property}: CompressedValue): Uint8Array | undefined {
    return pack ?? this.#reader.get(externalKey(rid, property));
  }

  /** One after the other, as the values that lie beside come. */
  #packsBeside(
    records: readonly (StoredRecord | undefined)[],
    asked: readonly (readonly CompressedValue[])[],
  ): Iterator<Uint8Array | undefined> {
    const keys: Uint8Array[] = [];
    let bytes = 0;
    for (const [at, record] of records.entries()) {
      if (record === undefined) continue;
      for (const {pack, property, length} of asked[at] ?? none) {
        if (pack !== undefined) continue;
        keys.push(externalKey(record.rid, property));
        bytes += length + rowBytesMore;
      }
    }
    return valuesOf(this.#reader, keys, Math.min(bytes, rowsBytesMax));
  }

  #uncompressed(
    record: StoredRecord,
    values: readonly CompressedValue[],
    packs: Iterator<Uint8Array | undefined>,
  ): StoredRecord {
    const {rid, schema} = record;
    const bodies = new Map<number, Body>();
    let bytes = 0;
    for (const value of values) {
      bytes += value.length;
      if (bytes > recordBytesMaxDefault) throw tooLarge(rid);
      const pack = value.pack ?? (packs.next().value as Uint8Array | undefined);
      bodies.set(value.slot, bodyOf(rid, value, pack));
    }
    const uncompressed = bodies.size === 0 ? sliceOf(record) : withBodies(record, bodies);
    const place = {offset: 0, length: uncompressed.length};
    return new StoredRecord(rid, uncompressed, schema, place, this);
  }
}

const none: readonly CompressedValue[] = [];

/** The values under the keys, in their order, in pieces of about so many bytes. */
function* valuesOf(
  reader: Reader,
  keys: readonly Uint8Array[],
  bytes: number,
): Generator<Uint8Array | undefined, undefined, undefined> {
  const [only] = keys;
  if (keys.length === 1 && only !== undefined) return yield reader.get(only);
  for (let from = 0; from < keys.length; ) {
    const asked = keys.slice(from, from + keysAtOnce);
    // A buffer each time: what was given before may be looked at yet.
    const rows = getManyGrowing(reader, packKeys(asked), asked.length, createPackedRows(bytes));
    for (const {value} of eachRow(rows)) yield value;
    from += rows.rowCount;
  }
  return undefined;
}

/**
 * The body that was compressed. `pack`: what lies beside, or is in the record; undefined: nothing.
 */
function bodyOf(rid: Rid, value: CompressedValue, pack: Uint8Array | undefined): Body {
  const {length, property} = value;
  if (pack === undefined) throw new BesideFault(rid, property, true);
  if (value.pack === undefined && crc32(pack) !== value.checksum) {
    throw new BesideFault(rid, property, false);
  }
  if (length > recordBytesMaxDefault) throw tooLarge(rid);
  const tag = pack[1] as number;
  const content = pack.subarray(packHeaderBytes);
  const bytes = pack[0] === codecs.none ? content : decompressed(pack[0], content, length);
  if (bytes?.length === length) return {tag, bytes};
  throw new Corruption('a compressed value cannot be uncompressed', {rid: ridText(rid), property});
}

/** Gives at most `length` bytes; undefined when it is not what the codec has written. */
function decompressed(
  codec: number | undefined,
  content: Uint8Array,
  length: number,
): Uint8Array | undefined {
  if (codec !== codecs.zstd || length === 0) return undefined;
  try {
    return zstdDecompressSync(content, {maxOutputLength: length});
  } catch {
    return undefined;
  }
}

function tooLarge(rid: Rid): Refusal {
  return new Refusal(
    'limit.record',
    `${ridText(rid)} is larger than any record may be when its values are uncompressed`,
    {detail: {bytesMax: recordBytesMaxDefault}},
  );
}
