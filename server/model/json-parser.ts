/**
 * JSON text in bytes to values: our own parser, because JSON.parse loses digits and kinds.
 *
 * 5 is an integer, 5.0 and 5e0 are doubles, an integer beyond 64 bits is an exact decimal, a
 * repeated key's last value wins, `__proto__` is a key like any other. Bad syntax, invalid
 * UTF-8 and too deep nesting are refused with the byte position (`json.invalid`,
 * `limit.depth`, `limit.body` for too many values); nothing is skipped or repaired, except that
 * an escaped lone surrogate becomes U+FFFD. Source: RFC 8259.
 */
import {Refusal} from '#server/base/errors.ts';
import {copyBytes, readUtf8, utf8Bytes} from '#server/base/utf8.ts';
import {unescapeJson} from './json/json-escapes.ts';
import {makeDouble, normalInteger} from './number.ts';
import {parseDecimal} from './decimal.ts';
import type {Value} from './value.ts';

export const jsonDepthMaxDefault = 64;
const keyCacheSize = 256;
const keyLengthMax = 32;
const digitsMax = 1_000;
/** A text that is longer is searched by the runtime's own means. */
const shortTextMax = 256;
const none = new Uint8Array(0);
const strictDecoder = new TextDecoder('utf-8', {fatal: true, ignoreBOM: true});

/** Reads a whole document. `depthMax` bounds nested arrays and objects. */
export function parseJson(bytes: Uint8Array, depthMax = jsonDepthMaxDefault): Value {
  return new JsonParser(depthMax).parse(bytes);
}

/** Works like `parseJson`, for text at hand (a column of a result, a literal). */
export function parseJsonText(text: string, depthMax = jsonDepthMaxDefault): Value {
  return parseJson(utf8Bytes(text), depthMax);
}

/** Keep one for many documents of one kind: it remembers the keys that it has seen. */
export class JsonParser {
  readonly depthMax: number;
  readonly valuesMax: number;
  protected bytes: Uint8Array = none;
  protected valuesLeft = 0;
  protected at = 0;
  protected end = 0;
  protected start = 0;
  private readonly keys: (string | undefined)[] = [];
  private readonly keyBytes: (Uint8Array | undefined)[] = [];

  /** `valuesMax` bounds the values of one document, so that few bytes cannot fill memory. */
  constructor(depthMax = jsonDepthMaxDefault, valuesMax = Number.POSITIVE_INFINITY) {
    this.depthMax = depthMax;
    this.valuesMax = valuesMax;
  }

  /**
   * Reads the one document in [start, end). Positions in refusals count from `start`.
   * The values do not refer to `bytes` afterwards.
   */
  parse(bytes: Uint8Array, start = 0, end = bytes.length): Value {
    this.begin(bytes, start, end);
    try {
      const value = this.value(0, this.next());
      if (this.next() !== -1) this.fail('the document has ended before');
      return value;
    } finally {
      this.bytes = none;
    }
  }

  protected begin(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.at = start;
    this.end = end;
    this.valuesLeft = this.valuesMax;
  }

  /** Skips white space; the byte at `at`, or -1 at the end. */
  protected next(): number {
    while (this.at < this.end) {
      const byte = this.bytes[this.at] as number;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return byte;
      this.at++;
    }
    return -1;
  }

  protected value(depth: number, byte: number): Value {
    if (--this.valuesLeft < 0) this.tooMany();
    switch (byte) {
      case 0x22:
        return this.string();
      case 0x7b:
        return this.object(this.deeper(depth));
      case 0x5b:
        return this.array(this.deeper(depth));
      case 0x74:
        return this.word('true', true);
      case 0x66:
        return this.word('false', false);
      case 0x6e:
        return this.word('null', null);
      case -1:
        return this.fail('the document ends where a value is expected');
      default:
        return this.number(byte);
    }
  }

  protected deeper(depth: number): number {
    if (depth >= this.depthMax) {
      const position = this.at - this.start;
      throw new Refusal(
        'limit.depth',
        `the JSON is nested more than ${this.depthMax} levels deep at byte ${position}`,
        {detail: {position, depthMax: this.depthMax}},
      );
    }
    return depth + 1;
  }

