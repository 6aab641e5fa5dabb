/**
 * One value as stored bytes: a tag and a body whose length is known from outside.
 *
 * Bodies are JSON text wherever JSON can say it exactly, so that answers are copied and not
 * built; the other kinds are binary. The declared data type chooses the tag among those that
 * JSON does not tell apart (INTEGER or LONG, FLOAT or DOUBLE); undeclared integers are INTEGER
 * when 32 bits hold them. Reading gives back the value that was written, representation
 * included. Tags: value-tag.ts.
 */
import {assert} from '#server/base/assert.ts';
import type {ByteWriter} from '#server/base/byte-writer.ts';
import {Refusal} from '#server/base/errors.ts';
import {isNumberArray} from '#server/model/compare.ts';
import type {DataType} from '#server/model/data-type.ts';
import {decimalText} from '#server/model/decimal.ts';
import {doubleText, jsonString} from '#server/model/json.ts';
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  type MapValue,
  type NumberArray,
  PathValue,
  PointValue,
  RecordValue,
  Rid,
  type TimePrecision,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {type ValueTag, valueTag} from './value-tag.ts';

/** Bias that makes the seconds of every storable instant a positive 48-bit integer. */
export const secondsBias = 2 ** 47;
const depthMax = 1_000;

export const precisions: readonly TimePrecision[] = [
  'second',
  'millisecond',
  'microsecond',
  'nanosecond',
];

/** Appends the body of `value` and returns its tag. */
export function writeValue(
  out: ByteWriter,
  value: Value,
  declared?: DataType,
  depth = 0,
): ValueTag {
  if (typeof value === 'string') {
    return out.textIsPlain(value) ? valueTag.text : valueTag.textToEscape;
  }
  if (typeof value === 'number') {
    if (Number.isInteger(value)) {
      out.digits(value);
      return integerTag(value, declared);
    }
    out.ascii(String(value));
    return doubleTag(declared);
  }
  if (value === null) return valueTag.null;
  if (value === true) return valueTag.true;
  if (value === false) return valueTag.false;
  if (typeof value === 'bigint') {
    out.ascii(value.toString());
    return valueTag.long;
  }
  if (value instanceof Double) {
    out.ascii(doubleText(value.value));
    return doubleTag(declared);
  }
  if (value instanceof Decimal) {
    out.ascii(decimalText(value));
    return valueTag.decimal;
  }
  if (value instanceof Rid) return writeRid(out, value);
  if (value instanceof RecordValue) return writeRid(out, value.rid);
  if (value instanceof Uint8Array) {
    out.raw(value);
    return valueTag.binary;
  }
  return writeComposite(out, value, depth) ?? writeRare(out, value);
}

function integerTag(value: number, declared: DataType | undefined): ValueTag {
  if (declared === 'LONG') return valueTag.long;
  if (declared === 'SHORT') return valueTag.short;
  if (declared === 'BYTE') return valueTag.byte;
  return value === (value | 0) ? valueTag.integer : valueTag.long;
}

function doubleTag(declared: DataType | undefined): ValueTag {
  return declared === 'FLOAT' ? valueTag.float : valueTag.double;
}

function writeRid(out: ByteWriter, rid: Rid): ValueTag {
  out.uint32BE(rid.bucket);
  out.uint48BE(rid.position < 0 ? -1 - rid.position : rid.position);
  return rid.position < 0 ? valueTag.lightRid : valueTag.rid;
}

function writeComposite(out: ByteWriter, value: Value, depth: number): ValueTag | undefined {
  if (depth > depthMax) {
    throw new Refusal('limit.depth', `a value is nested more than ${depthMax} levels deep`);
  }
  const from = out.length;
  if (Array.isArray(value)) {
    if (writeJson(out, value, depth)) return valueTag.listJson;
    out.length = from;
    out.uint32LE(value.length);
    for (const element of value) writeNested(out, element, depth);
    return valueTag.list;
  }
  if (value instanceof Map) {
    if (writeJson(out, value, depth)) return valueTag.mapJson;
    out.length = from;
    writeEntries(out, value, depth);
    return valueTag.map;
  }
  if (value instanceof EmbeddedValue) {
    writeLengthAndText(out, value.typeName);
    writeNested(out, value.properties, depth);
    return valueTag.embedded;
  }
  if (value instanceof PathValue) {
    out.uint32LE(value.elements.length);
    for (const element of value.elements) writeNested(out, element, depth);
    return valueTag.path;
  }
  return undefined;
}

/** Tag, length, body. */
function writeNested(out: ByteWriter, value: Value, depth: number): void {
  const at = out.length;
  out.byte(0);
  out.uint32LE(0);
  const tag = writeValue(out, value, undefined, depth + 1);
  const length = out.length - at - 5;
  out.bytes[at] = tag;
  patchUint32LE(out.bytes, at + 1, length);
}

function writeEntries(out: ByteWriter, map: MapValue, depth: number): void {
  out.uint32LE(map.size);
  for (const [key, value] of map) {
    writeLengthAndText(out, key);
    writeNested(out, value, depth);
  }
}

