/**
 * The bytes of a record: header, table of properties, bodies.
 *
 *   0  format (1)
 *   1  kind (bits 0-1: document, vertex, edge), bit 2: wide table, bit 3: the values of some
 *      properties are compressed (compressed-value.ts)
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
import {Corruption} from '#server/base/errors.ts';
import type {RecordKind, Rid, Value} from '#server/model/value.ts';
import {ridAt, ridBytes} from './namespace.ts';
import {readInt32, readValue} from './stored-value-reader.ts';

/**
 * What reading a record needs of the schema: names for the ids that its bytes hold. The owner of a
 * catalog and a dictionary implements it; layout/ knows neither.
 */
export interface RecordSchema {
  /** Name of a type; of one that was dropped, some text that says so. */
  typeName(typeId: number): string;
  propertyName(id: number): string;
  /** Undefined when no record ever had a property of that name. */
  propertyId(name: string): number | undefined;
}

export const recordFormat = 1;
export const headerBytes = 16;
export const edgeHeaderBytes = headerBytes + 2 * ridBytes;
export const wideBit = 4;
export const foldedBit = 8;
export const recordKinds: readonly RecordKind[] = ['document', 'vertex', 'edge'];

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

/** @throws {Corruption} when the bytes at `offset` are no record of a known format. */
export function checkRecord(bytes: Uint8Array, offset: number, length: number): void {
  const shape = (bytes[offset + 1] as number) & ~foldedBit;
  if (length < headerBytes || bytes[offset] !== recordFormat || shape > 6) {
    throw new Corruption('a stored record has an unknown format', {offset, length});
  }
  const table = tableAt(bytes, offset) + propertyCount(bytes, offset) * entryBytes(bytes, offset);
  if (table > offset + length) throw misplaced(offset, length);
}

/** The table or a body does not lie in the record in bytes [offset, offset + length). */
export function misplaced(offset: number, length: number): Corruption {
  return new Corruption('a stored record is shorter than it says', {offset, length});
}

export function recordKindOf(bytes: Uint8Array, offset: number): RecordKind {
  return recordKinds[(bytes[offset + 1] as number) & 3] ?? 'document';
}

/** Whether some of the record's values are not as they are (compressed-value.ts). */
export function isCompressed(bytes: Uint8Array, offset: number): boolean {
  return ((bytes[offset + 1] as number) & foldedBit) !== 0;
}

export function recordTypeId(bytes: Uint8Array, offset: number): number {
  return readInt32(bytes, offset + 2) >>> 0;
}

export function recordVersionOf(bytes: Uint8Array, offset: number): number {
  return readInt32(bytes, offset + 10) >>> 0;
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

/** The name's id in the table entry at `at`. */
export function nameIdAt(bytes: Uint8Array, at: number): number {
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
  const tableEnd = table + propertyCount(bytes, offset) * size;
  return tableEnd + bodyOffsetAt(bytes, table + slot * size, size);
}

/** Returns the offset after the last byte of the body; `length` is the whole record's. */
export function propertyEnd(
  bytes: Uint8Array,
  offset: number,
  length: number,
  slot: number,
): number {
  if (slot + 1 === propertyCount(bytes, offset)) return offset + length;
  return propertyStart(bytes, offset, slot + 1);
}

/**
 * Where table and bodies lie, for loops over all properties: entry `n` of the table begins at
 * `table + n * entryBytes`, bodies are counted from `tableEnd`.
 */
export function recordLayout(
  bytes: Uint8Array,
  offset: number,
): {readonly table: number; readonly entryBytes: number; readonly tableEnd: number} {
  const table = tableAt(bytes, offset);
  const size = entryBytes(bytes, offset);
  return {table, entryBytes: size, tableEnd: table + propertyCount(bytes, offset) * size};
}

/** Offset of a body from the end of the table, read from its entry at `at`. */
export function bodyOffsetAt(bytes: Uint8Array, at: number, size: number): number {
  const low = (bytes[at + 4] as number) | ((bytes[at + 5] as number) << 8);
  if (size === 6) return low;
  return low + (bytes[at + 6] as number) * 0x10000 + (bytes[at + 7] as number) * 0x1000000;
}

/** The value in `slot` of the table. */
export function readSlot(bytes: Uint8Array, offset: number, length: number, slot: number): Value {
  const start = propertyStart(bytes, offset, slot);
  const end = propertyEnd(bytes, offset, length, slot);
  if (end < start || end > offset + length) throw misplaced(offset, length);
  return readValue(propertyTag(bytes, offset, slot), bytes, start, end);
}
