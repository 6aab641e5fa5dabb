/**
 * First bytes of all keys of a database, and the integers in keys.
 *
 * 0x00 belongs to the commit path (transactions/system-keys.ts). A byte is never given another
 * meaning: what is written must stay readable. Integers in keys are big-endian, so that their
 * bytes sort as they do.
 */
import {copyBytes} from '#server/base/utf8.ts';
import {Rid} from '#server/model/value.ts';

export const namespace = {
  names: 0x10,
  records: 0x20,
  externals: 0x28,
  adjacency: 0x30,
  indexes: 0x40,
  strayMembers: 0x50,
} as const;

/** Bytes of a record id in keys: bucket (4) and position (6). */
export const ridBytes = 10;

export function putUint32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

export function uint32At(bytes: Uint8Array, offset: number): number {
  return (
    (bytes[offset] as number) * 0x1000000 +
    (((bytes[offset + 1] as number) << 16) |
      ((bytes[offset + 2] as number) << 8) |
      (bytes[offset + 3] as number))
  );
}

/** Bucket and position; a light edge's negative position is stored as its serial number. */
export function putRid(bytes: Uint8Array, offset: number, rid: Rid): void {
  const position = rid.position < 0 ? -1 - rid.position : rid.position;
  putUint32(bytes, offset, rid.bucket);
  const high = Math.floor(position / 0x1_0000_0000);
  bytes[offset + 4] = high >>> 8;
  bytes[offset + 5] = high;
  putUint32(bytes, offset + 6, position >>> 0);
}

export function ridAt(bytes: Uint8Array, offset: number): Rid {
  return new Rid(uint32At(bytes, offset), positionAt(bytes, offset + 4));
}

/** The id of a light edge stored at `offset` (rid.ts). */
export function lightRidAt(bytes: Uint8Array, offset: number): Rid {
  return new Rid(uint32At(bytes, offset), -1 - positionAt(bytes, offset + 4));
}

export function positionAt(bytes: Uint8Array, offset: number): number {
  const high = ((bytes[offset] as number) << 8) | (bytes[offset + 1] as number);
  return high * 0x1_0000_0000 + uint32At(bytes, offset + 2);
}

/** The least key above all keys that start with `prefix`; prefixes never are all 0xff. */
export function keyAfterPrefix(prefix: Uint8Array): Uint8Array {
  let length = prefix.length;
  while (length > 0 && prefix[length - 1] === 0xff) length--;
  const after = copyBytes(prefix, 0, length);
  after[length - 1] = (after[length - 1] as number) + 1;
  return after;
}
