/**
 * Entries of search indexes: what stands between an index's number and the record id.
 *
 * Text: field (1 byte), term in UTF-8, 0x00; the value is the term's frequency in the field
 * (varint), the byte that stands for the field's length, and where the index has positions the
 * difference of each to the one before (varint). The empty term has an entry for each record that
 * has the field, with the number of its terms in place of the frequency. A 0x00 or 0x01 within a
 * term is two bytes, 0x01 0x01 and 0x01 0x02, so that terms are in the order of their bytes.
 * Sparse: dimension (u32); the value is the weight: 4 bytes (float, little endian), or 2 bytes: a
 * whole number and the power of two that it is multiplied with, each signed.
 * Dense: 0x01; the value is the vector as 32-bit floats, little endian.
 */
import {assert} from '#server/base/assert.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {readUtf8} from '#server/base/utf8.ts';
import {Rid} from '#server/model/value.ts';
import {indexPrefixBytes} from './index-key.ts';
import {namespace, putRid, ridAt, ridBytes, uint32At} from './namespace.ts';

const termStart = indexPrefixBytes + 1;
/** Counts the records that have a vector; no vector has it. */
export const recordsDimension = 0xffff_ffff;

/** Begins all entries of a term of a field. */
export function appendTermPrefix(
  out: ByteWriter,
  {indexId, field, term}: {readonly indexId: number; readonly field: number; readonly term: string},
): void {
  appendTermStart(out, {indexId, field, term});
  out.byte(0);
}

/** Begins all entries of the terms that begin so. */
export function appendTermStart(
  out: ByteWriter,
  {indexId, field, term}: {readonly indexId: number; readonly field: number; readonly term: string},
): void {
  out.byte(namespace.indexes);
  out.uint32BE(indexId);
  out.byte(field);
  if (!/[\u0000\u0001]/u.test(term)) {
    out.text(term);
    return;
  }
  out.text(
    term.replaceAll(/[\u0000\u0001]/gu, one =>
      one === '\u0000' ? '\u0001\u0001' : '\u0001\u0002',
    ),
  );
}

/** The term of an entry whose key is bytes [keyStart, keyEnd). */
export function termOfEntry(bytes: Uint8Array, keyStart: number, keyEnd: number): string {
  const term = readUtf8(bytes, keyStart + termStart, keyEnd - ridBytes - 1);
  if (!term.includes('\u0001')) return term;
  return term.replaceAll(/\u0001[\u0001\u0002]/gu, one =>
    one === '\u0001\u0001' ? '\u0000' : '\u0001',
  );
}

export function appendDimensionPrefix(out: ByteWriter, indexId: number, dimension: number): void {
  out.byte(namespace.indexes);
  out.uint32BE(indexId);
  out.uint32BE(dimension);
}

/** Ends the key of an entry. */
export function appendEntryRid(out: ByteWriter, rid: Rid): void {
  out.reserve(ridBytes);
  putRid(out.bytes, out.length, rid);
  out.length += ridBytes;
}

export function appendVarint(out: ByteWriter, value: number): void {
  let rest = value;
  while (rest > 0x7f) {
    out.byte((rest & 0x7f) | 0x80);
    rest = Math.floor(rest / 128);
  }
  out.byte(rest);
}

/** Reads numbers of a value one after the other. */
export class PostingReader {
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;

  /** The value is bytes [start, end). */
  move(bytes: Uint8Array, start: number, end: number): void {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  varint(): number {
    let value = 0;
    let factor = 1;
    for (;;) {
      assert(this.#at < this.#end, 'the value of a posting is whole');
      const byte = this.#bytes[this.#at++] as number;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
  }

  byte(): number {
    assert(this.#at < this.#end, 'the value of a posting is whole');
    return this.#bytes[this.#at++] as number;
  }
}

const float = new DataView(new ArrayBuffer(4));

export function appendWeight(out: ByteWriter, weight: number): void {
  float.setFloat32(0, weight, true);
  out.uint32LE(float.getUint32(0, true));
}

/** @param exponent - Such that `weight / 2 ** exponent` is from -127 to 127. */
export function appendQuantizedWeight(out: ByteWriter, weight: number, exponent: number): void {
  out.byte(Math.round(weight / 2 ** exponent) & 0xff);
  out.byte(exponent & 0xff);
}

/** The weight of an entry whose value is bytes [start, end). */
export function weightOfEntry(bytes: Uint8Array, start: number, end: number): number {
  if (end - start === 2) {
    return (
      (((bytes[start] as number) << 24) >> 24) * 2 ** (((bytes[start + 1] as number) << 24) >> 24)
    );
  }
  assert(end - start === 4, 'a weight has two bytes or four');
  for (let at = 0; at < 4; at += 1) float.setUint8(at, bytes[start + at] as number);
  return float.getFloat32(0, true);
}

/** Bytes that begin all entries of one list: what is in front of the record id. */
export function listPrefix(append: (out: ByteWriter) => void): Uint8Array {
  const out = new ByteWriter(64);
  append(out);
  return out.take();
}

/** Reads the bucket of an entry whose key ends at `keyEnd`. */
export function bucketOfEntry(bytes: Uint8Array, keyEnd: number): number {
  return uint32At(bytes, keyEnd - ridBytes);
}

/** The position, which is below 2^32 in search indexes. */
export function positionOfEntry(bytes: Uint8Array, keyEnd: number): number {
  return uint32At(bytes, keyEnd - 4);
}

/** The key of one record's entry in a list. */
export function entryKey(prefix: Uint8Array, bucket: number, position: number): Uint8Array {
  const key = new Uint8Array(prefix.length + ridBytes);
  key.set(prefix);
  putRid(key, prefix.length, new Rid(bucket, position));
  return key;
}

const vectorTag = 0x01;
const vectorKeyBytes = indexPrefixBytes + 1 + ridBytes;

/** Appends key and value; answers where the key ends. */
export function appendVectorEntry(
  out: ByteWriter,
  indexId: number,
  rid: Rid,
  vector: Float32Array,
): number {
  out.byte(namespace.indexes);
  out.uint32BE(indexId);
  out.byte(vectorTag);
  appendEntryRid(out, rid);
  const keyEnd = out.length;
  const words = new Uint32Array(vector.buffer, vector.byteOffset, vector.length);
  for (const word of words) out.uint32LE(word);
  return keyEnd;
}

/** The key of a record's entry. */
export function vectorEntryKey(indexId: number, rid: Rid): Uint8Array {
  const out = new ByteWriter(vectorKeyBytes);
  const keyEnd = appendVectorEntry(out, indexId, rid, new Float32Array(0));
  return out.bytes.subarray(0, keyEnd);
}

/** The record of an entry whose key ends at `keyEnd`. */
export function ridOfVectorEntry(bytes: Uint8Array, keyEnd: number): Rid {
  return ridAt(bytes, keyEnd - ridBytes);
}

/** The vector of a value [start, end), into an array of its dimensions. */
export function readVector(
  bytes: Uint8Array,
  start: number,
  end: number,
  into: Float32Array,
): Float32Array {
  const words = new Uint32Array(into.buffer, into.byteOffset, into.length);
  for (let at = 0; at < words.length; at++) {
    const place = start + 4 * at;
    if (place + 4 > end) break;
    words[at] =
      (bytes[place] ?? 0) |
      ((bytes[place + 1] ?? 0) << 8) |
      ((bytes[place + 2] ?? 0) << 16) |
      ((bytes[place + 3] ?? 0) << 24);
  }
  return into;
}
