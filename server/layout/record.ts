/**
 * The bytes of a record: header, table of properties, bodies.
 *
 *   0  format (1)
 *   1  kind (bits 0-1: document, vertex, edge), bit 2: wide table
 *   2  type id, u32 LE          6  schema version, u32 LE      10  record version, u32 LE
 *  14  number of properties, u16 LE
 *  16  edges only: start, end (record ids, 10 bytes each)
 *  ..  table, in order of insertion: name id (u24 LE), tag (u8), offset of the body from the
 *      end of the table (u16 LE, u32 LE in a wide table)
 *  ..  bodies, one behind the other; a body ends where the next begins
 *
 * One property is read by walking the table: byte arithmetic only, no object a record. The
 * table keeps the order of insertion, which is the order that answers show.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import {copyBytes} from '#server/base/utf8.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {RecordKind, Rid, Value} from '#server/model/value.ts';
import {putRid, ridAt, ridBytes} from './namespace.ts';
import {writeValue} from './stored-value.ts';
import {readInt32, readValue} from './stored-value-reader.ts';

const format = 1;
const headerBytes = 16;
const edgeHeaderBytes = headerBytes + 2 * ridBytes;
const wideBit = 4;
const narrowMax = 0xffff;
const propertiesMax = 0xffff;
const nameIdMax = 0xffffff;
const kinds: readonly RecordKind[] = ['document', 'vertex', 'edge'];

/** Greatest record by default; the setting `svc.recordSizeMax` may lower it. */
export const recordBytesMaxDefault = 16 << 20;

export interface RecordHeader {
  readonly kind: RecordKind;
  readonly typeId: number;
  /** Catalog version under which the record was written. */
  readonly schemaVersion: number;
  /** Counts the writes of this record from 1. */
  readonly recordVersion: number;
  /** Ends of an edge; undefined for other kinds. */
  readonly from?: Rid | undefined;
  readonly to?: Rid | undefined;
}

export interface RecordField {
  /** Id of the property's name in the dictionary. */
  readonly id: number;
  readonly value: Value;
  /** Data type that the schema declares; absent for properties it does not know. */
  readonly declared?: DataType | undefined;
}

/**
 * Encodes a record. `fields` have distinct ids.
 *
 * @param scratch - Reused between calls to save allocations; its content is lost.
 * @throws {Refusal} `limit.record` when the bytes exceed `bytesMax`.
 */
export function encodeRecord(
  header: RecordHeader,
  fields: readonly RecordField[],
  options: {readonly bytesMax?: number; readonly scratch?: ByteWriter} = {},
): Uint8Array {
  const bytesMax = options.bytesMax ?? recordBytesMaxDefault;
  if (fields.length > propertiesMax) {
    throw new Refusal('limit.record', `a record has at most ${propertiesMax} properties`);
  }
  const out = options.scratch ?? new ByteWriter();
  out.clear();
  const start = header.kind === 'edge' ? edgeHeaderBytes : headerBytes;
  // Most records are narrow: room for a wide table is made and closed up when not needed.
  const bodies = start + fields.length * 8;
  out.reserve(bodies);
  out.length = bodies;
  const tags = new Array<number>(fields.length);
  const offsets = new Array<number>(fields.length);
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] as RecordField;
    offsets[at] = out.length - bodies;
    tags[at] = writeValue(out, field.value, field.declared);
    if (out.length > bytesMax) throw tooLarge(out.length, bytesMax);
  }
  const wide = out.length - bodies > narrowMax;
  const tableEnd = start + fields.length * (wide ? 8 : 6);
  const length = tableEnd + out.length - bodies;
  if (length > bytesMax) throw tooLarge(length, bytesMax);
  writeHeader(out.bytes, header, fields.length, wide);
  let at = start;
  for (const [slot, {id}] of fields.entries()) {
    if (id > nameIdMax) throw new Refusal('limit.record', 'the database has too many names');
    at = writeEntry(out.bytes, at, {
      id,
      tag: tags[slot] as number,
      offset: offsets[slot] as number,
      wide,
    });
  }
  out.bytes.copyWithin(tableEnd, bodies, out.length);
  return copyBytes(out.bytes, 0, length);
}

function tooLarge(bytes: number, bytesMax: number): Refusal {
  return new Refusal(
    'limit.record',
    `a record takes more than ${bytesMax} bytes (svc.recordSizeMax)`,
    {detail: {bytes, bytesMax}},
  );
}

function writeHeader(bytes: Uint8Array, header: RecordHeader, count: number, wide: boolean): void {
  bytes[0] = format;
  bytes[1] = kinds.indexOf(header.kind) | (wide ? wideBit : 0);
  putUint32LE(bytes, 2, header.typeId);
  putUint32LE(bytes, 6, header.schemaVersion);
  putUint32LE(bytes, 10, header.recordVersion);
  bytes[14] = count;
  bytes[15] = count >>> 8;
  if (header.from !== undefined && header.to !== undefined) {
    putRid(bytes, headerBytes, header.from);
    putRid(bytes, headerBytes + ridBytes, header.to);
  }
}

