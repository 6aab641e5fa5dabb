/**
 * Values as bytes that sort like the values: the one encoding of index keys.
 *
 * A part begins with the number of its class (model/compare.ts) and says itself where it ends,
 * so a composite key is its parts one behind the other and a prefix of parts is a prefix of
 * bytes. Ascending only.
 *
 * - Numbers of every kind share one form: the nearest double, with its bits turned so that
 *   bytes sort, then 0x80 when that is the number, else what is missing as an exact decimal,
 *   below (0x7f) or above (0x81). Rounding never swaps two numbers, so this is their order.
 * - Texts are UTF-8 in which 0x00 is written 00 ff; 00 01 ends them. Binaries likewise.
 * - Lists are their elements and a 00; maps are lists of sorted keys and values.
 *
 * Invariant K2: equal by compareTotal means equal bytes, less means less.
 */
import {unreachable} from '#server/base/assert.ts';
import {ByteWriter} from '#server/base/byte-writer.ts';
import {copyBytes} from '#server/base/utf8.ts';
import {
  classify,
  durationTuple,
  instantTuple,
  mapList,
  pointTuple,
  regionOf,
  timeTuple,
  valueClass,
} from '#server/model/compare.ts';
import {exactDecimalOfDouble, powerOfTen, addDecimals} from '#server/model/decimal.ts';
import {exactDecimal, numberOf, type NumberValue} from '#server/model/number.ts';
import {Decimal, type Rid, type Value} from '#server/model/value.ts';

export const exactMark = 0x80;
export const belowMark = 0x7f;
export const aboveMark = 0x81;
export const exponentBias = 0x8000;
const escaped = 0xff;
const terminator = 0x01;

/** One key of several parts. */
export function encodeKey(values: readonly Value[]): Uint8Array {
  const out = new ByteWriter(64);
  for (const value of values) appendKeyPart(out, value);
  return out.take();
}

/** Appends one part. */
export function appendKeyPart(out: ByteWriter, value: Value): void {
  if (typeof value === 'string') {
    out.byte(valueClass.text);
    appendEscapedText(out, value);
    return;
  }
  const known = classify(value);
  out.byte(valueClass[known.of]);
  switch (known.of) {
    case 'null':
      return;
    case 'boolean':
      out.byte(known.value ? 1 : 0);
      return;
    case 'number':
      appendNumber(out, known.value);
      return;
    case 'text':
      appendEscapedText(out, known.value);
      return;
    case 'instant': {
      const [seconds, nanos, kind, offset] = instantTuple(known.value) as [
        number,
        number,
        number,
        number,
      ];
      appendDouble(out, seconds);
      out.uint32BE(nanos);
      out.byte(kind);
      if (kind !== 2) return;
      appendDouble(out, offset);
      appendEscapedText(out, regionOf(known.value));
      return;
    }
    case 'time':
      appendTuple(out, timeTuple(known.value));
      return;
    case 'duration':
      appendTuple(out, durationTuple(known.value));
      return;
    case 'point':
      appendTuple(out, pointTuple(known.value));
      return;
    case 'binary':
      appendEscaped(out, known.value, 0, known.value.length);
      return;
    case 'rid':
      appendRidPart(out, known.value);
      return;
    case 'list':
    case 'path':
      appendList(out, known.value);
      return;
    case 'map':
      appendList(out, mapList(known));
      return;
    default:
      unreachable(known);
  }
}

function appendList(out: ByteWriter, list: readonly Value[]): void {
  for (const element of list) appendKeyPart(out, element);
  out.byte(0);
}

function appendTuple(out: ByteWriter, tuple: readonly number[]): void {
  for (const part of tuple) appendDouble(out, part);
}

function appendRidPart(out: ByteWriter, rid: Rid): void {
  out.uint32BE(rid.bucket);
  appendDouble(out, rid.position);
}