  private object(depth: number): Value {
    const map = new Map<string, Value>();
    this.at++;
    if (this.next() === 0x7d) {
      this.at++;
      return map;
    }
    for (;;) {
      const key = this.name();
      map.set(key, this.value(depth, this.next()));
      const byte = this.next();
      this.at++;
      if (byte === 0x2c) continue;
      if (byte === 0x7d) return map;
      this.at--;
      this.fail("',' or '}' is expected");
    }
  }

  private array(depth: number): Value {
    const list: Value[] = [];
    this.at++;
    if (this.next() === 0x5d) {
      this.at++;
      return list;
    }
    for (;;) {
      list.push(this.value(depth, this.next()));
      const byte = this.next();
      this.at++;
      if (byte === 0x2c) continue;
      if (byte === 0x5d) return list;
      this.at--;
      this.fail("',' or ']' is expected");
    }
  }

  /** A key and its colon. */
  protected name(): string {
    if (this.next() !== 0x22) this.fail('a key in quotes is expected');
    const key = this.key();
    if (this.next() !== 0x3a) this.fail("':' is expected");
    this.at++;
    return key;
  }

  /** A key, from the memory of keys where it was seen before. */
  private key(): string {
    const {bytes} = this;
    const from = this.at + 1;
    let hash = 0;
    let to = from;
    for (; to < this.end && to - from <= keyLengthMax; to++) {
      const byte = bytes[to] as number;
      if (byte === 0x22) break;
      if (byte === 0x5c || byte < 0x20) return this.string();
      hash = (hash * 31 + byte) | 0;
    }
    if (bytes[to] !== 0x22 || to >= this.end) return this.string();
    const slot = (hash ^ (hash >>> 8)) & (keyCacheSize - 1);
    const known = this.keyBytes[slot];
    if (known !== undefined && known.length === to - from) {
      let same = 0;
      while (same < known.length && known[same] === bytes[from + same]) same++;
      if (same === known.length) {
        this.at = to + 1;
        return this.keys[slot] as string;
      }
    }
    const key = this.string();
    this.keyBytes[slot] = copyBytes(bytes, from, to);
    this.keys[slot] = key;
    return key;
  }

  private string(): string {
    const {bytes, end} = this;
    const from = this.at + 1;
    let to = from;
    let ascii = true;
    const shortEnd = Math.min(end, from + shortTextMax);
    for (; to < end; to++) {
      if (to === shortEnd) {
        const plain = this.plainEnd(to);
        if (plain > to) ascii = false;
        to = plain;
      }
      const byte = bytes[to] as number;
      if (byte === 0x22) {
        this.at = to + 1;
        return ascii ? readUtf8(bytes, from, to) : this.decode(from, to);
      }
      if (byte === 0x5c) return this.escapedString(from, to);
      if (byte < 0x20) {
        this.at = to;
        this.fail('a control character must be escaped');
      }
      if (byte >= 0x80) ascii = false;
    }
    this.at = end;
    return this.fail('a text is not closed');
  }

  /** The quote behind a long text, as long as nothing before it needs a look; else `from`. */
  private plainEnd(from: number): number {
    const {bytes, end} = this;
    const quote = bytes.indexOf(0x22, from);
    if (quote < 0 || quote >= end) return from;
    if (bytes.subarray(from, quote).includes(0x5c)) return from;
    return hasControl(bytes, from, quote) ? from : quote;
  }

  private escapedString(from: number, firstEscape: number): string {
    const {bytes, end} = this;
    let to = firstEscape;
    while (to < end && bytes[to] !== 0x22) {
      if ((bytes[to] as number) < 0x20) {
        this.at = to;
        this.fail('a control character must be escaped');
      }
      to += bytes[to] === 0x5c ? 2 : 1;
    }
    if (to >= end) {
      this.at = end;
      return this.fail('a text is not closed');
    }
    const text = this.unescaped(from, to);
    this.at = to + 1;
    return text;
  }

  protected unescaped(from: number, to: number): string {
    const plain = unescapeJson(this.bytes, from, to);
    if (typeof plain === 'number') {
      this.at = plain;
      return this.fail('an escape is not one of JSON');
    }
    try {
      return strictDecoder.decode(plain);
    } catch {
      return this.decode(from, to);
    }
  }

