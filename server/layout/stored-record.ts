/**
 * A stored record as a value: the bytes as they lie, decoded property by property when asked.
 *
 * The record is bytes [offset, offset + length) of an array that nobody writes any more, so it
 * may be kept; a record that still lies in the buffer of a scan is for looking at only (`keep`
 * copies it).
 */
import {copyBytes} from '#server/base/utf8.ts';
import {type RecordKind, RecordValue, type Rid, type Value} from '#server/model/value.ts';
import {
  checkRecord,
  edgeFrom,
  edgeTo,
  propertyCount,
  propertyId,
  readProperty,
  readSlot,
  recordKindOf,
  recordTypeId,
  recordVersionOf,
} from './record.ts';
import type {RecordSchema} from './record-schema.ts';

export class StoredRecord extends RecordValue {
  readonly rid: Rid;
  readonly bytes: Uint8Array;
  readonly offset: number;
  readonly length: number;
  readonly schema: RecordSchema;

  /** `place` defaults to all of `bytes`. */
  constructor(
    rid: Rid,
    bytes: Uint8Array,
    schema: RecordSchema,
    place: {readonly offset: number; readonly length: number} = {offset: 0, length: bytes.length},
  ) {
    super();
    checkRecord(bytes, place.offset, place.length);
    this.rid = rid;
    this.bytes = bytes;
    this.offset = place.offset;
    this.length = place.length;
    this.schema = schema;
  }

  /** The same record over bytes of its own. */
  keep(): StoredRecord {
    const {bytes, offset, length} = this;
    return new StoredRecord(this.rid, copyBytes(bytes, offset, offset + length), this.schema);
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

  /** As `get`, for a name whose id is known. */
  getById(id: number): Value | undefined {
    return readProperty(this.bytes, this.offset, this.length, id);
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
      properties.set(name, readSlot(this.bytes, this.offset, this.length, slot));
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
