/**
 * A stored record as a value: the bytes as they lie, decoded property by property when asked.
 *
 * Owns its bytes (they are never written again), so it may outlive the buffer of its scan.
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
  /** The record and nothing else. */
  readonly bytes: Uint8Array;
  readonly schema: RecordSchema;

  /** @param bytes - The record's own array: pass `StoredRecord.copied` one that is reused. */
  constructor(rid: Rid, bytes: Uint8Array, schema: RecordSchema) {
    super();
    checkRecord(bytes, 0, bytes.length);
    this.rid = rid;
    this.bytes = bytes;
    this.schema = schema;
  }

  /** As the constructor, for a record that lies in a buffer which will be reused. */
  static copied(
    rid: Rid,
    source: {readonly bytes: Uint8Array; readonly start: number; readonly end: number},
    schema: RecordSchema,
  ): StoredRecord {
    return new StoredRecord(rid, copyBytes(source.bytes, source.start, source.end), schema);
  }

  get typeId(): number {
    return recordTypeId(this.bytes, 0);
  }

  get typeName(): string {
    return this.schema.typeName(this.typeId);
  }

  get kind(): RecordKind {
    return recordKindOf(this.bytes, 0);
  }

  /** Counts the writes of this record from 1. */
  get version(): number {
    return recordVersionOf(this.bytes, 0);
  }

  get from(): Rid | undefined {
    return this.kind === 'edge' ? edgeFrom(this.bytes, 0) : undefined;
  }

  get to(): Rid | undefined {
    return this.kind === 'edge' ? edgeTo(this.bytes, 0) : undefined;
  }

  get(name: string): Value | undefined {
    const id = this.schema.propertyId(name);
    return id === undefined ? undefined : this.getById(id);
  }

  /** As `get`, for a name whose id is known. */
  getById(id: number): Value | undefined {
    return readProperty(this.bytes, 0, this.bytes.length, id);
  }

  propertyNames(): readonly string[] {
    const names: string[] = [];
    const count = propertyCount(this.bytes, 0);
    for (let slot = 0; slot < count; slot++) {
      names.push(this.schema.propertyName(propertyId(this.bytes, 0, slot)));
    }
    return names;
  }

  /** All properties in order, decoded. */
  properties(): Map<string, Value> {
    const properties = new Map<string, Value>();
    for (const [slot, name] of this.propertyNames().entries()) {
      properties.set(name, readSlot(this.bytes, 0, this.bytes.length, slot));
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
