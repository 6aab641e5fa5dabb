/**
 * A stored record as a value: the bytes as they lie, decoded property by property when asked.
 *
 * The record is bytes [offset, offset + length) of an array that nobody writes any more, so it
 * may be kept; a record that still lies in the buffer of a scan is for looking at only (`keep`
 * copies it).
 */
import {copyBytes} from '#server/base/utf8.ts';
import {type RecordKind, RecordValue, type Rid, type Value} from '#server/model/value.ts';
import {compressedValuesOf} from './compressed-value.ts';
import {
  checkRecord,
  edgeFrom,
  edgeTo,
  findProperty,
  isCompressed,
  propertyCount,
  propertyId,
  propertyTag,
  readSlot,
  recordKindOf,
  recordTypeId,
  recordVersionOf,
} from './record.ts';
import type {RecordSchema} from './record.ts';
import {valueTag} from './value-tag.ts';

/**
 * Gives the values that a record does not hold as they are (compressed-value.ts), as of one
 * snapshot.
 */
export interface CompressedValueSource {
  /** The value in `slot` of the record in bytes [offset, offset + length), which is compressed. */
  value(rid: Rid, place: RecordPlace, slot: number): Value;
  /** The same record with every value as it is. */
  whole(record: StoredRecord): StoredRecord;
}

/** Where the bytes of a record are. */
export interface RecordPlace {
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly length: number;
}

/** The value in `slot`, fetched from `folds` where it is compressed. */
export function readValueOf(
  rid: Rid,
  place: RecordPlace,
  slot: number,
  folds: CompressedValueSource | undefined,
): Value {
  const {bytes, offset, length} = place;
  const isThere =
    !isCompressed(bytes, offset) || propertyTag(bytes, offset, slot) !== valueTag.compressed;
  if (folds === undefined || isThere) return readSlot(bytes, offset, length, slot);
  return folds.value(rid, place, slot);
}

export class StoredRecord extends RecordValue {
  readonly rid: Rid;
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly length: number;
  readonly schema: RecordSchema;
  readonly #folds: CompressedValueSource | undefined;

  /**
   * `place` defaults to all of `bytes`. `folds`: of a record that has compressed values still; it
   * is good for as long as they are.
   */
  constructor(
    rid: Rid,
    bytes: Uint8Array,
    schema: RecordSchema,
    place: {readonly offset: number; readonly length: number} = {offset: 0, length: bytes.length},
    folds?: CompressedValueSource,
  ) {
    super();
    checkRecord(bytes, place.offset, place.length);
    this.rid = rid;
    this.bytes = bytes;
    this.offset = place.offset;
    this.length = place.length;
    this.schema = schema;
    this.#folds = folds;
  }

  /** The same record over bytes of its own. */
  keep(): StoredRecord {
    const {rid, bytes, offset, length, schema} = this;
    const copy = copyBytes(bytes, offset, offset + length);
    return new StoredRecord(rid, copy, schema, {offset: 0, length}, this.#folds);
  }

  /** Whether some of its values are not as they are in its bytes (compressed-value.ts). */
  get isCompressed(): boolean {
    return isCompressed(this.bytes, this.offset);
  }

  /** Ids of the names of the properties whose values lie beside the record (external-key.ts). */
  propertiesBeside(): readonly number[] {
    if (!this.isCompressed) return [];
    const folds = compressedValuesOf(this.bytes, this.offset, this.length);
    return folds.filter(fold => fold.pack === undefined).map(fold => fold.property);
  }

  /** The record with every value as it is in its bytes: itself, but where some are compressed. */
  whole(): StoredRecord {
    return this.isCompressed ? (this.#folds?.whole(this) ?? this) : this;
  }

  get typeId(): number {
    return recordTypeId(this.bytes, this.offset);
  }

  get typeName(): string {
    return this.schema.typeName(this.typeId);
  }

  get kind(): RecordKind {
    return recordKindOf(this.bytes, this.offset);
  }

  /** Counts the writes of this record from 1. */
  get version(): number {
    return recordVersionOf(this.bytes, this.offset);
  }

  get from(): Rid | undefined {
    return this.kind === 'edge' ? edgeFrom(this.bytes, this.offset) : undefined;
  }

  get to(): Rid | undefined {
    return this.kind === 'edge' ? edgeTo(this.bytes, this.offset) : undefined;
  }

  get(name: string): Value | undefined {
    const id = this.schema.propertyId(name);
    return id === undefined ? undefined : this.getById(id);
  }

  /** Works like `get`, for a name whose id is known. */
  getById(id: number): Value | undefined {
    const slot = findProperty(this.bytes, this.offset, id);
    return slot < 0 ? undefined : readValueOf(this.rid, this, slot, this.#folds);
  }

  propertyNames(): readonly string[] {
    const names: string[] = [];
    const count = propertyCount(this.bytes, this.offset);
    for (let slot = 0; slot < count; slot++) {
      names.push(this.schema.propertyName(propertyId(this.bytes, this.offset, slot)));
    }
    return names;
  }

  override properties(): Map<string, Value> {
    const properties = new Map<string, Value>();
    for (const [slot, name] of this.propertyNames().entries()) {
      properties.set(name, readValueOf(this.rid, this, slot, this.#folds));
    }
    return properties;
  }
}

/** An edge without a record: what its adjacency key says. It has no properties. */
export class LightEdge extends RecordValue {
  readonly rid: Rid;
  readonly typeId: number;
  readonly from: Rid;
  readonly to: Rid;
  readonly kind: RecordKind = 'edge';
  private readonly schema: RecordSchema;

  constructor(
    edge: {readonly rid: Rid; readonly typeId: number; readonly from: Rid; readonly to: Rid},
    schema: RecordSchema,
  ) {
    super();
    this.rid = edge.rid;
    this.typeId = edge.typeId;
    this.from = edge.from;
    this.to = edge.to;
    this.schema = schema;
  }

  get typeName(): string {
    return this.schema.typeName(this.typeId);
  }

  get(_name: string): Value | undefined {
    return undefined;
  }

  propertyNames(): readonly string[] {
    return [];
  }
}
