/**
 * The record of one line of a bulk load: what the line says of it, and its properties as bytes.
 *
 * One draft serves all lines; a reader (json-line.ts, csv-line.ts) fills it in, the writer
 * (writer.ts) takes it over. `seenBy` of a property tells whether this very record has it.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import {Refusal} from '#server/base/errors.ts';
import {utf8Bytes} from '#server/base/utf8.ts';
import type {NameAllocator} from '#server/catalog/names.ts';
import {RecordBuilder} from '#server/layout/record-builder.ts';
import {writeValue} from '#server/layout/stored-value.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {type BulkProperty, BulkType} from './type.ts';
import type {RecordContext} from '#server/records/context.ts';
import {checkComplete, checkRules, convertProperties, withDefaults} from '#server/records/rules.ts';

/** A text in bytes that are somebody else's. */
export class TextRange {
  bytes: Uint8Array = noBytes;
  start = 0;
  end = 0;
  present = false;

  clear(): void {
    this.present = false;
  }

  set(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes;
    this.start = start;
    this.end = end;
    this.present = true;
  }

  setText(text: string): void {
    const bytes = utf8Bytes(text);
    this.set(bytes, 0, bytes.length);
  }

  get text(): string {
    const {bytes, start, end} = this;
    return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8');
  }
}

const noBytes = new Uint8Array(0);

export type DraftKind = 'vertex' | 'edge';

export class BulkDraft {
  context: RecordContext;
  kind: DraftKind | undefined;
  type: BulkType | undefined;
  readonly id = new TextRange();
  readonly from = new TextRange();
  readonly to = new TextRange();
  readonly builder = new RecordBuilder();
  /** Properties of this record whose names no commit has stored yet. */
  readonly newNames = new Map<number, string>();
  /** Number of the record among all. */
  serial = 0;
  #types = new Map<string, BulkType>();

  constructor(context: RecordContext) {
    this.context = context;
  }

  get catalog(): Catalog {
    return this.context.catalog;
  }

  get names(): NameAllocator {
    return this.context.names;
  }

  /** Starts over under a newer catalog. */
  renew(context: RecordContext): void {
    this.context = context;
    this.#types = new Map();
  }

  clear(): void {
    this.serial++;
    this.kind = undefined;
    this.type = undefined;
    this.id.clear();
    this.from.clear();
    this.to.clear();
    this.builder.clear();
    if (this.newNames.size > 0) this.newNames.clear();
  }

  /** The type of this name; undefined when the schema has none. */
  typeNamed(name: string): BulkType | undefined {
    const known = this.#types.get(name);
    if (known !== undefined) return known;
    const type = this.catalog.type(name);
    if (type === undefined) return undefined;
    const made = new BulkType(type, this.names);
    this.#types.set(name, made);
    return made;
  }

  /** False when this record has the property already. */
  open(property: BulkProperty): boolean {
    if (property.seenBy === this.serial) return false;
    if (!property.isKept && this.builder.has(property.id)) return false;
    property.seenBy = this.serial;
    if (property.isNew) this.#noteNew(property);
    this.builder.open(property.id);
    return true;
  }

  /** A value that was read, as the schema wants it. @throws {Refusal} `value.type`. */
  converted(type: BulkType, property: BulkProperty, value: Value): Value {
    const single = new Map([[property.name, value]]);
    return convertProperties(this.catalog, type.type, single).get(property.name) ?? null;
  }

  /** Whether the schema gives the record something that its line does not say. */
  lacksDefault(type: BulkType): boolean {
    for (const {name} of type.defaults) {
      if (!this.builder.has(type.property(name).id)) return true;
    }
    return false;
  }

  /** All properties at once, with defaults. @throws {Refusal} `value.type`, `value.validation`. */
  fill(type: BulkType, properties: MapValue): void {
    const {catalog, defaults} = this.context;
    const converted = convertProperties(catalog, type.type, properties);
    for (const [name, value] of withDefaults(catalog, type.type, converted, defaults)) {
      const property = type.property(name);
      this.open(property);
      this.builder.close(writeValue(this.builder.bodies, value, property.dataType));
    }
  }

  /** A property of the record, as it will be read. */
  get(name: string): Value | undefined {
    const id = this.names.knownId(name);
    return id === undefined ? undefined : this.builder.read(id);
  }

  /** All properties as they will be read, in their order. */
  properties(): MapValue {
    const {builder, names} = this;
    return new Map(
      builder.ids().map(id => [names.nameOf(id) ?? String(id), builder.read(id) ?? null]),
    );
  }

  /** @throws {Refusal} `value.validation`. */
  checkRules(type: BulkType): void {
    const ruled = type.type.ruledProperties;
    if (ruled.length === 0) return;
    const properties = new Map<string, Value>();
    for (const {name} of ruled) {
      const value = this.get(name);
      if (value !== undefined) properties.set(name, value);
    }
    checkRules(type.type, properties);
    checkComplete(type.type, properties);
  }

  #noteNew(property: BulkProperty): void {
    // Another commit may have stored it meanwhile.
    property.isNew = this.names.idOf(property.name).isNew;
    if (property.isNew) this.newNames.set(property.id, property.name);
  }
}

/** What is wrong with a line, in words that end with its number. */
export function lineRefusal(line: number, message: string): Refusal {
  return new Refusal('argument', message, {detail: {line}});
}

/** The same refusal, with the line that it speaks of. */
export function withLine(refusal: Refusal, line: number): Refusal {
  if (refusal.detail['line'] !== undefined) return refusal;
  const {code, message, detail, place, cause} = refusal;
  return new Refusal(code, `${message} (line ${line})`, {detail: {...detail, line}, place, cause});
}
