/**
 * Reads the lists of a search index: from what is kept, brought up to the snapshot by reading the
 * entries that have changed since, or else from the store.
 *
 * Invariant: the list that is answered is exactly what a scan of its entries in the reader would
 * give, own writes included.
 */
import {bucketOfEntry, entryKey, positionOfEntry} from '#server/layout/posting-key.ts';
import {keyAfterPrefix} from '#server/layout/namespace.ts';
import type {Reader} from '#server/storage/store.ts';
import type {ChangedRecord, KeptList, KeptLists} from './kept-lists.ts';
import type {Effort} from './ranked/effort.ts';
import {RowWalker} from './row-walker.ts';

/** Makes lists of one kind. */
export interface ListKind<List extends KeptList> {
  builder(): ListBuilder<List>;
  /** The records of `list` with some of them changed: `changed` in order, absent ones removed. */
  changed(list: List, changed: readonly ChangedEntry[]): List;
  isOne(list: KeptList): list is List;
}

export interface ListBuilder<List> {
  /** An entry of a record, in order; its value is bytes [start, end). */
  add(record: ChangedRecord, bytes: Uint8Array, start: number, end: number): void;
  finish(): List;
}

/** `value`: undefined where the record has no entry any more. */
export interface ChangedEntry extends ChangedRecord {
  readonly value: Uint8Array | undefined;
}

export class EntryLists<List extends KeptList> {
  readonly #reader: Reader;
  readonly #kept: KeptLists | undefined;
  readonly #kind: ListKind<List>;
  readonly #effort: Effort;

  constructor(reader: Reader, kept: KeptLists | undefined, kind: ListKind<List>, effort: Effort) {
    this.#reader = reader;
    this.#kept = kept;
    this.#kind = kind;
    this.#effort = effort;
  }

  /** The list of all entries that begin so. */
  list(prefix: Uint8Array): List {
    const name = Buffer.from(prefix).toString('latin1');
    const found = this.#kept?.find(name);
    if (found !== undefined && this.#kind.isOne(found.list)) {
      if (found.changed.length === 0) return found.list;
      const list = this.#kind.changed(found.list, this.#entriesOf(prefix, found.changed));
      this.#kept?.keep(name, list);
      return list;
    }
    const list = this.#read(prefix);
    this.#kept?.keep(name, list);
    return list;
  }

  #entriesOf(prefix: Uint8Array, changed: readonly ChangedRecord[]): readonly ChangedEntry[] {
    this.#effort.spend(changed.length * 8);
    return changed.map(({bucket, position}) => {
      const value = this.#reader.get(entryKey(prefix, bucket, position));
      return {bucket, position, value};
    });
  }

  #read(prefix: Uint8Array): List {
    const range = {start: prefix, end: keyAfterPrefix(prefix)};
    const walker = new RowWalker(this.#reader, [range], {
      bufferBytes: 4 << 10,
      bufferBytesMax: 256 << 10,
    });
    const builder = this.#kind.builder();
    let rows = 0;
    try {
      while (walker.next()) {
        const {bytes, keyEnd, end} = walker;
        const record = {
          bucket: bucketOfEntry(bytes, keyEnd),
          position: positionOfEntry(bytes, keyEnd),
        };
        builder.add(record, bytes, keyEnd, end);
        if ((++rows & 0xfff) === 0) this.#effort.spend(0x1000);
      }
    } finally {
      walker.close();
    }
    this.#effort.spend(rows & 0xfff);
    return builder.finish();
  }
}
