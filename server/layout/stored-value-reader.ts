/**
 * Stored bytes back to values: the inverse of stored-value.ts.
 *
 * Nothing returned refers to the bytes read from. Impossible bytes are a Corruption.
 */
import {Corruption, Refusal} from '#server/base/errors.ts';
import {copyBytes, readUtf8} from '#server/base/utf8.ts';
import {parseDecimal} from '#server/model/decimal.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import {makeDouble, normalInteger} from '#server/model/number.ts';
import {
  DateTimeValue,
  DateValue,
  DurationValue,
  EmbeddedValue,
  type MapValue,
  PathValue,
  PointValue,
  type RecordValue,
  type Rid,
  type TimePrecision,
  TimeValue,
  type Value,
} from '#server/model/value.ts';
import {lightRidAt, positionAt, ridAt, ridBytes} from './namespace.ts';
import {precisions, secondsBias} from './stored-value.ts';
import {valueTag} from './value-tag.ts';

const jsonDepthMax = 2_000;
const exactDigitsMax = 15;
/** The sign and the digits of 64 bits. */
const longDigitsMax = 20;

/** The value with `tag` whose body is bytes [start, end). */
export function readValue(tag: number, bytes: Uint8Array, start: number, end: number): Value {
  switch (tag) {
    case valueTag.text:
    case valueTag.textToEscape:
      return readUtf8(bytes, start, end);
    case valueTag.byte:
    case valueTag.short:
    case valueTag.integer:
    case valueTag.long:
      return readInteger(bytes, start, end);
    case valueTag.float:
    case valueTag.double:
      return makeDouble(readDouble(bytes, start, end));
    case valueTag.null:
      return null;
    case valueTag.true:
      return true;
    case valueTag.false:
      return false;
    case valueTag.decimal:
      return parseDecimal(readUtf8(bytes, start, end)) ?? impossible(tag);
    case valueTag.date:
      requireBytes(tag, start + 4, end);
      return new DateValue(readInt32(bytes, start));
    case valueTag.dateTimeSecond:
    case valueTag.dateTime:
    case valueTag.dateTimeMicros:
    case valueTag.dateTimeNanos:
      requireBytes(tag, start + 10, end);
      return readDateTime(tag, bytes, start);
    case valueTag.rid:
      requireBytes(tag, start + ridBytes, end);
      return ridAt(bytes, start);
    case valueTag.lightRid:
      requireBytes(tag, start + ridBytes, end);
      return lightRidAt(bytes, start);
    case valueTag.binary:
      return copyBytes(bytes, start, end);
    case valueTag.listJson:
    case valueTag.mapJson:
      return readJson(tag, bytes, start, end);
    default:
      return readRare(tag, bytes, start, end);
  }
}

/** An integer in ASCII digits: a number where it is safe, else a bigint. */
export function readInteger(bytes: Uint8Array, start: number, end: number): number | bigint {
  const negative = bytes[start] === 0x2d;
  if (end - start > exactDigitsMax) return readLong(readUtf8(bytes, start, end));
  let value = 0;
  for (let at = negative ? start + 1 : start; at < end; at++) {
    value = value * 10 + ((bytes[at] as number) - 48);
  }
  return negative ? -value : value;
}

function readLong(text: string): number | bigint {
  if (text.length > longDigitsMax || !/^-?[0-9]+$/.test(text)) return impossible(valueTag.long);
  return normalInteger(BigInt(text));
}

function readJson(tag: number, bytes: Uint8Array, start: number, end: number): Value {
  try {
    return new JsonParser(jsonDepthMax).parse(bytes, start, end);
  } catch (error) {
    if (error instanceof Refusal) return impossible(tag);
    throw error;
  }
}

/** A double in text. Short ones without an exponent are read in place and rounded once. */
export function readDouble(bytes: Uint8Array, start: number, end: number): number {
  const negative = bytes[start] === 0x2d;
  let digits = 0;
  let scale = -1;
  let exact = end - start <= exactDigitsMax;
  for (let at = negative ? start + 1 : start; exact && at < end; at++) {
    const byte = bytes[at] as number;
    if (byte === 0x2e) scale = 0;
    else if (byte >= 0x30 && byte <= 0x39) {
      digits = digits * 10 + byte - 48;
      if (scale >= 0) scale++;
    } else exact = false;
  }
  if (!exact) return Number(readUtf8(bytes, start, end));
  // Both sides are exact doubles, so the quotient is the nearest double to the decimal text.
  const size = scale > 0 ? digits / 10 ** scale : digits;
  return negative ? -size : size;
}

function readDateTime(tag: number, bytes: Uint8Array, start: number): DateTimeValue {
  const precision = precisions[tag - valueTag.dateTimeSecond] as TimePrecision;
  const seconds = positionAt(bytes, start) - secondsBias;
  return new DateTimeValue(seconds, readInt32(bytes, start + 6), precision);
}

export function readInt32(bytes: Uint8Array, offset: number): number {
  return (
    (bytes[offset] as number) |
    ((bytes[offset + 1] as number) << 8) |
    ((bytes[offset + 2] as number) << 16) |
    ((bytes[offset + 3] as number) << 24)
  );
}

