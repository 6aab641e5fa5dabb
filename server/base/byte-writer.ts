/**
 * A growing run of bytes with a write position: records, keys and result rows are built in it.
 *
 * `bytes` may move to a larger array on any write; keep offsets, not references. What is
 * written can be patched in place behind the position (lengths, counts).
 */
import {utf8Length, writeUtf8} from './utf8.ts';

const capacityDefault = 256;
const shortCopyMax = 32;
const shortTextMax = 192;
/** Up to here digits are made by 32-bit divisions. */
const smallIntegerMax = 0x7fffffff;
/** What is behind these of a safe integer is small. */
const lowDigitCount = 9;
const lowDigits = 10 ** lowDigitCount;
const needsEscape = /["\\\u0000-\u001f]/;

export class ByteWriter {
  bytes: Uint8Array;
  length = 0;

  /** `room`: how many bytes to begin with, or the array to begin in, which is the writer's then. */
  constructor(room: number | Uint8Array = capacityDefault) {
    this.bytes = typeof room === 'number' ? new Uint8Array(room) : room;
  }

  /** Makes room for `count` more bytes. */
  reserve(count: number): void {
    const needed = this.length + count;
    if (needed <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.bytes.length * 2));
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.bytes.length) this.reserve(1);
    this.bytes[this.length++] = value;
  }

  uint32LE(value: number): void {
    this.reserve(4);
    this.bytes[this.length++] = value;
    this.bytes[this.length++] = value >>> 8;
    this.bytes[this.length++] = value >>> 16;
    this.bytes[this.length++] = value >>> 24;
  }

  uint32BE(value: number): void {
    this.reserve(4);
    this.bytes[this.length++] = value >>> 24;
    this.bytes[this.length++] = value >>> 16;
    this.bytes[this.length++] = value >>> 8;
    this.bytes[this.length++] = value;
  }

  uint48BE(value: number): void {
    const high = Math.floor(value / 0x1_0000_0000);
    this.byte(high >>> 8);
    this.byte(high);
    this.uint32BE(value >>> 0);
  }

  /** Text whose units are all below 0x80: digits, words of JSON. */
  ascii(text: string): void {
    this.reserve(text.length);
    const {bytes} = this;
    let to = this.length;
    for (let at = 0; at < text.length; at++) bytes[to++] = text.charCodeAt(at);
    this.length = to;
  }

  /** Any text as UTF-8; returns how many bytes it took. */
  text(text: string): number {
    const from = this.length;
    // Three bytes a unit always suffice; long texts are measured so that they do not over-reserve.
    this.reserve(text.length <= 1024 ? text.length * 3 : utf8Length(text));
    this.length = writeUtf8(text, this.bytes, this.length);
    return this.length - from;
  }

  /**
   * Works like `text`, and returns whether JSON takes the bytes as they are: no quote, no
   * backslash, no control character among them. One pass for short texts of ASCII.
   */
  textIsPlain(text: string): boolean {
    const count = text.length;
    if (count > shortTextMax) {
      this.text(text);
      return !needsEscape.test(text);
    }
    this.reserve(count);
    const {bytes} = this;
    let plain = true;
    let to = this.length;
    for (let at = 0; at < count; at++) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x80) {
        this.text(text);
        return !needsEscape.test(text);
      }
      if (unit < 0x20 || unit === 0x22 || unit === 0x5c) plain = false;
      bytes[to++] = unit;
    }
    this.length = to;
    return plain;
  }

  /** A safe integer in decimal digits. */
  digits(integer: number): void {
    let left = integer;
    if (left < 0) {
      this.byte(0x2d);
      left = -left;
    }
    let count = 1;
    for (let limit = 10; limit <= left; limit *= 10) count++;
    this.reserve(count);
    this.length += count;
    let at = this.length;
    if (left > smallIntegerMax) {
      const rest = Math.floor(left / lowDigits);
      at = this.#digitsBefore(at, left - rest * lowDigits, lowDigitCount);
      count -= lowDigitCount;
      left = rest;
    }
    this.#digitsBefore(at, left, count);
  }

  /** The last `count` digits of a small integer; where they begin. */
  #digitsBefore(end: number, integer: number, count: number): number {
    const {bytes} = this;
    let left = integer;
    for (let at = end - 1; at >= end - count; at--) {
      const rest = (left / 10) | 0;
      bytes[at] = 0x30 + left - rest * 10;
      left = rest;
    }
    return end - count;
  }

  /** Copies bytes [start, end) of `source`. */
  raw(source: Uint8Array, start = 0, end = source.length): void {
    const count = end - start;
    this.reserve(count);
    if (count > shortCopyMax) {
      this.bytes.set(source.subarray(start, end), this.length);
      this.length += count;
      return;
    }
    const {bytes} = this;
    let to = this.length;
    for (let at = start; at < end; at++) bytes[to++] = source[at] as number;
    this.length = to;
  }

  clear(): void {
    this.length = 0;
  }

  /** What was written, where it lies: for the last look at a writer that is used no more. */
  view(): Uint8Array {
    return this.bytes.subarray(0, this.length);
  }

  /** A copy of what was written, in an array of its own. */
  take(): Uint8Array {
    return Uint8Array.prototype.slice.call(this.bytes, 0, this.length);
  }
}