function appendEscapedText(out: ByteWriter, text: string): void {
  const from = out.length;
  out.text(text);
  if (text.includes('\u0000')) {
    // A copy in any case: `slice` of a Buffer is none.
    const bytes = copyBytes(out.bytes, from, out.length);
    out.length = from;
    appendEscaped(out, bytes, 0, bytes.length);
    return;
  }
  out.byte(0);
  out.byte(terminator);
}

function appendEscaped(out: ByteWriter, bytes: Uint8Array, start: number, end: number): void {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    out.byte(byte);
    if (byte === 0) out.byte(escaped);
  }
  out.byte(0);
  out.byte(terminator);
}

/** Eight bytes whose unsigned order is that of doubles: -0 = 0, NaN last. */
export function appendDouble(out: ByteWriter, double: number): void {
  out.reserve(8);
  if (double > 0 && double >>> 0 === double) {
    appendWhole(out, double);
    return;
  }
  const view = new DataView(out.bytes.buffer, out.bytes.byteOffset + out.length, 8);
  view.setFloat64(0, double === 0 ? 0 : Number.isNaN(double) ? Number.NaN : double);
  const high = view.getUint32(0);
  // Positive: the sign bit is set. Negative: every bit is turned.
  if (high < 0x80000000) view.setUint32(0, high + 0x80000000);
  else {
    view.setUint32(0, ~high >>> 0);
    view.setUint32(4, ~view.getUint32(4) >>> 0);
  }
  out.length += 8;
}

/** The same bytes for 1 to 2^32 - 1, put together by shifts: most keys are such numbers. */
function appendWhole(out: ByteWriter, whole: number): void {
  const exponent = 31 - Math.clz32(whole);
  const fraction = exponent <= 20 ? whole << (20 - exponent) : whole >>> (exponent - 20);
  out.uint32BE((0x80000000 | ((exponent + 1023) << 20) | (fraction & 0xfffff)) >>> 0);
  out.uint32BE(exponent <= 20 ? 0 : (whole << (52 - exponent)) >>> 0);
}

function appendNumber(out: ByteWriter, value: NumberValue): void {
  if (typeof value === 'number') {
    appendDouble(out, value);
    out.byte(exactMark);
    return;
  }
  const nearest = numberOf(value);
  const exact = exactDecimal(value);
  if (!(exact instanceof Decimal)) {
    appendDouble(out, nearest);
    out.byte(exactMark);
    return;
  }
  const base = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, nearest));
  appendDouble(out, base);
  const subtrahend = exactDecimalOfDouble(base);
  appendRest(out, addDecimals(exact, new Decimal(-subtrahend.unscaled, subtrahend.scale)));
}

/** What the nearest double lacks: 0.d1d2d3... * 10^exponent, digits in pairs, then a zero. */
function appendRest(out: ByteWriter, rest: Decimal): void {
  if (rest.unscaled === 0n) {
    out.byte(exactMark);
    return;
  }
  const negative = rest.unscaled < 0n;
  const all = (negative ? -rest.unscaled : rest.unscaled).toString();
  const exponent = all.length - rest.scale + exponentBias;
  const digits = all.replace(/0+$/, '');
  out.byte(negative ? belowMark : aboveMark);
  // Below the double the larger rest comes first, so every byte of it is turned.
  const turn = negative ? 0xff : 0;
  out.byte((exponent >>> 8) ^ turn);
  out.byte((exponent & 0xff) ^ turn);
  for (let at = 0; at < digits.length; at += 2) {
    out.byte((Number(digits.slice(at, at + 2).padEnd(2, '0')) + 1) ^ turn);
  }
  out.byte(turn);
}

/** The decimal of a rest's digits and exponent: the inverse of what `appendRest` writes. */
export function restOf(digits: string, exponent: number): Decimal {
  const scale = digits.length - exponent;
  const unscaled = BigInt(digits);
  return scale >= 0 ? new Decimal(unscaled, scale) : new Decimal(unscaled * powerOfTen(-scale), 0);
}
