/**
 * Keeps the index entries of records in step with the records, inside a transaction.
 *
 * A unique key is looked up under the transaction's snapshot and own writes: a visible duplicate is
 * refused at once, and a precondition guards the key against commits that the snapshot misses.
 * Entries of indexes that are still being built are kept as well. Until such an index is ready two
 * records may have one unique key, of which the entry belongs to one: the other leaves it alone.
 * Invariant X1: a record and its entries are written by the same transaction.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import {compareBytes} from '#server/base/utf8.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {
  declaredParts,
  type IndexedRecord,
  type IndexKey,
  keyWriter,
} from '#server/indexes/index-parts.ts';
import type {EntriesOf, IndexFamilies} from '#server/indexes/index-family.ts';
import {ridOfEntry} from '#server/layout/index-key.ts';
import type {DataType} from '#server/model/data-type.ts';
import {ridsEqual, ridText} from '#server/model/rid.ts';
import type {Rid} from '#server/model/value.ts';
import {keyText, keyTextOf} from '#server/transactions/key-text.ts';
import {Scratch} from '#server/transactions/scratch.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';

/** `svc.indexKeySizeMax` by default. */
export const indexKeyBytesMaxDefault = 64 << 10;

/** What makes the entries of one index. */
interface EntryMaker {
  readonly declared: readonly (DataType | undefined)[];
  readonly entriesOf: EntriesOf;
}

export class IndexMaintenance {
  private readonly catalog: Catalog;
  private readonly families: IndexFamilies;
  private readonly keyBytesMax: number;
  /** What `insert` makes entries in. */
  private readonly scratch = new Scratch();
  private readonly makers = new Map<number, EntryMaker>();

  constructor(catalog: Catalog, families: IndexFamilies, keyBytesMax = indexKeyBytesMaxDefault) {
    this.catalog = catalog;
    this.families = families;
    this.keyBytesMax = keyBytesMax;
  }

  /** The entries of a record under one index, made in `out` (see `EntriesOf`). */
  keysOf(
    index: IndexDefinition,
    rid: Rid,
    record: IndexedRecord,
    out: ByteWriter = keyWriter(),
  ): readonly IndexKey[] {
    const {entriesOf, declared} = this.makerOf(index);
    return entriesOf(index, declared, rid, record, out);
  }

  /** Adds the entries of a new record. */
  insert(transaction: Transaction, type: CatalogType, rid: Rid, record: IndexedRecord): void {
    for (const index of type.indexes) {
      const out = this.scratch.empty;
      for (const key of this.keysOf(index, rid, record, out))
        this.add(transaction, index, key, rid);
    }
  }

  /** Changes only the entries that differ between the record before and after. */
  update(
    transaction: Transaction,
    type: CatalogType,
    rid: Rid,
    {before, after}: {readonly before: IndexedRecord; readonly after: IndexedRecord},
  ): void {
    for (const index of type.indexes) {
      const old = new Map<string, IndexKey>();
      for (const key of this.keysOf(index, rid, before)) old.set(keyText(key.key), key);
      const added: IndexKey[] = [];
      for (const key of this.keysOf(index, rid, after)) {
        const text = keyText(key.key);
        const known = old.get(text);
        old.delete(text);
        // The same key may hold another representation (5 and 5.0): then its value is rewritten.
        if (known === undefined) added.push(key);
        else if (compareBytes(known.value, key.value) !== 0) {
          if (mayBeAnothers(index, key)) added.push(key);
          else transaction.put(key.key, key.value);
        }
      }
      for (const key of old.values()) removeKey(transaction, index, key, rid);
      for (const key of added) this.add(transaction, index, key, rid);
    }
  }

  /** Removes the entries of a record. */
  remove(transaction: Transaction, type: CatalogType, rid: Rid, record: IndexedRecord): void {
    for (const index of type.indexes) {
      for (const key of this.keysOf(index, rid, record)) removeKey(transaction, index, key, rid);
    }
  }