  protected decode(from: number, to: number): string {
    try {
      return strictDecoder.decode(this.bytes.subarray(from, to));
    } catch {
      this.at = from + invalidUtf8At(this.bytes.subarray(from, to));
      return this.fail('the bytes are not UTF-8');
    }
  }

  protected number(first: number): Value {
    const {bytes, end} = this;
    const from = this.at;
    let to = first === 0x2d ? from + 1 : from;
    const digitsFrom = to;
    let small = 0;
    let digit = 0;
    const digitsEnd = Math.min(end, from + digitsMax + 1);
    for (; to < digitsEnd && (digit = (bytes[to] as number) - 48) >= 0 && digit <= 9; to++) {
      small = small * 10 + digit;
    }
    if (to === digitsFrom) return this.fail('a value is expected');
    if (bytes[digitsFrom] === 0x30 && to > digitsFrom + 1)
      return this.fail('a number starts with 0');
    const byte = to < end ? (bytes[to] as number) : 0;
    if (byte === 0x2e || byte === 0x65 || byte === 0x45) return this.double(from, to);
    this.at = to;
    if (to - digitsFrom <= 15) return first === 0x2d && small !== 0 ? -small : small;
    return this.largeInteger(from, to);
  }

  private largeInteger(from: number, to: number): Value {
    if (to - from > digitsMax) return this.fail(`a number has more than ${digitsMax} digits`);
    const text = readAscii(this.bytes, from, to);
    const integer = BigInt(text);
    if (BigInt.asIntN(64, integer) === integer) return normalInteger(integer);
    return parseDecimal(text) ?? this.fail('a number is out of range');
  }

  private double(from: number, fractionAt: number): Value {
    let to = fractionAt;
    const digitsEnd = Math.min(this.end, from + digitsMax + 1);
    while (
      to < digitsEnd &&
      '0123456789+-.eE'.includes(String.fromCharCode(this.bytes[to] as number))
    )
      to++;
    if (to - from > digitsMax) return this.fail(`a number has more than ${digitsMax} digits`);
    const text = readAscii(this.bytes, from, to);
    if (!/^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return this.fail('a number is malformed');
    const double = Number(text);
    if (!Number.isFinite(double)) return this.fail('a number is out of range');
    this.at = to;
    return makeDouble(double);
  }

  protected word<V extends Value>(word: string, value: V): V {
    const to = this.at + word.length;
    if (to > this.end || readAscii(this.bytes, this.at, to) !== word) {
      return this.fail('a value is expected');
    }
    this.at = to;
    return value;
  }

  protected tooMany(): never {
    const {valuesMax, at, start} = this;
    const message = `the JSON has more than ${valuesMax} values at byte ${at - start}`;
    throw new Refusal('limit.body', message, {detail: {position: at - start, valuesMax}});
  }

  protected fail(what: string): never {
    const position = this.at - this.start;
    throw new Refusal('json.invalid', `${what} at byte ${position}`, {detail: {position}});
  }
}

/** Whether a byte of [from, to) is below 0x20: four at a time, and one by one around these. */
export function hasControl(bytes: Uint8Array, from: number, to: number): boolean {
  const isControl = (byte: number): boolean => byte < 0x20;
  const wordsAt = from + (-(bytes.byteOffset + from) & 3);
  if (wordsAt >= to) return bytes.subarray(from, to).some(isControl);
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset + wordsAt, (to - wordsAt) >> 2);
  // An iterator would take most of the time.
  for (let index = 0; index < words.length; index++) {
    const word = words[index] as number;
    // A byte that was less borrows, and ends with a highest bit that it did not have.
    if (((word - 0x20202020) & ~word & 0x80808080) !== 0) return true;
  }
  const wordsEnd = wordsAt + 4 * words.length;
  return (
    bytes.subarray(from, wordsAt).some(isControl) || bytes.subarray(wordsEnd, to).some(isControl)
  );
}

function readAscii(bytes: Uint8Array, from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at++) text += String.fromCharCode(bytes[at] as number);
  return text;
}

/** Offset of the first byte that is no UTF-8: the longest prefix that survives a round trip. */
function invalidUtf8At(bytes: Uint8Array): number {
  const repaired = utf8Bytes(new TextDecoder('utf-8', {ignoreBOM: true}).decode(bytes));
  let at = 0;
  while (at < bytes.length && bytes[at] === repaired[at]) at++;
  return at;
}
