/**
 * Keys of values that lie beside their record: 0x28, bucket (u32), position (u48), id of the
 * property's name (u24). What is under one is a pack (compressed-value.ts). A record's are
 * neighbours.
 *
 * Invariant: a key is there exactly as long as its record has a property that says so.
 */
import type {Rid} from '#server/model/value.ts';
import {keyAfterPrefix, namespace, putRid, putUint32, ridAt, ridBytes} from './namespace.ts';

export const externalKeyBytes = 1 + ridBytes + 3;

export function externalKey(rid: Rid, property: number): Uint8Array {
  const key = new Uint8Array(externalKeyBytes);
  key[0] = namespace.externals;
  putRid(key, 1, rid);
  key[1 + ridBytes] = property >>> 16;
  key[2 + ridBytes] = property >>> 8;
  key[3 + ridBytes] = property;
  return key;
}

/** The record and the property of the key that starts at `offset`. */
export function readExternalKey(
  bytes: Uint8Array,
  offset: number,
): {readonly rid: Rid; readonly property: number} {
  const at = offset + 1 + ridBytes;
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return {rid: ridAt(bytes, offset + 1), property: (high << 8) | (bytes[at + 2] as number)};
}

/** All of them: start inclusive, end exclusive. */
export const allExternals: {readonly start: Uint8Array; readonly end: Uint8Array} = {
  start: Uint8Array.of(namespace.externals),
  end: Uint8Array.of(namespace.externals + 1),
};

/** The key range of a bucket's records: start inclusive, end exclusive. */
export function externalBucketRange(bucketId: number): {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
} {
  const start = new Uint8Array(5);
  start[0] = namespace.externals;
  putUint32(start, 1, bucketId);
  return {start, end: keyAfterPrefix(start)};
}

/** The key range of one record: start inclusive, end exclusive. */
export function externalRange(rid: Rid): {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
} {
  const start = externalKey(rid, 0).subarray(0, 1 + ridBytes);
  return {start, end: keyAfterPrefix(start)};
}
