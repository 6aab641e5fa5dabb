/**
 * A record where it lies in a packed row: one cursor that moves from row to row.
 *
 * For the test of a scan only, which may read properties but keep nothing: the next `move`
 * turns it into another record. `copy` makes a record of its own out of it. A chunk lives as long
 * as one of its records does.
 */
import {copyBytes} from '#server/base/utf8.ts';
import {
  edgeFrom,
  edgeTo,
  findProperty,
  isCompressed,
  propertyCount,
  propertyId,
  recordKindOf,
  recordTypeId,
} from '#server/layout/record.ts';
import {ridOfRecordKey} from '#server/layout/record-key.ts';
import type {RecordSchema} from '#server/layout/record.ts';
import {
  type CompressedValueSource,
  type RecordPlace,
  readValueOf,
  StoredRecord,
} from '#server/layout/stored-record.ts';
import {type RecordKind, RecordValue, type Rid, type Value} from '#server/model/value.ts';

const noBytes = new Uint8Array(0);
const chunkBytesMin = 2 << 10;
const chunkBytesMax = 32 << 10;

/** Copies records into shared chunks, small ones first: one allocation for many of them. */
export class RecordArena {
  #chunk = noBytes;
  #used = 0;

  /** `folds`: as StoredRecord has it. */
  keep(
    rid: Rid,
    record: Uint8Array,
    schema: RecordSchema,
    folds?: CompressedValueSource,
  ): StoredRecord {
    const {length} = record;
    if (length > chunkBytesMax / 8) {
      const place = {offset: 0, length};
      return new StoredRecord(rid, copyBytes(record, 0, length), schema, place, folds);
    }
    if (this.#used + length > this.#chunk.length) {
      const wanted = Math.max(this.#chunk.length * 4, chunkBytesMin, length);
      this.#chunk = new Uint8Array(Math.min(wanted, chunkBytesMax));
      this.#used = 0;
    }
    const offset = this.#used;
    this.#chunk.set(record, offset);
    this.#used += length;
    return new StoredRecord(rid, this.#chunk, schema, {offset, length}, folds);
  }
}

export class ScannedRecord extends RecordValue implements RecordPlace {
  readonly schema: RecordSchema;
  readonly #folds: CompressedValueSource;
  bytes: Uint8Array = noBytes;
  /** The record is bytes [start, end). */
  start = 0;
  end = 0;
  #keyStart = 0;
  #rid: Rid | undefined;

  constructor(schema: RecordSchema, folds: CompressedValueSource) {
    super();
    this.schema = schema;
    this.#folds = folds;
  }

  get offset(): number {
    return this.start;
  }

  get length(): number {
    return this.end - this.start;
  }

  /** Whether some of its values are not as they are in its bytes. */
  get isCompressed(): boolean {
    return isCompressed(this.bytes, this.start);
  }

  move(bytes: Uint8Array, keyStart: number, start: number, end: number): void {
    this.bytes = bytes;
    this.#keyStart = keyStart;
    this.start = start;
    this.end = end;
    this.#rid = undefined;
  }

  /** A record of its own; records of one arena share its chunks. */
  copy(arena: RecordArena): StoredRecord {
    const {bytes, start, end} = this;
    const folds = this.isCompressed ? this.#folds : undefined;
    return arena.keep(this.rid, bytes.subarray(start, end), this.schema, folds);
  }

  get rid(): Rid {
    this.#rid ??= ridOfRecordKey(this.bytes, this.#keyStart);
    return this.#rid;
  }

  get typeName(): string {
    return this.schema.typeName(recordTypeId(this.bytes, this.start));
  }

  get kind(): RecordKind {
    return recordKindOf(this.bytes, this.start);
  }

  get from(): Rid | undefined {
    return this.kind === 'edge' ? edgeFrom(this.bytes, this.start) : undefined;
  }

  get to(): Rid | undefined {
    return this.kind === 'edge' ? edgeTo(this.bytes, this.start) : undefined;
  }

  get(name: string): Value | undefined {
    const id = this.schema.propertyId(name);
    if (id === undefined) return undefined;
    const slot = findProperty(this.bytes, this.start, id);
    return slot < 0 ? undefined : readValueOf(this.rid, this, slot, this.#folds);
  }

  propertyNames(): readonly string[] {
    const names: string[] = [];
    const count = propertyCount(this.bytes, this.start);
    for (let slot = 0; slot < count; slot++) {
      names.push(this.schema.propertyName(propertyId(this.bytes, this.start, slot)));
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