function writeEntry(
  bytes: Uint8Array,
  at: number,
  entry: {
    readonly id: number;
    readonly tag: number;
    readonly offset: number;
    readonly wide: boolean;
  },
): number {
  bytes[at] = entry.id;
  bytes[at + 1] = entry.id >>> 8;
  bytes[at + 2] = entry.id >>> 16;
  bytes[at + 3] = entry.tag;
  bytes[at + 4] = entry.offset;
  bytes[at + 5] = entry.offset >>> 8;
  if (!entry.wide) return at + 6;
  bytes[at + 6] = entry.offset >>> 16;
  bytes[at + 7] = entry.offset >>> 24;
  return at + 8;
}

function putUint32LE(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
  bytes[offset + 1] = value >>> 8;
  bytes[offset + 2] = value >>> 16;
  bytes[offset + 3] = value >>> 24;
}

/** @throws {Corruption} when the bytes at `offset` are no record of a known format. */
export function checkRecord(bytes: Uint8Array, offset: number, length: number): void {
  if (length < headerBytes || bytes[offset] !== format || (bytes[offset + 1] as number) > 6) {
    throw new Corruption('a stored record has an unknown format', {offset, length});
  }
}

export function recordKindOf(bytes: Uint8Array, offset: number): RecordKind {
  return kinds[(bytes[offset + 1] as number) & 3] ?? 'document';
}

export function recordTypeId(bytes: Uint8Array, offset: number): number {
  return readInt32(bytes, offset + 2) >>> 0;
}

export function recordVersionOf(bytes: Uint8Array, offset: number): number {
  return readInt32(bytes, offset + 10) >>> 0;
}

export function recordHeader(bytes: Uint8Array, offset: number): RecordHeader {
  const kind = recordKindOf(bytes, offset);
  const header = {
    kind,
    typeId: recordTypeId(bytes, offset),
    schemaVersion: readInt32(bytes, offset + 6) >>> 0,
    recordVersion: recordVersionOf(bytes, offset),
  };
  if (kind !== 'edge') return header;
  return {...header, from: edgeFrom(bytes, offset), to: edgeTo(bytes, offset)};
}

/** Start of an edge; call for edges only. */
export function edgeFrom(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + headerBytes);
}

/** End of an edge; call for edges only. */
export function edgeTo(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + headerBytes + ridBytes);
}

export function propertyCount(bytes: Uint8Array, offset: number): number {
  return (bytes[offset + 14] as number) | ((bytes[offset + 15] as number) << 8);
}

/** Where the table begins, and how long an entry is. */
function tableAt(bytes: Uint8Array, offset: number): number {
  return offset + (((bytes[offset + 1] as number) & 3) === 2 ? edgeHeaderBytes : headerBytes);
}

function entryBytes(bytes: Uint8Array, offset: number): number {
  return ((bytes[offset + 1] as number) & wideBit) === 0 ? 6 : 8;
}

/** Place of a property in the table, -1 when the record does not have it. */
export function findProperty(bytes: Uint8Array, offset: number, id: number): number {
  const size = entryBytes(bytes, offset);
  const count = propertyCount(bytes, offset);
  const low = id & 0xff;
  let at = tableAt(bytes, offset);
  for (let slot = 0; slot < count; slot++, at += size) {
    if (bytes[at] === low && nameIdAt(bytes, at) === id) return slot;
  }
  return -1;
}

function nameIdAt(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16)
  );
}

export function propertyId(bytes: Uint8Array, offset: number, slot: number): number {
  return nameIdAt(bytes, tableAt(bytes, offset) + slot * entryBytes(bytes, offset));
}

export function propertyTag(bytes: Uint8Array, offset: number, slot: number): number {
  return bytes[tableAt(bytes, offset) + slot * entryBytes(bytes, offset) + 3] as number;
}

/** First byte of the body, as an index into `bytes`. */
export function propertyStart(bytes: Uint8Array, offset: number, slot: number): number {
  const size = entryBytes(bytes, offset);
  const table = tableAt(bytes, offset);
  const at = table + slot * size + 4;
  const tableEnd = table + propertyCount(bytes, offset) * size;
  const narrow = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  if (size === 6) return tableEnd + narrow;
  return (
    tableEnd + narrow + (bytes[at + 2] as number) * 0x10000 + (bytes[at + 3] as number) * 0x1000000
  );
}

/** Behind the last byte of the body; `length` is the whole record's. */
export function propertyEnd(
  bytes: Uint8Array,
  offset: number,
  length: number,
  slot: number,
): number {
  if (slot + 1 === propertyCount(bytes, offset)) return offset + length;
  return propertyStart(bytes, offset, slot + 1);
}

/** The value in `slot` of the table. */
export function readSlot(bytes: Uint8Array, offset: number, length: number, slot: number): Value {
  const start = propertyStart(bytes, offset, slot);
  const end = propertyEnd(bytes, offset, length, slot);
  return readValue(propertyTag(bytes, offset, slot), bytes, start, end);
}

/** One property of the record in bytes [offset, offset + length); undefined when absent. */
export function readProperty(
  bytes: Uint8Array,
  offset: number,
  length: number,
  id: number,
): Value | undefined {
  const slot = findProperty(bytes, offset, id);
  return slot < 0 ? undefined : readSlot(bytes, offset, length, slot);
}
