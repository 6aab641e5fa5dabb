/**
 * A stored record as a row of JSON, stitched from its bytes.
 *
 * The row of the `record` serializer: `@rid`, `@type`, `@cat`, for edges `@in` and `@out`, then
 * the properties in order of insertion. Names and types are looked up once and kept as bytes;
 * most bodies are copied. The text is the same as model/json.ts writes for each value.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import {categoryOf, type JsonFormat, jsonString, jsonText} from '#server/model/json.ts';
import type {Rid} from '#server/model/value.ts';
import {ridAt} from './namespace.ts';
import {
  edgeFrom,
  edgeTo,
  bodyOffsetAt,
  findProperty,
  misplaced,
  nameIdAt,
  propertyEnd,
  propertyStart,
  propertyTag,
  recordLayout,
  recordKindOf,
  recordTypeId,
} from './record.ts';
import type {RecordSchema} from './record.ts';
import {elementEnd, readInt32, readValue} from './stored-value-reader.ts';
import {valueTag} from './value-tag.ts';

const nullWord = utf8Bytes('null');
const trueWord = utf8Bytes('true');
const falseWord = utf8Bytes('false');
const upperN = 0x4e;
const upperI = 0x49;

/** Keep one per catalog version: its memory of names is as old as the schema it was made with. */
export class RecordJson {
  readonly schema: RecordSchema;
  readonly format: JsonFormat;
  /** `","@type":"Person","@cat":"v"` by type id. */
  private readonly typeBytes = new Map<number, Uint8Array>();
  /** `,"name":` by name id. */
  private readonly keyBytes: (Uint8Array | undefined)[] = [];

  constructor(schema: RecordSchema, format: JsonFormat = {}) {
    this.schema = schema;
    this.format = format;
  }

  /** Appends the record in bytes [offset, offset + length) as one JSON object. */
  append(out: ByteWriter, bytes: Uint8Array, offset: number, length: number, rid: Rid): void {
    out.ascii('{"@rid":"');
    appendRid(out, rid);
    const kind = recordKindOf(bytes, offset);
    out.raw(this.typePart(recordTypeId(bytes, offset), categoryOf[kind]));
    if (kind === 'edge') {
      out.ascii(',"@in":"');
      appendRid(out, edgeTo(bytes, offset));
      out.ascii('","@out":"');
      appendRid(out, edgeFrom(bytes, offset));
      out.byte(0x22);
    }
    this.appendProperties(out, bytes, offset, length);
    out.byte(0x7d);
  }

  /** Appends `,"name":value` for every property. */
  appendProperties(out: ByteWriter, bytes: Uint8Array, offset: number, length: number): void {
    const {table, entryBytes, tableEnd} = recordLayout(bytes, offset);
    const recordEnd = offset + length;
    let start = tableEnd;
    for (let at = table; at < tableEnd; at += entryBytes) {
      const next = at + entryBytes;
      const end = next < tableEnd ? tableEnd + bodyOffsetAt(bytes, next, entryBytes) : recordEnd;
      if (end < start || end > recordEnd) throw misplaced(offset, length);
      out.raw(this.keyPart(nameIdAt(bytes, at)));
      appendValueJson(out, bytes[at + 3] as number, bytes, start, end, this.format);
      start = end;
    }
  }

  /** Appends the value of one property as it is stored; null when the record has it not. */
  appendProperty(
    out: ByteWriter,
    bytes: Uint8Array,
    {offset, length, id}: {readonly offset: number; readonly length: number; readonly id: number},
  ): void {
    const slot = findProperty(bytes, offset, id);
    if (slot < 0) {
      out.raw(nullWord);
      return;
    }
    const start = propertyStart(bytes, offset, slot);
    const end = propertyEnd(bytes, offset, length, slot);
    if (end < start || end > offset + length) throw misplaced(offset, length);
    appendValueJson(out, propertyTag(bytes, offset, slot), bytes, start, end, this.format);
  }

  private typePart(typeId: number, category: string): Uint8Array {
    let part = this.typeBytes.get(typeId);
    if (part === undefined) {
      const name = jsonString(this.schema.typeName(typeId));
      part = utf8Bytes(`","@type":${name},"@cat":"${category}"`);
      this.typeBytes.set(typeId, part);
    }
    return part;
  }

  private keyPart(id: number): Uint8Array {
    let part = this.keyBytes[id];
    if (part === undefined) {
      part = utf8Bytes(`,${jsonString(this.schema.propertyName(id))}:`);
      this.keyBytes[id] = part;
    }
    return part;
  }
}

/** `#bucket:position` without quotes; -1 for a light edge. */
export function appendRid(out: ByteWriter, rid: Rid): void {
  out.byte(0x23);
  out.digits(rid.bucket);
  out.byte(0x3a);
  out.digits(rid.position < 0 ? -1 : rid.position);
}

/** Appends one stored value as JSON. */
export function appendValueJson(
  out: ByteWriter,
  tag: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  format: JsonFormat,
): void {
  switch (tag) {
    case valueTag.text:
      out.byte(0x22);
      out.raw(bytes, start, end);
      out.byte(0x22);
      return;
    case valueTag.byte:
    case valueTag.short:
    case valueTag.integer:
    case valueTag.long:
    case valueTag.decimal:
    case valueTag.listJson:
    case valueTag.mapJson:
      out.raw(bytes, start, end);
      return;
    case valueTag.float:
    case valueTag.double:
      appendDouble(out, bytes, start, end);
      return;
    case valueTag.null:
      out.raw(nullWord);
      return;
    case valueTag.true:
      out.raw(trueWord);
      return;
    case valueTag.false:
      out.raw(falseWord);
      return;
    case valueTag.rid:
      out.byte(0x22);
      appendRid(out, ridAt(bytes, start));
      out.byte(0x22);
      return;
    case valueTag.list:
      appendListJson(out, bytes, start, end, format);
      return;
    default:
      out.text(jsonText(readValue(tag, bytes, start, end), format));
  }
}

/** NaN and the infinities are stored as words that JSON does not have. */
function appendDouble(out: ByteWriter, bytes: Uint8Array, start: number, end: number): void {
  const first = bytes[start];
  const second = bytes[start + 1];
  if (first === upperN || first === upperI || second === upperI) out.raw(nullWord);
  else out.raw(bytes, start, end);
}

function appendListJson(
  out: ByteWriter,
  bytes: Uint8Array,
  start: number,
  end: number,
  format: JsonFormat,
): void {
  out.byte(0x5b);
  let at = start + 4;
  const count = readInt32(bytes, start);
  for (let element = 0; element < count; element++) {
    if (element > 0) out.byte(0x2c);
    const bodyEnd = elementEnd(bytes, at, end);
    appendValueJson(out, bytes[at] as number, bytes, at + 5, bodyEnd, format);
    at = bodyEnd;
  }
  out.byte(0x5d);
}
