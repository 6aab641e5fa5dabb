/**
 * Stored bytes back to values: the inverse of stored-value.ts.
 *
 * Nothing returned refers to the bytes read from. Impossible bytes are a Corruption.
 */
import {Corruption} from '#server/base/errors.ts';
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
import {lightRidAt, positionAt, ridAt} from './namespace.ts';
import {precisions, secondsBias} from './stored-value.ts';
import {valueTag} from './value-tag.ts';

const jsonDepthMax = 2_000;
const exactDigitsMax = 15;

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
      return new DateValue(readInt32(bytes, start));
    case valueTag.dateTimeSecond:
    case valueTag.dateTime:
    case valueTag.dateTimeMicros:
    case valueTag.dateTimeNanos:
      return readDateTime(tag, bytes, start);
    case valueTag.rid:
      return ridAt(bytes, start);
    case valueTag.lightRid:
      return lightRidAt(bytes, start);
    case valueTag.binary:
      return copyBytes(bytes, start, end);
    case valueTag.listJson:
    case valueTag.mapJson:
      return new JsonParser(jsonDepthMax).parse(bytes, start, end);
    default:
      return readRare(tag, bytes, start, end);
  }
}

/** An integer in ASCII digits: a number where it is safe, else a bigint. */
export function readInteger(bytes: Uint8Array, start: number, end: number): number | bigint {
  const negative = bytes[start] === 0x2d;
  if (end - start > exactDigitsMax) return normalInteger(BigInt(readUtf8(bytes, start, end)));
  let value = 0;
  for (let at = negative ? start + 1 : start; at < end; at++) {
    value = value * 10 + ((bytes[at] as number) - 48);
  }
  return negative ? -value : value;
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
      return readList(bytes, start);
    case valueTag.map:
      return readMap(bytes, start);
    case valueTag.embedded:
      return readEmbedded(bytes, start);
    case valueTag.path:
      return new PathValue(readList(bytes, start) as readonly (Rid | RecordValue)[]);
    case valueTag.shorts:
      return new Int16Array(copyBytes(bytes, start, end).buffer as ArrayBuffer);
    case valueTag.integers:
      return new Int32Array(copyBytes(bytes, start, end).buffer as ArrayBuffer);
    case valueTag.longs:
      return new BigInt64Array(copyBytes(bytes, start, end).buffer as ArrayBuffer);
    case valueTag.floats:
      return new Float32Array(copyBytes(bytes, start, end).buffer as ArrayBuffer);
    case valueTag.doubles:
      return new Float64Array(copyBytes(bytes, start, end).buffer as ArrayBuffer);
    default:
      return readInText(tag, readUtf8(bytes, start, end));
  }
}

/** Kinds whose body is their numbers in text. */
function readInText(tag: number, text: string): Value {
  const parts = text.split(',');
  const number = (at: number): number => Number(parts[at]);
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
      const region = parts.slice(4).join();
      const zone = {offsetSeconds: number(3), ...(region === '' ? {} : {region})};
      const options = tag === valueTag.localDateTime ? {local: true} : {zone};
      return new DateTimeValue(number(0), number(1), precision, options);
    }
    default:
      return impossible(tag);
  }
}

function readList(bytes: Uint8Array, start: number): readonly Value[] {
  const list: Value[] = [];
  let at = start + 4;
  for (let left = readInt32(bytes, start); left > 0; left--) {
    const length = readInt32(bytes, at + 1);
    list.push(readValue(bytes[at] as number, bytes, at + 5, at + 5 + length));
    at += 5 + length;
  }
  return list;
}

function readMap(bytes: Uint8Array, start: number): MapValue {
  const map = new Map<string, Value>();
  let at = start + 4;
  for (let left = readInt32(bytes, start); left > 0; left--) {
    const keyLength = readInt32(bytes, at);
    const key = readUtf8(bytes, at + 4, at + 4 + keyLength);
    at += 4 + keyLength;
    const length = readInt32(bytes, at + 1);
    map.set(key, readValue(bytes[at] as number, bytes, at + 5, at + 5 + length));
    at += 5 + length;
  }
  return map;
}

function readEmbedded(bytes: Uint8Array, start: number): EmbeddedValue {
  const nameLength = readInt32(bytes, start);
  const at = start + 4 + nameLength;
  const length = readInt32(bytes, at + 1);
  const properties = readValue(bytes[at] as number, bytes, at + 5, at + 5 + length);
  return new EmbeddedValue(readUtf8(bytes, start + 4, at), properties as MapValue);
}

function impossible(tag: number): never {
  throw new Corruption('a stored value has an unknown tag or an impossible body', {tag});
}
