/**
 * Keys of stray members: 0x50, type id (u32), record id.
 *
 * A record that was given another type stays in its bucket, which is its old type's. This key, with
 * no value, says that the type has it; a record in a bucket of its own type has none.
 */
import type {Rid} from '#server/model/value.ts';
import {
  keyAfterPrefix,
  namespace,
  putRid,
  putUint32,
  ridAt,
  ridBytes,
  uint32At,
} from './namespace.ts';

const typeBytes = 5;
export const strayMemberKeyBytes = typeBytes + ridBytes;

interface KeyRange {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
}

export function strayMemberKey(typeId: number, rid: Rid): Uint8Array {
  const key = new Uint8Array(strayMemberKeyBytes);
  key[0] = namespace.strayMembers;
  putUint32(key, 1, typeId);
  putRid(key, typeBytes, rid);
  return key;
}

/** The members of one type. */
export function strayMembersOf(typeId: number): KeyRange {
  const start = strayMemberKey(typeId, {bucket: 0, position: 0}).subarray(0, typeBytes);
  return {start, end: keyAfterPrefix(start)};
}

/** The members of all types. */
export const strayMembers: KeyRange = {
  start: Uint8Array.of(namespace.strayMembers),
  end: Uint8Array.of(namespace.strayMembers + 1),
};

/** What the key at `offset` says. */
export function readForeignMember(
  bytes: Uint8Array,
  offset: number,
): {readonly typeId: number; readonly rid: Rid} {
  return {typeId: uint32At(bytes, offset + 1), rid: ridAt(bytes, offset + typeBytes)};
}
