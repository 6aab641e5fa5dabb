/**
 * One line of JSON as a record: `@type`, `@class`, `@id`, `@from`, `@to`, and properties.
 *
 * The usual line is read in one pass: its texts and numbers are stored as they lie there, without
 * a value made of them. Whatever is unusual (escapes, a class behind the properties, repeated
 * keys, any mistake) makes the pass give up; then the line is read again by the general parser,
 * which alone decides what is wrong. Invariant U1: both ways leave the same draft behind.
 */
import {isUtf8} from 'node:buffer';
import {Refusal} from '#server/base/errors.ts';
import {readUtf8} from '#server/base/utf8.ts';
import {writeValue} from '#server/layout/stored-value.ts';
import {valueTag, type ValueTag} from '#server/layout/value-tag.ts';
import {JsonParser} from '#server/model/json-parser.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {type BulkDraft, lineRefusal, type TextRange, withLine} from './draft.ts';
import {type BulkProperty, type BulkType, ByteTable, hashByte} from './type.ts';

const quote = 0x22;
const backslash = 0x5c;
const integerDigitsMax = 15;
const depthMax = 64;
/** Longer names are for the general way to judge. */
const nameBytesMax = 256;

export class JsonLineReader {
  readonly #draft: BulkDraft;
  readonly #parser = new JsonParser(depthMax);
  #types = new ByteTable<BulkType>();
  #typesOf: unknown;
  #bytes: Uint8Array = new Uint8Array(0);
  #at = 0;
  #end = 0;
  /** Where the text that was scanned last begins. */
  #textStart = 0;
  #textEnd = 0;
  #hash = 0;
  #isAscii = true;

  constructor(draft: BulkDraft) {
    this.#draft = draft;
  }

  /**
   * Fills the draft from bytes [start, end), which are one line.
   *
   * @throws {Refusal} `batch.record`, `argument`, `schema.unknown-type`, `value.type`, ...
   */
  read(bytes: Uint8Array, start: number, end: number, line: number): void {
    if (this.readUsual(bytes, start, end)) return;
    this.readAny(bytes, start, end, line);
  }

  /** The one-pass way; false when it gave up. */
  readUsual(bytes: Uint8Array, start: number, end: number): boolean {
    const draft = this.#draft;
    draft.clear();
    if (this.#typesOf !== draft.context) {
      this.#types = new ByteTable();
      this.#typesOf = draft.context;
    }
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
    if (this.#next() !== 0x7b) return false;
    this.#at++;
    for (;;) {
      if (this.#next() !== quote || !this.#text()) return false;
      const keyStart = this.#textStart;
      const keyEnd = this.#textEnd;
      const hash = this.#hash;
      const isAscii = this.#isAscii;
      if (this.#next() !== 0x3a) return false;
      this.#at++;
      this.#next();
      if (bytes[keyStart] === 0x40 && keyEnd > keyStart) {
        if (!this.#attribute(keyStart, keyEnd)) return false;
      } else {
        const type = draft.type;
        if (type === undefined) return false;
        const property =
          type.find(bytes, keyStart, keyEnd, hash) ??
          this.#newProperty(type, keyStart, keyEnd, isAscii);
        if (property === undefined || !draft.open(property)) return false;
        const tag = this.#value(type, property);
        if (tag === undefined) return false;
        draft.builder.close(tag);
      }
      const byte = this.#next();
      this.#at++;
      if (byte === 0x2c) continue;
      if (byte !== 0x7d || this.#next() !== -1) return false;
      return this.#isComplete();
    }
  }

  /** The general way, for every line. */
  readAny(bytes: Uint8Array, start: number, end: number, line: number): void {
    const draft = this.#draft;
    draft.clear();
    const record = this.#parse(bytes, start, end, line);
    readAttributes(draft, record, line);
    const {type} = draft;
    if (type !== undefined) draft.fill(type, record);
  }

  #isComplete(): boolean {
    const {kind, type} = this.#draft;
    if (kind === undefined || type === undefined || type.type.kind !== kind) return false;
    return type.defaults.length === 0 || !this.#draft.lacksDefault(type);
  }

  #parse(bytes: Uint8Array, start: number, end: number, line: number): MapValue {
    let value: Value;
    try {
      value = this.#parser.parse(bytes, start, end);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      throw new Refusal('batch.record', `Malformed JSON at line ${line}: ${error.message}`, {
        detail: {line},
      });
    }
    if (value instanceof Map) return value as MapValue;
    const what = Array.isArray(value) ? 'a JSON array' : 'another value';
    throw new Refusal(
      'batch.record',
      `Malformed JSONL at line ${line}: expected one JSON object per line but got ${what}`,
      {detail: {line}},
    );
  }

  /** Skips white space; the byte at `#at`, or -1 at the end. */
  #next(): number {
    const bytes = this.#bytes;
    while (this.#at < this.#end) {
      const byte = bytes[this.#at] as number;
      if (byte !== 0x20 && byte !== 0x09 && byte !== 0x0d && byte !== 0x0a) return byte;
      this.#at++;
    }
    return -1;
  }

  /** Scans a text that begins at `#at`; false when it has escapes or is not one. */
  #text(): boolean {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at + 1;
    this.#textStart = at;
    let hash = 0;
    let all = 0;
    for (; at < end; at++) {
      const byte = bytes[at] as number;
      if (byte === quote) {
        this.#textEnd = at;
        this.#at = at + 1;
        this.#hash = hash;
        this.#isAscii = all < 0x80;
        return true;
      }
      if (byte === backslash || byte < 0x20) return false;
      all |= byte;
      hash = hashByte(hash, byte);
    }
    return false;
  }

