/**
 * The columns that are kept of one database, and for which store snapshots they hold.
 *
 * Columns are built from the snapshot of the run that first profits, a row group at a time, and
 * kept right by the change feed: what an entry changes behind the state that a row group shows is
 * remembered by row, and the next run reads those rows from its own snapshot and puts them in
 * place, in the same turn in which it uses the row group. So a run that was given a row group has
 * the state of its own snapshot, whatever is written beside it; a run with an older snapshot than
 * the row group reads the records. Nothing here awaits: a row group is used in the turn in which it
 * was asked for.
 *
 * Why so: docs/design/0011-columns-beside-the-store.md.
 *
 * Invariant W1: a row group that is handed out shows exactly the rows of the snapshot it was asked
 * for.
 */
import {
  bucketRange,
  positionOfRecordKey,
  recordKey,
  bucketOfRecordKey,
} from '#server/layout/record-key.ts';
import {Rid} from '#server/model/value.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {Database} from '#server/engine/database.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import {Column, RowGroup, rowGroupRows} from './row-group.ts';
import {TextCodes} from './text-codes.ts';
import type {Droppable, CacheMemory} from './cache-memory.ts';

/** More changed rows are not read one by one: the row group is built anew. */
const patchedRowsMax = 1_024;
/** More are not even remembered. */
const changedRowsMax = 8_192;

/** What is known of one row group's place. */
class Slot implements Droppable {
  group: RowGroup | undefined;
  /** The state that the row group shows. */
  base: LogIndex = 0;
  /** The rows are the same in every snapshot from this index to `base`. */
  stableFrom: LogIndex;
  /** Rows changed by entries behind `unknownUntil`, by the last of them. */
  readonly changes = new Map<number, LogIndex>();
  /** Which rows changed up to here nobody knows: no row group of an older snapshot can be kept. */
  unknownUntil: LogIndex;

  constructor(unknownUntil: LogIndex) {
    this.unknownUntil = unknownUntil;
    this.stableFrom = unknownUntil;
  }

  /** Everything may be different from here on. */
  forget(index: LogIndex): void {
    this.changes.clear();
    this.unknownUntil = index;
    this.stableFrom = index;
    this.group = undefined;
  }

  drop(): void {
    this.group = undefined;
  }

  install(group: RowGroup, snapshot: LogIndex): void {
    const isNewer = this.group === undefined || snapshot >= this.base;
    if (snapshot < this.unknownUntil || !isNewer) return;
    this.group = group;
    this.reached(snapshot);
  }

  /** The row group shows the state of `snapshot` now. */
  reached(snapshot: LogIndex): void {
    if (this.changes.size > 0) this.stableFrom = snapshot;
    this.base = snapshot;
    for (const [row, index] of this.changes) if (index <= snapshot) this.changes.delete(row);
  }
}

/**
 * What a run is to do at a place: use the row group, build it from its snapshot, or read the
 * records.
 */
export type Found = RowGroup | 'build' | 'records';

export class ColumnCache {
  readonly #database: Database;
  readonly #memory: CacheMemory;
  readonly #slots = new Map<number, Map<number, Slot>>();
  readonly #texts = new Map<number, TextCodes>();
  #feed: ChangeSubscription | undefined;

  readonly #recordsMin: () => number;

  constructor(database: Database, memory: CacheMemory, recordsMin: () => number) {
    this.#database = database;
    this.#memory = memory;
    this.#recordsMin = recordsMin;
  }

  /** Whether there is any memory for columns. */
  get isOn(): boolean {
    return this.#memory.bytesMax > 0;
  }

  /** Whether columns pay for a scan of so many records. */
  pays(records: number): boolean {
    return this.isOn && records >= this.#recordsMin();
  }

  /**
   * Begins to listen when nobody has yet; columns of `bucket` for a snapshot, by properties' ids.
   */
  open(bucket: number, reader: ReadContext, properties: readonly number[]): BucketColumns {
    this.#feed ??= this.#database.onChange(this.#listener());
    let slots = this.#slots.get(bucket);
    if (slots === undefined) {
      slots = new Map();
      this.#slots.set(bucket, slots);
    }
    const feed = this.#feed;
    const slotOf = (number: number): Slot => {
      let slot = slots.get(number);
      if (slot === undefined) {
        slot = new Slot(feed.lastIndex);
        slots.set(number, slot);
      }
      return slot;
    };
    const textsOf = (property: number): TextCodes => this.#textsOf(property);
    const memory = this.#memory;
    return new BucketColumns({bucket, reader, properties, slotOf, textsOf, memory});
  }

