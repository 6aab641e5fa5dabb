/**
 * Records of a type that lie in a bucket of another type: 0x50, type id (u32), record id.
 *
 * Written when a record's type changes without moving it; a scan of a type is its own buckets
 * (filtered by header) and this range. The value is empty.
 */
import type {Rid} from '#server/model/value.ts';
import {keyAfterPrefix, namespace, putRid, putUint32, ridAt, ridBytes} from './namespace.ts';

export function foreignMemberKey(typeId: number, rid: Rid): Uint8Array {
  const key = new Uint8Array(5 + ridBytes);
  key[0] = namespace.foreignMembers;
  putUint32(key, 1, typeId);
  putRid(key, 5, rid);
  return key;
}

export function ridOfForeignMemberKey(bytes: Uint8Array, offset: number): Rid {
  return ridAt(bytes, offset + 5);
}

export function foreignMemberRange(typeId: number): {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
} {
  const start = new Uint8Array(5);
  start[0] = namespace.foreignMembers;
  putUint32(start, 1, typeId);
  return {start, end: keyAfterPrefix(start)};
}
