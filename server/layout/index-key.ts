/**
 * Entries of indexes: 0x40, index id (u32), key parts, and the record.
 *
 * Not unique: the record id (10 bytes) ends the key, so that entries of one key are in order of
 * record ids; the value is what the key dropped. Unique: the value begins with the record id.
 * What the key dropped is empty when decoding gives the value back by itself (by the declared
 * type); else a byte a part: 0, or 1 and the whole value as stored-value.ts writes it.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import type {DataType} from '#server/model/data-type.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  type Rid,
  type Value,
} from '#server/model/value.ts';
import {appendKeyPart} from './key-encoding.ts';
import {KeyReader, readWholeNumbers} from './key-decoding.ts';
import {
  keyAfterPrefix,
  namespace,
  putRid,
  putUint32,
  ridAt,
  ridBytes,
  uint32At,
} from './namespace.ts';
import {patchUint32LE, writeValue} from './stored-value.ts';
import {readInt32, readValue} from './stored-value-reader.ts';

export const indexPrefixBytes = 5;

export interface IndexEntryBytes {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** One part of a key: the value as it sorts, and as it was before folding of case. */
export interface KeyPart {
  readonly sorted: Value;
  readonly original: Value;
  readonly declared: DataType | undefined;
}

/** The bytes of one entry, in an array of its own. */
export function indexEntry(
  index: {readonly id: number; readonly unique: boolean},
  parts: readonly KeyPart[],
  rid: Rid,
): IndexEntryBytes {
  const out = new ByteWriter(64);
  const keyEnd = appendIndexEntry(out, index, parts, rid);
  return {key: out.bytes.subarray(0, keyEnd), value: out.bytes.subarray(keyEnd, out.length)};
}

/**
 * Appends an entry, its key and behind that its value; answers where the key ends. A key of a
 * unique index that may repeat ends with the record id, like one of the others.
 */
export function appendIndexEntry(
  out: ByteWriter,
  index: {readonly id: number; readonly unique: boolean},
  parts: readonly KeyPart[],
  rid: Rid,
  mayRepeat = false,
): number {
  writePrefix(out, index.id);
  for (const part of parts) appendKeyPart(out, part.sorted);
  if (!index.unique || mayRepeat) appendRid(out, rid);
  const keyEnd = out.length;
  if (index.unique) appendRid(out, rid);
  if (!parts.every(isNatural)) appendDropped(out, parts);
  return keyEnd;
}

function appendRid(out: ByteWriter, rid: Rid): void {
  out.reserve(ridBytes);
  putRid(out.bytes, out.length, rid);
  out.length += ridBytes;
}

/**
 * Where all keys that begin with the given parts begin themselves. Made in `out`, which is empty
 * and the key's from now on.
 */
export function indexKeyPrefix(
  indexId: number,
  sorted: readonly Value[],
  out: ByteWriter = new ByteWriter(64),
): Uint8Array {
  writePrefix(out, indexId);
  for (const part of sorted) appendKeyPart(out, part);
  return out.view();
}

/** All entries of all indexes. */
export const allIndexes: {readonly start: Uint8Array; readonly end: Uint8Array} = {
  start: Uint8Array.of(namespace.indexes),
  end: Uint8Array.of(namespace.indexes + 1),
};

export function isIndexKey(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === namespace.indexes;
}

/** Reads the index id of an entry's key of at least `indexPrefixBytes` bytes at `offset`. */
export function indexIdOf(bytes: Uint8Array, offset = 0): number {
  return uint32At(bytes, offset + 1);
}

/** All entries of an index. */
export function indexRange(indexId: number): {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
} {
  const start = new Uint8Array(indexPrefixBytes);
  start[0] = namespace.indexes;
  putUint32(start, 1, indexId);
  return {start, end: keyAfterPrefix(start)};
}

function writePrefix(out: ByteWriter, indexId: number): void {
  out.byte(namespace.indexes);
  out.uint32BE(indexId);
}

/** The record of an entry whose key is bytes [keyStart, keyEnd) and whose value follows. */
export function ridOfEntry(unique: boolean, bytes: Uint8Array, keyEnd: number): Rid {
  return unique ? ridAt(bytes, keyEnd) : ridAt(bytes, keyEnd - ridBytes);
}

/** An entry's key is bytes [keyStart, keyEnd), its value [keyEnd, end). */
export interface EntryBytes {
  readonly bytes: Uint8Array;
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly end: number;
}

/** `view`: of `bytes`, whole numbers are read through it. */
export interface ViewedEntry extends EntryBytes {
  readonly view: DataView;
}

/** The values that were indexed, representation included. */
export function valuesOfEntry(
  index: {readonly unique: boolean; readonly declared: readonly (DataType | undefined)[]},
  row: EntryBytes,
): readonly Value[] {
  const reader = new KeyReader(row.bytes, row.keyStart + indexPrefixBytes);
  const values = index.declared.map(declared => reader.next(declared));
  let at = index.unique ? row.keyEnd + ridBytes : row.keyEnd;
  for (let part = 0; at < row.end && part < values.length; part++) {
    if (row.bytes[at++] === 0) continue;
    const length = readInt32(row.bytes, at + 1);
    values[part] = readValue(row.bytes[at] as number, row.bytes, at + 5, at + 5 + length);
    at += 5 + length;
  }
  return values;
}

/**
 * The indexed values as `readWholeNumbers` puts them, for types whose keys hold whole numbers as
 * they are; false when the entry has others, or dropped something.
 */
export function wholeNumbersOfEntry(
  unique: boolean,
  {view, keyStart, keyEnd, end}: ViewedEntry,
  row: number,
  into: readonly (Float64Array | undefined)[],
): boolean {
  if (end > (unique ? keyEnd + ridBytes : keyEnd)) return false;
  return readWholeNumbers({view, at: keyStart + indexPrefixBytes, end: keyEnd}, row, into);
}

function appendDropped(out: ByteWriter, parts: readonly KeyPart[]): void {
  for (const part of parts) {
    if (isNatural(part)) {
      out.byte(0);
      continue;
    }
    out.byte(1);
    const at = out.length;
    out.byte(0);
    out.uint32LE(0);
    const tag = writeValue(out, part.original, part.declared);
    out.bytes[at] = tag;
    patchUint32LE(out.bytes, at + 1, out.length - at - 5);
  }
}

/** Whether decoding the key gives the original back without help. */
function isNatural({sorted, original, declared}: KeyPart): boolean {
  if (typeof original === 'string') return sorted === original;
  if (original === null || typeof original === 'boolean') return true;
  const floating = declared === 'DOUBLE' || declared === 'FLOAT';
  if (typeof original === 'bigint') return !floating && declared !== 'DECIMAL';
  if (typeof original === 'number') {
    return declared !== 'DECIMAL' && !(floating && Number.isInteger(original));
  }
  if (original instanceof Double) return floating && !Object.is(original.value, -0);
  if (original instanceof Decimal) return false;
  if (original instanceof DateValue) return declared === 'DATE';
  if (!(original instanceof DateTimeValue)) return false;
  return (
    declared?.startsWith('DATETIME') === true && !original.local && original.zone === undefined
  );
}