  #attribute(keyStart: number, keyEnd: number): boolean {
    const draft = this.#draft;
    const bytes = this.#bytes;
    switch (keyEnd - keyStart) {
      case 3:
        return bytes[keyStart + 1] === 0x69 && bytes[keyStart + 2] === 0x64
          ? this.#reference(draft.id)
          : bytes[keyStart + 1] === 0x74 && bytes[keyStart + 2] === 0x6f
            ? this.#reference(draft.to)
            : false;
      case 5:
        if (this.#is(keyStart, '@from')) return this.#reference(draft.from);
        return this.#is(keyStart, '@type') && this.#kind();
      case 6:
        return this.#is(keyStart, '@class') && this.#class();
      default:
        return false;
    }
  }

  #is(start: number, word: string): boolean {
    for (let at = 0; at < word.length; at++) {
      if (this.#bytes[start + at] !== word.charCodeAt(at)) return false;
    }
    return true;
  }

  #kind(): boolean {
    const draft = this.#draft;
    if (draft.kind !== undefined || this.#bytes[this.#at] !== quote || !this.#text()) return false;
    const length = this.#textEnd - this.#textStart;
    const start = this.#textStart;
    if ((length === 1 && this.#is(start, 'v')) || (length === 6 && this.#is(start, 'vertex'))) {
      draft.kind = 'vertex';
      return true;
    }
    if ((length === 1 && this.#is(start, 'e')) || (length === 4 && this.#is(start, 'edge'))) {
      draft.kind = 'edge';
      return true;
    }
    return false;
  }

  #class(): boolean {
    const draft = this.#draft;
    if (draft.type !== undefined || this.#bytes[this.#at] !== quote || !this.#text()) return false;
    const start = this.#textStart;
    const end = this.#textEnd;
    const known = this.#types.find(this.#bytes, start, end, this.#hash);
    draft.type = known;
    if (known !== undefined) return true;
    if (!this.#isAscii) return false;
    const type = draft.typeNamed(readUtf8(this.#bytes, start, end));
    if (type === undefined) return false;
    this.#types.add(this.#bytes.subarray(start, end), type);
    draft.type = type;
    return true;
  }

  /** A text or a small whole number. */
  #reference(into: TextRange): boolean {
    if (into.present) return false;
    if (this.#bytes[this.#at] === quote) {
      if (!this.#text() || !this.#isAscii) return false;
      into.set(this.#bytes, this.#textStart, this.#textEnd);
      return true;
    }
    const start = this.#at;
    if (this.#digits() === undefined || this.#bytes[start] === 0x2d) return false;
    into.set(this.#bytes, start, this.#at);
    return true;
  }

  #newProperty(
    type: BulkType,
    start: number,
    end: number,
    isAscii: boolean,
  ): BulkProperty | undefined {
    if (!isAscii && !isUtf8(this.#bytes.subarray(start, end))) return undefined;
    // Names that are refused, or may be: the general reader says so with the line.
    if (end === start || end - start > nameBytesMax) return undefined;
    return type.property(readUtf8(this.#bytes, start, end));
  }

  /** Appends the value at `#at` and steps behind it; undefined to give up. */
  #value(type: BulkType, property: BulkProperty): ValueTag | undefined {
    const bytes = this.#bytes;
    const start = this.#at;
    const {shortcut} = property;
    const byte = bytes[start] as number;
    if (byte === quote) {
      if (shortcut !== 'any' && shortcut !== 'text') return this.#slow(type, property);
      if (!this.#text()) return undefined;
      const {bodies} = this.#draft.builder;
      if (!this.#isAscii && !isUtf8(bytes.subarray(this.#textStart, this.#textEnd))) {
        return undefined;
      }
      bodies.raw(bytes, this.#textStart, this.#textEnd);
      return valueTag.text;
    }
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      if (shortcut !== 'any' && shortcut !== 'integer') return this.#slow(type, property);
      const integer = this.#digits();
      if (integer === undefined) {
        this.#at = start;
        return this.#slow(type, property);
      }
      if (integer < property.integerMin || integer > property.integerMax) return undefined;
      this.#draft.builder.bodies.raw(bytes, start, this.#at);
      return integerTag(integer, property);
    }
    return this.#word(property) ?? this.#slow(type, property);
  }

  /** true, false or null. */
  #word(property: BulkProperty): ValueTag | undefined {
    const start = this.#at;
    const {shortcut} = property;
    if (this.#is(start, 'null') && start + 4 <= this.#end) {
      this.#at += 4;
      return valueTag.null;
    }
    if (shortcut !== 'any' && shortcut !== 'boolean') return undefined;
    if (this.#is(start, 'true') && start + 4 <= this.#end) {
      this.#at += 4;
      return valueTag.true;
    }
    if (this.#is(start, 'false') && start + 5 <= this.#end) {
      this.#at += 5;
      return valueTag.false;
    }
    return undefined;
  }

  /** Steps behind a whole number that is written as it will be stored; undefined for others. */
  #digits(): number | undefined {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    const isNegative = bytes[at] === 0x2d;
    if (isNegative) at++;
    const from = at;
    let value = 0;
    let digit = 0;
    for (; at < end && (digit = (bytes[at] as number) - 0x30) >= 0 && digit <= 9; at++) {
      value = value * 10 + digit;
    }
    const count = at - from;
    if (count === 0 || count > integerDigitsMax) return undefined;
    if (bytes[from] === 0x30 && (count > 1 || isNegative)) return undefined;
    const after = at < end ? (bytes[at] as number) : 0;
    if (after === 0x2e || after === 0x65 || after === 0x45) return undefined;
    this.#at = at;
    return isNegative ? -value : value;
  }

  /** Makes a value of it, converts it and stores that. */
  #slow(type: BulkType, property: BulkProperty): ValueTag | undefined {
    const start = this.#at;
    const end = this.#skip();
    if (end < 0) return undefined;
    this.#at = end;
    try {
      const value = this.#parser.parse(this.#bytes, start, end);
      const converted = this.#draft.converted(type, property, value);
      return writeValue(this.#draft.builder.bodies, converted, property.dataType);
    } catch (error) {
      // Something behind it may be worse: the general way says what is wrong first.
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  /** Where the value at `#at` ends if it is one; -1 when it does not. */
  #skip(): number {
    const bytes = this.#bytes;
    let depth = 0;
    let isText = false;
    for (let at = this.#at; at < this.#end; at++) {
      const byte = bytes[at] as number;
      if (isText) {
        if (byte === backslash) at++;
        else if (byte === quote) {
          isText = false;
          if (depth === 0) return at + 1;
        }
        continue;
      }
      if (byte === quote) isText = true;
      else if (byte === 0x5b || byte === 0x7b) depth++;
      else if (byte === 0x5d || byte === 0x7d) {
        if (depth === 0) return at;
        if (--depth === 0) return at + 1;
      } else if (byte === 0x2c && depth === 0) return at;
    }
    return -1;
  }
}

function integerTag(integer: number, {dataType}: BulkProperty): ValueTag {
  if (dataType === 'LONG') return valueTag.long;
  if (dataType === 'SHORT') return valueTag.short;
  if (dataType === 'BYTE') return valueTag.byte;
  return integer === (integer | 0) ? valueTag.integer : valueTag.long;
}

/** Reads kind, type and references out of a line's fields. Used by all formats. */
export function readAttributes(draft: BulkDraft, record: MapValue, line: number): void {
  draft.kind = kindOf(record.get('@type'), line);
  const name = record.get('@class');
  if (typeof name !== 'string' || name === '') {
    throw lineRefusal(line, `Missing @class at line ${line}`);
  }
  const type = draft.typeNamed(name);
  if (type === undefined) throw unknownType(draft, name, line);
  draft.type = type;
  if (type.type.kind !== draft.kind) {
    const article = draft.kind === 'edge' ? 'an edge' : 'a vertex';
    throw lineRefusal(
      line,
      `Cannot create ${article} of type '${name}' because is not ${article} type`,
    );
  }
  reference(draft.id, record.get('@id'), '@id', line);
  reference(draft.from, record.get('@from'), '@from', line);
  reference(draft.to, record.get('@to'), '@to', line);
}

function unknownType(draft: BulkDraft, name: string, line: number): unknown {
  try {
    draft.catalog.requireType(name);
  } catch (error) {
    return error instanceof Refusal ? withLine(error, line) : error;
  }
  return lineRefusal(line, `Type '${name}' cannot be used at line ${line}`);
}

function kindOf(value: Value | undefined, line: number): 'vertex' | 'edge' {
  if (value === 'v' || value === 'vertex') return 'vertex';
  if (value === 'e' || value === 'edge') return 'edge';
  if (value === undefined || value === null) {
    throw lineRefusal(line, `Missing @type at line ${line}`);
  }
  const shown = typeof value === 'string' ? value.slice(0, 80) : 'that is no text';
  throw lineRefusal(line, `Unknown @type '${shown}' at line ${line}. Expected 'vertex' or 'edge'`);
}

function reference(into: TextRange, value: Value | undefined, name: string, line: number): void {
  if (value === undefined || value === null) return;
  if (typeof value === 'string') into.setText(value);
  else if (typeof value === 'number' && Number.isInteger(value)) into.setText(String(value));
  else throw lineRefusal(line, `${name} at line ${line} is neither a text nor a whole number`);
}