  /** @throws {Refusal} `limit.index-key` for a key of so many bytes. */
  requireFit({name}: IndexDefinition, keyBytes: number): void {
    const bytesMax = this.keyBytesMax;
    if (keyBytes <= bytesMax) return;
    throw new Refusal(
      'limit.index-key',
      `a key of index '${name}' takes ${keyBytes} bytes, more than ${bytesMax} ` +
        '(svc.indexKeySizeMax)',
      {detail: {index: name, keyBytes, bytesMax}},
    );
  }

  /**
   * Puts the entry of a record.
   *
   * @throws {Refusal} `limit.index-key`, and what `putKey` refuses.
   */
  put(transaction: Transaction, index: IndexDefinition, key: IndexKey, rid: Rid): void {
    this.requireFit(index, key.keyEnd - key.start);
    putKey(transaction, index, key, rid);
  }

  /** Puts the entry of a record that is being written. */
  private add(transaction: Transaction, index: IndexDefinition, key: IndexKey, rid: Rid): void {
    if (key.unique) requireNotRebuilding(index);
    this.put(transaction, index, key, rid);
  }

  private makerOf(index: IndexDefinition): EntryMaker {
    let maker = this.makers.get(index.id);
    if (maker === undefined) {
      const type = this.catalog.typeById(index.typeId);
      const declared = type === undefined ? [] : declaredParts(index, type);
      maker = {declared, entriesOf: this.families.of(index).entriesOf};
      this.makers.set(index.id, maker);
    }
    return maker;
  }
}

/**
 * Puts one entry. A unique key that another record has is refused.
 *
 * @throws {Refusal} `commit.duplicate-key` with the index, the key and the other record.
 */
function putKey(transaction: Transaction, index: IndexDefinition, key: IndexKey, rid: Rid): void {
  const {bytes, start, keyEnd, end} = key;
  const text = keyTextOf(bytes, start, keyEnd);
  if (key.unique) {
    const holder = transaction.find(index.id, text, key);
    if (holder !== undefined) {
      const other = ridOfEntry(true, holder, 0);
      if (!ridsEqual(other, rid)) throw duplicateRefusal(index.name, key.text, other);
    }
    transaction.require({kind: 'unchanged', key: text, unique: key});
  }
  const {chunk, from} = transaction.room(text, end - keyEnd);
  for (let at = keyEnd; at < end; at++) chunk[from + at - keyEnd] = bytes[at] as number;
}

/**
 * While a unique index is built anew, nobody can tell whether a key is free.
 *
 * @throws {Refusal} `commit.conflict`: run again, it takes as long as the build.
 */
export function requireNotRebuilding(index: IndexDefinition): void {
  if (index.state !== 'rebuilding') return;
  throw new Refusal(
    'commit.conflict',
    `the unique index '${index.name}' is being rebuilt: nothing was stored, run it again`,
  );
}

/** Deletes one entry, unless it is another record's, or becomes one's while this is under way. */
function removeKey(
  transaction: Transaction,
  index: IndexDefinition,
  key: IndexKey,
  rid: Rid,
): void {
  if (mayBeAnothers(index, key)) {
    transaction.require({kind: 'unchanged', key: key.key});
    const holder = transaction.get(key.key);
    if (holder !== undefined && !ridsEqual(ridOfEntry(true, holder, 0), rid)) return;
  }
  transaction.delete(key.key);
}

function mayBeAnothers(index: IndexDefinition, key: IndexKey): boolean {
  return key.unique && index.state !== 'ready';
}

export function duplicateRefusal(index: string, keys: string, holder: Rid): Refusal {
  const rid = ridText(holder);
  return new Refusal(
    'commit.duplicate-key',
    `Duplicated key ${keys} found on index '${index}' already assigned to record ${rid}`,
    {detail: {args: `${index}|${keys}|${rid}`, index, keys, rid}},
  );
}