function readRare(tag: number, bytes: Uint8Array, start: number, end: number): Value {
  switch (tag) {
    case valueTag.list:
      return readList(bytes, start, end);
    case valueTag.map:
      return readMap(bytes, start, end);
    case valueTag.embedded:
      return readEmbedded(bytes, start, end);
    case valueTag.path:
      return new PathValue(readList(bytes, start, end) as readonly (Rid | RecordValue)[]);
    case valueTag.shorts:
      return new Int16Array(elements(tag, bytes, {start, end, size: 2}));
    case valueTag.integers:
      return new Int32Array(elements(tag, bytes, {start, end, size: 4}));
    case valueTag.longs:
      return new BigInt64Array(elements(tag, bytes, {start, end, size: 8}));
    case valueTag.floats:
      return new Float32Array(elements(tag, bytes, {start, end, size: 4}));
    case valueTag.doubles:
      return new Float64Array(elements(tag, bytes, {start, end, size: 8}));
    default:
      return readInText(tag, readUtf8(bytes, start, end));
  }
}

/** Kinds whose body is their numbers in text. */
function readInText(tag: number, text: string): Value {
  const parts = text.split(',');
  const number = (at: number): number => {
    const whole = Number(parts[at]);
    return Number.isInteger(whole) ? whole : impossible(tag);
  };
  switch (tag) {
    case valueTag.time:
      return new TimeValue(number(0), number(1), number(2));
    case valueTag.localTime:
      return new TimeValue(number(0), number(1), undefined);
    case valueTag.duration:
      return new DurationValue(number(0), number(1), number(2), number(3));
    case valueTag.point:
      return new PointValue(number(0), parts.slice(1).map(Number));
    case valueTag.localDateTime:
    case valueTag.zonedDateTime: {
      const precision = precisions[number(2)] ?? 'nanosecond';
      if (tag === valueTag.localDateTime) {
        return new DateTimeValue(number(0), number(1), precision, {local: true});
      }
      const region = parts.slice(4).join();
      const zone = {offsetSeconds: number(3), ...(region === '' ? {} : {region})};
      return new DateTimeValue(number(0), number(1), precision, {zone});
    }
    default:
      return impossible(tag);
  }
}

/** A copy of the bytes of numbers of `size` bytes each. */
function elements(
  tag: number,
  bytes: Uint8Array,
  {start, end, size}: {readonly start: number; readonly end: number; readonly size: number},
): ArrayBuffer {
  if ((end - start) % size !== 0) impossible(tag);
  return copyBytes(bytes, start, end).buffer as ArrayBuffer;
}

function readList(bytes: Uint8Array, start: number, end: number): readonly Value[] {
  const list: Value[] = [];
  requireBytes(valueTag.list, start + 4, end);
  let at = start + 4;
  for (let left = readInt32(bytes, start); left > 0; left--) {
    const bodyEnd = elementEnd(bytes, at, end);
    list.push(readValue(bytes[at] as number, bytes, at + 5, bodyEnd));
    at = bodyEnd;
  }
  return list;
}

/**
 * Returns the offset after the element at `at` of a list or map: tag, length, body.
 *
 * @throws {Corruption} when it does not lie before `end`.
 */
export function elementEnd(bytes: Uint8Array, at: number, end: number): number {
  requireBytes(valueTag.list, at + 5, end);
  return lengthEnd(bytes, at + 1, end);
}

/** Returns the offset after the bytes whose length stands in the four bytes at `at`. */
function lengthEnd(bytes: Uint8Array, at: number, end: number): number {
  const length = readInt32(bytes, at);
  if (length < 0) impossible(valueTag.list);
  requireBytes(valueTag.list, at + 4 + length, end);
  return at + 4 + length;
}

function readMap(bytes: Uint8Array, start: number, end: number): MapValue {
  const map = new Map<string, Value>();
  requireBytes(valueTag.map, start + 4, end);
  let at = start + 4;
  for (let left = readInt32(bytes, start); left > 0; left--) {
    requireBytes(valueTag.map, at + 4, end);
    const keyEnd = lengthEnd(bytes, at, end);
    const key = readUtf8(bytes, at + 4, keyEnd);
    at = elementEnd(bytes, keyEnd, end);
    map.set(key, readValue(bytes[keyEnd] as number, bytes, keyEnd + 5, at));
  }
  return map;
}

function readEmbedded(bytes: Uint8Array, start: number, end: number): EmbeddedValue {
  requireBytes(valueTag.embedded, start + 4, end);
  const at = lengthEnd(bytes, start, end);
  const bodyEnd = elementEnd(bytes, at, end);
  const properties = readValue(bytes[at] as number, bytes, at + 5, bodyEnd);
  if (!(properties instanceof Map)) return impossible(valueTag.embedded);
  return new EmbeddedValue(readUtf8(bytes, start + 4, at), properties);
}

function requireBytes(tag: number, until: number, end: number): void {
  if (until > end) impossible(tag);
}

function impossible(tag: number): never {
  throw new Corruption('a stored value has an unknown tag or an impossible body', {tag});
}
