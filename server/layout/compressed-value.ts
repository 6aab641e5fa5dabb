/**
 * Values that a record does not hold as they are: compressed in their place, or under a key of
 * their own beside the record (external-key.ts). A record without any has not one byte more.
 *
 *   body with the tag `compressed`, in a record (whose header says that there are some):
 *   0  place: 0 here, 1 beside
 *   1  bytes of the body when it is uncompressed, u32 LE
 *   5  here: the pack; beside: the CRC-32 of the pack that belongs to it, u32 LE
 *
 *   pack:
 *   0  codec: 0 none, 1 zstd       1  tag of the value       2  the codec's output
 *
 * Which codec was taken is said by the bytes alone, so that others may come. This file knows where
 * the bytes are and no codec; records/compressed-values.ts does.
 */
import {Corruption} from '#server/base/errors.ts';
import {
  bodyOffsetAt,
  foldedBit,
  propertyCount,
  propertyEnd,
  propertyId,
  propertyStart,
  propertyTag,
  recordLayout,
  wideBit,
} from './record.ts';
import {readInt32} from './stored-value-reader.ts';
import {valueTag} from './value-tag.ts';

export const codecs = {none: 0, zstd: 1} as const;
export const packHeaderBytes = 2;
const foldHeaderBytes = 5;
const besideBytes = foldHeaderBytes + 4;
const narrowMax = 0xffff;
const here = 0;
const beside = 1;

/** One compressed value of a record. */
export interface CompressedValue {
  readonly slot: number;
  /** Id of the property's name. */
  readonly property: number;
  /** Bytes of the body when it is uncompressed. */
  readonly length: number;
  /** What is in the record; undefined: it lies beside. */
  readonly pack: Uint8Array | undefined;
  /** The checksum of the pack that lies outside. */
  readonly checksum: number;
}

/** A body as it is to stand in a record. */
export interface Body {
  readonly tag: number;
  readonly bytes: Uint8Array;
}

/**
 * The compressed values of the record in bytes [offset, offset + length), in the order of its
 * table.
 *
 * @throws {Corruption} when one is none.
 */
export function compressedValuesOf(
  bytes: Uint8Array,
  offset: number,
  length: number,
): readonly CompressedValue[] {
  const folds: CompressedValue[] = [];
  const count = propertyCount(bytes, offset);
  for (let slot = 0; slot < count; slot++) {
    if (propertyTag(bytes, offset, slot) === valueTag.compressed) {
      folds.push(compressedValueAt(bytes, offset, length, slot));
    }
  }
  return folds;
}

/** The compressed value in `slot`. @throws {Corruption} when it is none. */
export function compressedValueAt(
  bytes: Uint8Array,
  offset: number,
  length: number,
  slot: number,
): CompressedValue {
  const start = propertyStart(bytes, offset, slot);
  const end = propertyEnd(bytes, offset, length, slot);
  const place = bytes[start];
  const size = end - start;
  const isPack = place === here && size >= foldHeaderBytes + packHeaderBytes;
  if (end > offset + length || !(isPack || (place === beside && size === besideBytes))) {
    throw new Corruption('a compressed value of a record is none', {offset, length, slot});
  }
  return {
    slot,
    property: propertyId(bytes, offset, slot),
    length: readInt32(bytes, start + 1) >>> 0,
    pack: isPack ? bytes.subarray(start + foldHeaderBytes, end) : undefined,
    checksum: isPack ? 0 : readInt32(bytes, start + foldHeaderBytes) >>> 0,
  };
}

/** A body that is compressed where it is. */
export function compressedInline(length: number, pack: Uint8Array): Body {
  const bytes = new Uint8Array(foldHeaderBytes + pack.length);
  bytes[0] = here;
  putLength(bytes, 1, length);
  bytes.set(pack, foldHeaderBytes);
  return {tag: valueTag.compressed, bytes};
}

/** A body that says that the value lies beside the record, in the pack with the checksum. */
export function compressedOutside(length: number, checksum: number): Body {
  const bytes = new Uint8Array(besideBytes);
  bytes[0] = beside;
  putLength(bytes, 1, length);
  putLength(bytes, foldHeaderBytes, checksum);
  return {tag: valueTag.compressed, bytes};
}

function putLength(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value;
  bytes[at + 1] = value >>> 8;
  bytes[at + 2] = value >>> 16;
  bytes[at + 3] = value >>> 24;
}

/**
 * The record in bytes [offset, offset + length) with other bodies in some slots, in an array of
 * its own. Its header says whether some are compressed then.
 */
export function withBodies(
  record: {readonly bytes: Uint8Array; readonly offset: number; readonly length: number},
  bodies: ReadonlyMap<number, Body>,
): Uint8Array {
  const {bytes, offset, length} = record;
  const {table, entryBytes, tableEnd} = recordLayout(bytes, offset);
  const count = propertyCount(bytes, offset);
  const slots: Body[] = [];
  let isCompressed = false;
  let last = 0;
  let total = 0;
  for (let slot = 0; slot < count; slot++) {
    const at = table + slot * entryBytes;
    const start = tableEnd + bodyOffsetAt(bytes, at, entryBytes);
    const end = propertyEnd(bytes, offset, length, slot);
    const body = bodies.get(slot) ?? {
      tag: bytes[at + 3] as number,
      bytes: bytes.subarray(start, end),
    };
    slots.push(body);
    if (body.tag === valueTag.compressed) isCompressed = true;
    last = total;
    total += body.bytes.length;
  }
  // As record-encoding.ts decides: by where the last body begins.
  const isWide = last > narrowMax;
  const size = isWide ? 8 : 6;
  const tableStart = table - offset;
  const into = new Uint8Array(tableStart + count * size + total);
  into.set(bytes.subarray(offset, table), 0);
  into[1] =
    ((bytes[offset + 1] as number) & ~(wideBit | foldedBit)) |
    (isWide ? wideBit : 0) |
    (isCompressed ? foldedBit : 0);
  const bodiesStart = tableStart + count * size;
  let from = 0;
  for (const [slot, body] of slots.entries()) {
    const at = tableStart + slot * size;
    into.set(bytes.subarray(table + slot * entryBytes, table + slot * entryBytes + 3), at);
    into[at + 3] = body.tag;
    into[at + 4] = from;
    into[at + 5] = from >>> 8;
    if (isWide) {
      into[at + 6] = from >>> 16;
      into[at + 7] = from >>> 24;
    }
    into.set(body.bytes, bodiesStart + from);
    from += body.bytes.length;
  }
  return into;
}
