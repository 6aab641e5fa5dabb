/**
 * Writes the bytes of a record (record.ts says what they are).
 *
 * Most records get the narrow table; one whose bodies exceed 64 KB is written again with the
 * wide one.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {Refusal} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Value} from '#server/model/value.ts';
import {putRid, ridBytes} from './namespace.ts';
import {
  edgeHeaderBytes,
  headerBytes,
  recordFormat,
  type RecordHeader,
  recordKinds,
  wideBit,
} from './record.ts';
import {writeValue} from './stored-value.ts';

const narrowMax = 0xffff;
const propertiesMax = 0xffff;
const nameIdMax = 0xffffff;

/** Greatest record by default; the setting `svc.recordSizeMax` may lower it. */
export const recordBytesMaxDefault = 16 << 20;

export interface RecordField {
  /** Id of the property's name in the dictionary. */
  readonly id: number;
  readonly value: Value;
  /** Data type that the schema declares; absent for properties it does not know. */
  readonly declared?: DataType | undefined;
}

/** A record in an array of its own; see `appendRecord`. */
export function encodeRecord(
  header: RecordHeader,
  fields: readonly RecordField[],
  bytesMax = recordBytesMaxDefault,
): Uint8Array {
  const out = new ByteWriter(512);
  appendRecord(out, header, fields, bytesMax);
  return out.take();
}

/**
 * Appends a record to `out`. `fields` have distinct ids.
 *
 * @throws {Refusal} `limit.record` when it takes more than `bytesMax` bytes; part of it is
 * left behind then.
 */
export function appendRecord(
  out: ByteWriter,
  header: RecordHeader,
  fields: readonly RecordField[],
  bytesMax = recordBytesMaxDefault,
): void {
  if (fields.length > propertiesMax) {
    throw new Refusal('limit.record', `a record has at most ${propertiesMax} properties`);
  }
  const base = out.length;
  if (writeFields(out, header, fields, {bytesMax, wide: false})) return;
  out.length = base;
  writeFields(out, header, fields, {bytesMax, wide: true});
}

/** False when the bodies need a wide table (and part of the record is left behind). */
function writeFields(
  out: ByteWriter,
  header: RecordHeader,
  fields: readonly RecordField[],
  options: {readonly bytesMax: number; readonly wide: boolean},
): boolean {
  const {bytesMax, wide} = options;
  const base = out.length;
  let at = base + (header.kind === 'edge' ? edgeHeaderBytes : headerBytes);
  const tableEnd = at + fields.length * (wide ? 8 : 6);
  out.reserve(tableEnd - base);
  writeHeader(out.bytes, base, header);
  out.bytes[base + 1] = recordKinds.indexOf(header.kind) | (wide ? wideBit : 0);
  out.bytes[base + 14] = fields.length;
  out.bytes[base + 15] = fields.length >>> 8;
  out.length = tableEnd;
  for (let slot = 0; slot < fields.length; slot++) {
    const {id, value, declared} = fields[slot] as RecordField;
    if (id > nameIdMax) throw new Refusal('limit.record', 'the database has too many names');
    const offset = out.length - tableEnd;
    if (!wide && offset > narrowMax) return false;
    const tag = writeValue(out, value, declared);
    if (out.length - base > bytesMax) throw tooLarge(bytesMax);
    // Looked up anew: the array may have moved while the value was written.
    const {bytes} = out;
    bytes[at] = id;
    bytes[at + 1] = id >>> 8;
    bytes[at + 2] = id >>> 16;
    bytes[at + 3] = tag;
    bytes[at + 4] = offset;
    bytes[at + 5] = offset >>> 8;
    at += 6;
    if (!wide) continue;
    bytes[at] = offset >>> 16;
    bytes[at + 1] = offset >>> 24;
    at += 2;
  }
  return true;
}

function tooLarge(bytesMax: number): Refusal {
  return new Refusal(
    'limit.record',
    `a record takes more than ${bytesMax} bytes (svc.recordSizeMax)`,
    {detail: {bytesMax}},
  );
}

/** The header but for kind and number of properties. */
export function writeHeader(bytes: Uint8Array, base: number, header: RecordHeader): void {
  bytes[base] = recordFormat;
  putUint32LE(bytes, base + 2, header.typeId);
  putUint32LE(bytes, base + 6, header.schemaVersion);
  putUint32LE(bytes, base + 10, header.recordVersion);
  if (header.from === undefined || header.to === undefined) return;
  putRid(bytes, base + headerBytes, header.from);
  putRid(bytes, base + headerBytes + ridBytes, header.to);
}

function putUint32LE(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
  bytes[offset + 1] = value >>> 8;
  bytes[offset + 2] = value >>> 16;
  bytes[offset + 3] = value >>> 24;
}