function writeLengthAndText(out: ByteWriter, text: string): void {
  const at = out.length;
  out.uint32LE(0);
  // The array may move while the text is written, so it is looked up afterwards.
  const length = out.text(text);
  patchUint32LE(out.bytes, at, length);
}

export function patchUint32LE(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value;
  bytes[offset + 1] = value >>> 8;
  bytes[offset + 2] = value >>> 16;
  bytes[offset + 3] = value >>> 24;
}

/** Appends the value's JSON when JSON says it exactly; false (and rubbish appended) when not. */
function writeJson(out: ByteWriter, value: Value, depth: number): boolean {
  if (depth > depthMax) return false;
  if (typeof value === 'string') {
    writeQuoted(out, value);
    return true;
  }
  if (typeof value === 'number') {
    out.ascii(String(value));
    return Number.isFinite(value);
  }
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') {
    out.ascii(String(value));
    return true;
  }
  if (value instanceof Double) {
    out.ascii(doubleText(value.value));
    return true;
  }
  if (Array.isArray(value)) {
    out.byte(0x5b);
    for (let at = 0; at < value.length; at++) {
      if (at > 0) out.byte(0x2c);
      if (!writeJson(out, value[at] as Value, depth + 1)) return false;
    }
    out.byte(0x5d);
    return true;
  }
  if (!(value instanceof Map)) return false;
  out.byte(0x7b);
  let first = true;
  for (const [key, entry] of value as MapValue) {
    if (!first) out.byte(0x2c);
    first = false;
    writeQuoted(out, key);
    out.byte(0x3a);
    if (!writeJson(out, entry, depth + 1)) return false;
  }
  out.byte(0x7d);
  return true;
}

function writeQuoted(out: ByteWriter, text: string): void {
  const from = out.length;
  out.byte(0x22);
  if (out.textIsPlain(text)) {
    out.byte(0x22);
    return;
  }
  out.length = from;
  out.text(jsonString(text));
}

function writeRare(out: ByteWriter, value: Value): ValueTag {
  if (value instanceof DateValue) {
    requireWhole(value.epochDays, 2 ** 31);
    out.uint32LE(value.epochDays);
    return valueTag.date;
  }
  if (value instanceof DateTimeValue) return writeDateTime(out, value);
  if (value instanceof TimeValue) {
    const {secondOfDay, nanos, offsetSeconds} = value;
    for (const part of [secondOfDay, nanos, offsetSeconds ?? 0]) requireWhole(part);
    out.ascii([secondOfDay, nanos, offsetSeconds ?? 0].join());
    return offsetSeconds === undefined ? valueTag.localTime : valueTag.time;
  }
  if (value instanceof DurationValue) {
    const parts = [value.months, value.days, value.seconds, value.nanos];
    for (const part of parts) requireWhole(part);
    out.ascii(parts.join());
    return valueTag.duration;
  }
  if (value instanceof PointValue) {
    // String(-0) is '0', and a value is read back as it was.
    const coordinates = value.coordinates.map(part => (Object.is(part, -0) ? '-0' : part));
    requireWhole(value.srid);
    out.ascii([value.srid, ...coordinates].join());
    return valueTag.point;
  }
  assert(isNumberArray(value), 'every kind of value has a stored form');
  out.raw(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  return arrayTag(value);
}

/**
 * The reader takes a body whose numbers are not whole for damage, so such a value is never written.
 *
 * @throws {Refusal} `value.type`.
 */
function requireWhole(part: number, limit = 2 ** 64): void {
  if (Number.isInteger(part) && part >= -limit && part < limit) return;
  throw new Refusal(
    'value.type',
    `a date, time, duration or point with the part ${part} cannot be stored`,
  );
}

function writeDateTime(out: ByteWriter, value: DateTimeValue): ValueTag {
  const {epochSeconds, nanos, precision, local, zone} = value;
  if (zone !== undefined || local) {
    const parts = [epochSeconds, nanos, precisions.indexOf(precision), zone?.offsetSeconds ?? 0];
    for (const part of parts) requireWhole(part);
    out.text(`${parts.join()},${zone?.region ?? ''}`);
    return zone === undefined ? valueTag.localDateTime : valueTag.zonedDateTime;
  }
  requireWhole(epochSeconds, secondsBias);
  requireWhole(nanos, 2 ** 31);
  out.uint48BE(epochSeconds + secondsBias);
  out.uint32LE(nanos);
  const tags = [
    valueTag.dateTimeSecond,
    valueTag.dateTime,
    valueTag.dateTimeMicros,
    valueTag.dateTimeNanos,
  ] as const;
  return tags[precisions.indexOf(precision)] ?? valueTag.dateTime;
}

function arrayTag(value: NumberArray): ValueTag {
  if (value instanceof Int16Array) return valueTag.shorts;
  if (value instanceof Int32Array) return valueTag.integers;
  if (value instanceof BigInt64Array) return valueTag.longs;
  return value instanceof Float32Array ? valueTag.floats : valueTag.doubles;
}
