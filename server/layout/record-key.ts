/**
 * Keys of records: 0x20, bucket (u32), position (u48). A bucket is one run of keys in order of
 * creation.
 */
import type {Rid} from '#server/model/value.ts';
import {
  keyAfterPrefix,
  namespace,
  positionAt,
  putRid,
  putUint32,
  ridAt,
  ridBytes,
  uint32At,
} from './namespace.ts';

export const recordKeyBytes = 1 + ridBytes;

export function recordKey(rid: Rid): Uint8Array {
  const key = new Uint8Array(recordKeyBytes);
  putRecordKey(key, 0, rid);
  return key;
}

/** The same as text, one character a byte. */
export function recordKeyText({bucket, position}: Rid): string {
  const high = Math.floor(position / 0x1_0000_0000);
  return String.fromCharCode(
    namespace.records,
    bucket >>> 24,
    (bucket >>> 16) & 0xff,
    (bucket >>> 8) & 0xff,
    bucket & 0xff,
    (high >>> 8) & 0xff,
    high & 0xff,
    (position >>> 24) & 0xff,
    (position >>> 16) & 0xff,
    (position >>> 8) & 0xff,
    position & 0xff,
  );
}

/** Writes the key's `recordKeyBytes` bytes at `offset`. */
export function putRecordKey(bytes: Uint8Array, offset: number, rid: Rid): void {
  bytes[offset] = namespace.records;
  putRid(bytes, offset + 1, rid);
}

/** Whether the key at `offset` is one of these. */
export function isRecordKey(bytes: Uint8Array, offset: number): boolean {
  return bytes[offset] === namespace.records;
}

/** The record id in a record's key that starts at `offset`. */
export function ridOfRecordKey(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + 1);
}

/** The least key behind a record's key: where a scan that ended at the record goes on. */
export function keyBehindRecord(rid: Rid): Uint8Array {
  const key = new Uint8Array(recordKeyBytes + 1);
  putRecordKey(key, 0, rid);
  return key;
}

/** Bucket and position, for loops over packed rows. */
export function bucketOfRecordKey(bytes: Uint8Array, offset: number): number {
  return uint32At(bytes, offset + 1);
}

export function positionOfRecordKey(bytes: Uint8Array, offset: number): number {
  return positionAt(bytes, offset + 5);
}

/** The low 16 bits of the position: its place among the 65,536 of a segment. */
export function lowPositionOfRecordKey(bytes: Uint8Array, offset: number): number {
  return ((bytes[offset + 9] as number) << 8) | (bytes[offset + 10] as number);
}

/** All records of all buckets: start inclusive, end exclusive. */
export const allRecords: {readonly start: Uint8Array; readonly end: Uint8Array} = {
  start: Uint8Array.of(namespace.records),
  end: Uint8Array.of(namespace.records + 1),
};

/** All records of a bucket: start inclusive, end exclusive. */
export function bucketRange(bucketId: number): {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
} {
  const start = new Uint8Array(5);
  start[0] = namespace.records;
  putUint32(start, 1, bucketId);
  return {start, end: keyAfterPrefix(start)};
}