  /** Stops to listen and lets go of everything. */
  close(): void {
    this.#feed?.end();
    this.#feed = undefined;
    for (const slots of this.#slots.values()) this.#dropAll(slots);
    this.#slots.clear();
  }

  #textsOf(property: number): TextCodes {
    let texts = this.#texts.get(property);
    if (texts === undefined) {
      texts = new TextCodes();
      this.#texts.set(property, texts);
    }
    return texts;
  }

  #listener(): ChangeListener {
    return {
      recordChanged: (bytes, at, index) => {
        const slots = this.#slots.get(bucketOfRecordKey(bytes, at));
        if (slots === undefined) return;
        const position = positionOfRecordKey(bytes, at);
        const row = position % rowGroupRows;
        const slot = slots.get((position - row) / rowGroupRows);
        slot?.changes.set(row, index);
        if (slot === undefined || slot.changes.size <= changedRowsMax) return;
        this.#memory.forget(slot);
        slot.forget(index);
      },
      rangeEmptied: (start, end, index) => {
        for (const [bucket, slots] of this.#slots) {
          const range = bucketRange(bucket);
          const isApart =
            Buffer.compare(end, range.start) <= 0 || Buffer.compare(range.end, start) <= 0;
          if (isApart) continue;
          this.#dropAll(slots);
          for (const slot of slots.values()) slot.forget(index);
        }
      },
    };
  }

  #dropAll(slots: ReadonlyMap<number, Slot>): void {
    for (const slot of slots.values()) {
      this.#memory.forget(slot);
      slot.drop();
    }
  }
}

interface BucketOptions {
  readonly bucket: number;
  readonly reader: ReadContext;
  readonly properties: readonly number[];
  readonly slotOf: (number: number) => Slot;
  readonly textsOf: (property: number) => TextCodes;
  readonly memory: CacheMemory;
}

/** The columns of one bucket as of one snapshot. */
export class BucketColumns {
  readonly #options: BucketOptions;
  readonly #run: number;
  readonly #snapshot: LogIndex;

  constructor(options: BucketOptions) {
    this.#options = options;
    this.#run = options.memory.beginRun();
    this.#snapshot = options.reader.snapshotIndex;
  }

  /** What is at the place; a row group is right until this turn ends. */
  find(number: number): Found {
    const slot = this.#options.slotOf(number);
    const {group, changes} = slot;
    const snapshot = this.#snapshot;
    if (group !== undefined && snapshot < slot.base) {
      const isSame = snapshot >= slot.stableFrom && changes.size === 0;
      return isSame && this.#hasAll(group) ? this.#use(slot, group) : 'records';
    }
    if (group === undefined || !this.#hasAll(group) || changes.size > patchedRowsMax) {
      return snapshot >= slot.unknownUntil && this.#hasRoom(group) ? 'build' : 'records';
    }
    if (changes.size > 0) this.#patch(number, slot, group);
    return this.#use(slot, group);
  }

  /**
   * An empty row group to be filled from the snapshot, with the columns that the place has already.
   */
  begin(number: number): RowGroup {
    const {properties, slotOf, textsOf} = this.#options;
    const known = slotOf(number).group?.columns.map(column => column.property) ?? [];
    const all = [...new Set([...known, ...properties])];
    return new RowGroup(all.map(property => new Column(property, textsOf(property))));
  }

  /** Keeps a row group that was filled from the snapshot, as far as that can be. */
  keep(number: number, group: RowGroup): void {
    const slot = this.#options.slotOf(number);
    slot.install(group, this.#snapshot);
    if (slot.group === group) this.#use(slot, group);
  }

  #hasAll(group: RowGroup): boolean {
    return this.#options.properties.every(property => group.column(property) !== undefined);
  }

  #hasRoom(present: RowGroup | undefined): boolean {
    const {memory, properties} = this.#options;
    const columns = properties.length + (present?.columns.length ?? 0);
    return memory.makeRoom(rowGroupRows * (1 + 8 * columns), this.#run);
  }

  #use(slot: Slot, group: RowGroup): RowGroup {
    this.#options.memory.hold(slot, group.bytes, this.#run);
    return group;
  }

  /** Brings the row group to the state of the snapshot, which is not older. */
  #patch(number: number, slot: Slot, group: RowGroup): void {
    const {bucket, reader} = this.#options;
    const first = number * rowGroupRows;
    for (const row of slot.changes.keys()) {
      group.clear(row);
      const bytes = reader.get(recordKey(new Rid(bucket, first + row)));
      if (bytes !== undefined) group.put(row, bytes, 0, bytes.length);
    }
    slot.reached(this.#snapshot);
  }
}
