/**
 * What a bulk load keeps at hand of a type: its properties by the bytes of their names.
 *
 * A name that was seen once is found again without making a text of it. How a property's values
 * may be written straight from their text is decided once, too.
 */
import {Refusal} from '#server/base/errors.ts';
import {copyBytes, utf8Bytes} from '#server/base/utf8.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import type {NameAllocator} from '#server/catalog/names.ts';
import type {DataType} from '#server/model/data-type.ts';

/** Which texts of JSON are stored as they are; anything else is converted as a value. */
export type Shortcut = 'any' | 'text' | 'integer' | 'boolean' | 'none';

export interface BulkProperty {
  readonly name: string;
  readonly id: number;
  readonly declared: PropertyDefinition | undefined;
  readonly dataType: DataType | undefined;
  readonly shortcut: Shortcut;
  readonly integerMin: number;
  readonly integerMax: number;
  /** True until a commit has stored the name. */
  isNew: boolean;
  /** False for names beyond the first thousands: `seenBy` tells nothing of them. */
  readonly isKept: boolean;
  /** The record that had it last, by number. */
  seenBy: number;
}

const nameLengthMax = 1_024;
/** Names beyond these are looked up anew each time. */
const namesMax = 4_096;

export class BulkType {
  readonly type: CatalogType;
  /** Properties whose defaults a record without them gets. */
  readonly defaults: readonly PropertyDefinition[];
  /** Whether making a record of it fires triggers. */
  readonly firesOnCreate: boolean;
  readonly #names: NameAllocator;
  readonly #properties = new Map<string, BulkProperty>();
  readonly #table = new ByteTable<BulkProperty>();

  constructor(type: CatalogType, names: NameAllocator) {
    this.type = type;
    this.#names = names;
    this.firesOnCreate = type.triggers.some(({event}) => event === 'create');
    this.defaults = type.ruledProperties.filter(property => property.defaultText !== undefined);
  }

  /** Looks the type up by its name's bytes; undefined when it was not seen before. */
  find(bytes: Uint8Array, start: number, end: number, hash: number): BulkProperty | undefined {
    return this.#table.find(bytes, start, end, hash);
  }

  /** The property of this name. @throws {Refusal} `argument` for a name that is too long. */
  property(name: string): BulkProperty {
    const known = this.#properties.get(name);
    if (known !== undefined) return known;
    if (name.length > nameLengthMax) {
      throw new Refusal('argument', `a property's name has at most ${nameLengthMax} characters`);
    }
    const declared = this.type.properties.get(name);
    const {id, isNew} = this.#names.idOf(name);
    const dataType = declared?.type;
    const [integerMin, integerMax] = boundsOf(dataType);
    const shortcut = shortcutOf(dataType);
    const property: BulkProperty = {
      name,
      id,
      declared,
      dataType,
      shortcut,
      integerMin,
      integerMax,
      isNew,
      isKept: this.#properties.size < namesMax,
      seenBy: 0,
    };
    if (property.isKept) {
      this.#properties.set(name, property);
      this.#table.add(utf8Bytes(name), property);
    }
    return property;
  }
}

function shortcutOf(type: DataType | undefined): Shortcut {
  switch (type) {
    case undefined:
    case 'ANY':
      return 'any';
    case 'STRING':
      return 'text';
    case 'BYTE':
    case 'SHORT':
    case 'INTEGER':
    case 'LONG':
      return 'integer';
    case 'BOOLEAN':
      return 'boolean';
    default:
      return 'none';
  }
}

function boundsOf(type: DataType | undefined): readonly [number, number] {
  if (type === 'BYTE') return [-128, 127];
  if (type === 'SHORT') return [-32_768, 32_767];
  if (type === 'INTEGER') return [-2_147_483_648, 2_147_483_647];
  return [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
}

/** Continues a hash of bytes; from 0. */
export function hashByte(hash: number, byte: number): number {
  return (Math.imul(hash, 31) + byte) | 0;
}

/** Values by short byte strings, open addressing; nothing is ever removed. */
export class ByteTable<V> {
  #keys: (Uint8Array | undefined)[] = new Array(64).fill(undefined);
  #values: (V | undefined)[] = new Array(64).fill(undefined);
  #count = 0;

  find(bytes: Uint8Array, start: number, end: number, hash: number): V | undefined {
    const mask = this.#keys.length - 1;
    const length = end - start;
    for (let slot = spread(hash) & mask; ; slot = (slot + 1) & mask) {
      const key = this.#keys[slot];
      if (key === undefined) return undefined;
      if (key.length !== length) continue;
      let same = 0;
      while (same < length && key[same] === bytes[start + same]) same++;
      if (same === length) return this.#values[slot];
    }
  }

  /** `key` is not there yet. */
  add(key: Uint8Array, value: V): void {
    if (this.#count * 2 >= this.#keys.length) this.#grow();
    this.#insert(copyBytes(key), value);
    this.#count++;
  }

  #insert(key: Uint8Array, value: V): void {
    let hash = 0;
    for (const byte of key) hash = hashByte(hash, byte);
    const mask = this.#keys.length - 1;
    let slot = spread(hash) & mask;
    while (this.#keys[slot] !== undefined) slot = (slot + 1) & mask;
    this.#keys[slot] = key;
    this.#values[slot] = value;
  }

  #grow(): void {
    const keys = this.#keys;
    const values = this.#values;
    this.#keys = new Array(keys.length * 2).fill(undefined);
    this.#values = new Array(keys.length * 2).fill(undefined);
    for (const [slot, key] of keys.entries()) {
      if (key !== undefined) this.#insert(key, values[slot] as V);
    }
  }
}

function spread(hash: number): number {
  return hash ^ (hash >>> 15) ^ (hash >>> 7);
}
