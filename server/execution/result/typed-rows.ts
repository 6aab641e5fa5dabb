/**
 * Rows as values again: the encoding in which typed rows cross from the thread that makes them.
 *
 * A row: number of values (u32 LE), then the values. A value is a tag, a length (u32 LE) and a
 * body; tags are those of stored values (layout/value-tag.ts) and, for what may hold a record,
 * those below. The bytes live as long as an answer, so the format may change with any release.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import {readUtf8} from '#server/base/utf8.ts';
import {writeValue} from '#server/layout/stored-value.ts';
import {readValue} from '#server/layout/stored-value-reader.ts';
import type {RowEncoding} from '#server/model/row-encoding.ts';
import {
  EmbeddedValue,
  PathValue,
  type RecordKind,
  RecordValue,
  Rid,
  type Value,
} from '#server/model/value.ts';

const tags = {record: 0xf0, list: 0xf1, map: 0xf2, embedded: 0xf3, path: 0xf4} as const;
const kinds: readonly RecordKind[] = ['document', 'vertex', 'edge'];
const depthMax = 1_000;
const headBytes = 5;

export const typedRows: RowEncoding = {
  name: 'typed',
  begin: () => ({
    row(out, values) {
      out.uint32LE(values.length);
      for (const value of values) write(out, value, 0);
    },
  }),
};

function write(out: ByteWriter, value: Value, depth: number): void {
  if (depth > depthMax) {
    throw new Refusal('limit.depth', `a value is nested more than ${depthMax} levels deep`);
  }
  const at = out.length;
  out.byte(0);
  out.uint32LE(0);
  const tag = writeBody(out, value, depth + 1);
  const length = out.length - at - headBytes;
  out.bytes[at] = tag;
  for (let byte = 0; byte < 4; byte++) out.bytes[at + 1 + byte] = length >>> (8 * byte);
}

function writeBody(out: ByteWriter, value: Value, depth: number): number {
  if (value instanceof RecordValue) {
    writeRecord(out, value, depth);
    return tags.record;
  }
  if (value instanceof Map) {
    writeEntries(out, value, depth);
    return tags.map;
  }
  if (value instanceof EmbeddedValue) {
    write(out, value.typeName, depth);
    writeEntries(out, value.properties, depth);
    return tags.embedded;
  }
  if (Array.isArray(value)) {
    for (const item of value) write(out, item, depth);
    return tags.list;
  }
  if (value instanceof PathValue) {
    for (const item of value.elements) write(out, item, depth);
    return tags.path;
  }
  return writeValue(out, value);
}

function writeRecord(out: ByteWriter, record: RecordValue, depth: number): void {
  const {rid, typeName, kind, from, to} = record;
  out.byte(kinds.indexOf(kind));
  for (const value of [rid, typeName, from ?? null, to ?? null]) write(out, value, depth);
  writeEntries(out, record.properties(), depth);
}

function writeEntries(out: ByteWriter, entries: ReadonlyMap<string, Value>, depth: number): void {
  for (const [name, value] of entries) {
    write(out, name, depth);
    write(out, value, depth);
  }
}

/** Reads rows in the order in which they were written. What it gives has bytes of its own. */
export class TypedRowReader {
  readonly #bytes: Buffer;
  #at = 0;

  /** @param bytes - Whole rows; they must stay as they are while rows are read. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** The next row; undefined behind the last one. */
  next(): readonly Value[] | undefined {
    const bytes = this.#bytes;
    if (this.#at >= bytes.length) return undefined;
    let left = bytes.readUInt32LE(this.#at);
    this.#at += 4;
    const row: Value[] = [];
    for (; left > 0; left--) row.push(this.#value());
    return row;
  }

  #value(): Value {
    const bytes = this.#bytes;
    const tag = bytes[this.#at];
    const start = this.#at + headBytes;
    const end = start + bytes.readUInt32LE(this.#at + 1);
    this.#at = start;
    if (tag === tags.record) return this.#record(end);
    if (tag === tags.map) return this.#entries(end);
    if (tag === tags.list) return this.#items(end);
    if (tag === tags.embedded) return new EmbeddedValue(this.#text(), this.#entries(end));
    if (tag === tags.path) return new PathValue(this.#items(end) as (Rid | RecordValue)[]);
    this.#at = end;
    return readValue(tag ?? 0, Uint8Array.prototype.slice.call(bytes, start, end), 0, end - start);
  }

  #items(end: number): Value[] {
    const items: Value[] = [];
    while (this.#at < end) items.push(this.#value());
    return items;
  }

  #entries(end: number): Map<string, Value> {
    const entries = new Map<string, Value>();
    while (this.#at < end) entries.set(this.#text(), this.#value());
    return entries;
  }

  #text(): string {
    const length = this.#bytes.readUInt32LE(this.#at + 1);
    const start = this.#at + headBytes;
    this.#at = start + length;
    return readUtf8(this.#bytes, start, this.#at);
  }

  #record(end: number): RecordValue {
    const kind = kinds[this.#bytes[this.#at++] ?? kinds.length];
    const rid = this.#value();
    const typeName = this.#text();
    const from = this.#value();
    const to = this.#value();
    if (kind === undefined || !(rid instanceof Rid)) throw new Corruption('a row has no record');
    return new ReadRecord({
      rid,
      typeName,
      kind,
      from: from instanceof Rid ? from : undefined,
      to: to instanceof Rid ? to : undefined,
      entries: this.#entries(end),
    });
  }
}

interface ReadRecordParts {
  readonly rid: Rid;
  readonly typeName: string;
  readonly kind: RecordKind;
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;
  readonly entries: ReadonlyMap<string, Value>;
}

/** A record that was read, with nothing behind it. */
class ReadRecord extends RecordValue {
  readonly rid: Rid;
  readonly typeName: string;
  readonly kind: RecordKind;
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;
  readonly #entries: ReadonlyMap<string, Value>;

  constructor(parts: ReadRecordParts) {
    super();
    this.rid = parts.rid;
    this.typeName = parts.typeName;
    this.kind = parts.kind;
    this.from = parts.from;
    this.to = parts.to;
    this.#entries = parts.entries;
  }

  get(name: string): Value | undefined {
    return this.#entries.get(name);
  }

  propertyNames(): readonly string[] {
    return [...this.#entries.keys()];
  }
}
