/**
 * The index keys of one record of a bulk load.
 *
 * A single text or whole number, the usual key, is encoded into one array that serves all
 * records; any other is made as for single records. Keys that must be unique are checked against
 * the entry that is being built; what is stored and under way is looked at by the commit.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {EntriesOf, IndexFamilies} from '#server/indexes/index-family.ts';
import {declaredParts, keyText as valuesText, keyWriter} from '#server/indexes/index-parts.ts';
import {indexKeyPrefix} from '#server/layout/index-key.ts';
import {putRid, ridBytes} from '#server/layout/namespace.ts';
import {type DataType, isWholeNumberType} from '#server/model/data-type.ts';
import type {Rid} from '#server/model/value.ts';
import {type BulkDraft, withLine} from './draft.ts';
import {type BulkEntry, UniqueKey} from './entry.ts';
import {duplicateRefusal} from '#server/records/indexes.ts';

interface IndexPlan {
  readonly index: IndexDefinition;
  readonly declared: readonly (DataType | undefined)[];
  readonly entriesOf: EntriesOf;
  /** The property whose plain values are keys; undefined when keys are made the general way. */
  readonly plain: string | undefined;
}

interface RecordSlot {
  readonly plan: IndexPlan;
  readonly isUnique: boolean;
  /** Key and value are bytes [keyStart, keyEnd) and [keyEnd, end). */
  readonly keyStart: number;
  readonly keyEnd: number;
  readonly end: number;
}

interface KeyedRecord {
  readonly rid: Rid;
  readonly from: Rid | undefined;
  readonly to: Rid | undefined;
}

export class BulkKeys {
  readonly #draft: BulkDraft;
  readonly #plans = new Map<number, IndexPlan>();
  readonly #bytes = new ByteWriter(1024);
  #buffer: Buffer = Buffer.alloc(0);
  #places: RecordSlot[] = [];

  constructor(draft: BulkDraft) {
    this.#draft = draft;
  }

  /**
   * Puts the keys of the drafted record into the entry.
   *
   * @throws {Refusal} `commit.duplicate-key` when the entry has one already, `limit.index-key`;
   * nothing is put then.
   */
  add(
    entry: BulkEntry,
    indexes: readonly IndexDefinition[],
    record: KeyedRecord,
    line: number,
  ): void {
    this.#bytes.clear();
    this.#places = [];
    for (const index of indexes) this.#make(this.#planOf(index), record);
    const {indexes: limits} = this.#draft.context.workspace;
    for (const {plan, keyStart, keyEnd} of this.#places) {
      limits.requireFit(plan.index, keyEnd - keyStart);
    }
    const before = entry.uniqueKeys.length;
    for (const {plan, isUnique, keyStart, keyEnd} of this.#places) {
      if (!isUnique) continue;
      const text = this.#text(keyStart, keyEnd);
      const {index, declared} = plan;
      const key = new UniqueKey({index, declared, text, rid: record.rid, line});
      const holder = claim(entry, key);
      if (holder === undefined || holder === record.rid) continue;
      for (const {text: claimed} of entry.uniqueKeys.splice(before)) {
        entry.operations.uniqueKeys.delete(claimed);
      }
      throw withLine(duplicateRefusal(index.name, valuesText(key.values), holder), line);
    }
    this.#put(entry);
  }

  #put({operations}: BulkEntry): void {
    const {bytes} = this.#bytes;
    for (const {keyStart, keyEnd, end} of this.#places) {
      operations.open(keyEnd - keyStart, end - keyEnd);
      let to = operations.keyAt;
      for (let at = keyStart; at < keyEnd; at++) operations.bytes[to++] = bytes[at] as number;
      to = operations.valueAt;
      for (let at = keyEnd; at < end; at++) operations.bytes[to++] = bytes[at] as number;
    }
  }

  #make(plan: IndexPlan, record: KeyedRecord): void {
    const {index, declared, entriesOf, plain} = plan;
    const out = this.#bytes;
    const value = plain === undefined ? undefined : this.#draft.get(plain);
    if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) {
      const keyStart = out.length;
      indexKeyPrefix(index.id, [value], out);
      const keyEnd = index.unique ? out.length : out.length + ridBytes;
      out.reserve(ridBytes);
      putRid(out.bytes, out.length, record.rid);
      out.length += ridBytes;
      this.#places.push({plan, isUnique: index.unique, keyStart, keyEnd, end: out.length});
      return;
    }
    const {rid, from, to} = record;
    const get = (name: string) => this.#draft.get(name);
    const entries = entriesOf(index, declared, rid, {from, to, get}, keyWriter());
    for (const {key, value: rest, unique} of entries) {
      const keyStart = out.length;
      out.raw(key);
      const keyEnd = out.length;
      out.raw(rest);
      this.#places.push({plan, isUnique: unique, keyStart, keyEnd, end: out.length});
    }
  }

  #text(start: number, end: number): string {
    const {buffer} = this.#bytes.bytes;
    if (this.#buffer.buffer !== buffer) this.#buffer = Buffer.from(buffer);
    return this.#buffer.toString('latin1', start, end);
  }

  #planOf(index: IndexDefinition): IndexPlan {
    const known = this.#plans.get(index.id);
    if (known?.index === index) return known;
    const {catalog, families} = this.#draft.context;
    const made = planOf(index, catalog, families);
    this.#plans.set(index.id, made);
    return made;
  }
}

function planOf(index: IndexDefinition, catalog: Catalog, families: IndexFamilies): IndexPlan {
  const type = catalog.typeById(index.typeId);
  const declared = type === undefined ? [] : declaredParts(index, type);
  const [property, ...others] = index.properties;
  const {isKeyed, entriesOf} = families.of(index);
  const isPlain =
    isKeyed &&
    property !== undefined &&
    others.length === 0 &&
    property.by === undefined &&
    !property.ignoreCase &&
    !property.name.startsWith('@') &&
    isPlainType(declared[0]);
  return {index, declared, entriesOf, plain: isPlain ? property.name : undefined};
}

/** Whole numbers and texts of these are given back by their keys as they were. */
function isPlainType(type: DataType | undefined): boolean {
  return type === undefined || type === 'STRING' || isWholeNumberType(type);
}

/** Notes the key as one of the entry; the record that has it already, if one does. */
function claim(entry: BulkEntry, key: UniqueKey): Rid | undefined {
  const {uniqueKeys} = entry.operations;
  const before = uniqueKeys.size;
  // One look into a large set, not two: asking first costs as much as adding.
  uniqueKeys.add(key.text);
  if (uniqueKeys.size === before) return entry.uniqueKeys.find(({text}) => text === key.text)?.rid;
  entry.uniqueKeys.push(key);
  return undefined;
}
