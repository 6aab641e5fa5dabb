/**
 * Phase 3 of a commit: turns log entries into store writes, deterministically.
 *
 * A run of entries becomes one write batch per database that holds their changes and the new
 * position together; nothing here reads a clock, chance or iteration order that differs between
 * nodes. Entries at or below a database's position are passed over, so replay may start early.
 * A store that fails fences its database and nothing else. Server-level entries (database 0)
 * are passed over: the server store applies them (database-set.ts).
 *
 * Invariant T1: a store's position and the changes up to it are written in one batch.
 * Invariant T6: applied is not durable; `durableFloor` tells what the log may forget.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import {type WriteBatch, type Store, StoreFailure} from '#server/storage/store.ts';
import type {CopyOutcome, DatabaseCopy} from './commit-pipeline.ts';
import {decodeEntry, type Entry} from './entry.ts';
import {
  counterKey,
  type DatabasePosition,
  encodeCounter,
  encodePosition,
  positionKey,
} from './system-keys.ts';
import type {Fence} from './commit.ts';

/** Values of counters that a run of entries changed: the last one wins, so each is written once. */
export type CounterValues = Map<number, number>;

/** What another applier did with a database (inline-applier.ts). */
export interface Move {
  /** Index of an entry at or before the first one that it applied. */
  readonly firstIndex: number;
  readonly position: DatabasePosition;
}

interface Attached {
  readonly store: Store;
  readonly batch: WriteBatch;
  position: DatabasePosition;
  readonly counters: CounterValues;
  /** Oldest entry that a power loss could take back; undefined when there is none. */
  firstUndurable: number | undefined;
  fence: Fence | undefined;
  dirty: boolean;
}

const batchBytesMax = 8 << 20;
const fenceAdvice =
  'its commits are safe in the log: restart the server, and where that does not help, restore ' +
  'the database from a copy';

export class Applier {
  readonly #logId: string;
  readonly #databases = new Map<number, Attached>();
  readonly #dirty: Attached[] = [];
  /** Grows whenever `fences` changes. */
  fenceCount = 0;
  #expectsAll = false;

  /** `logId`: of the log whose entries are applied. */
  constructor(logId: string) {
    this.#logId = logId;
  }

  /**
   * Takes an entry for a database that is not attached for a bug from now on, not for the history
   * of one that a later entry drops.
   */
  expectAll(): void {
    this.#expectsAll = true;
  }

  /** Entries of this database go to `store` from now on. */
  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    assert(!this.#databases.has(databaseId), 'a database is attached once');
    this.#databases.set(databaseId, {
      store,
      batch: store.batch(),
      position,
      counters: new Map(),
      firstUndurable: undefined,
      fence: undefined,
      dirty: false,
    });
  }

  /** Makes the database durable and lets go of its store; its position as of then. */
  detach(databaseId: number): DatabasePosition | undefined {
    const database = this.#databases.get(databaseId);
    if (database === undefined) return undefined;
    if (database.fence === undefined) this.#makeDurable(database);
    // Whoever attaches it again begins without its fence.
    if (database.fence !== undefined) this.fenceCount++;
    this.#databases.delete(databaseId);
    return database.position;
  }

  /**
   * Copies databases as they are now, with everything up to `index` applied. The log must be
   * synced up to here: the copies are durable. Behind a start a database may hold more than was
   * applied again: a copy of it would be ahead of the log of whoever goes on with it at `index`.
   */
  copy(copies: readonly DatabaseCopy[], index: number): CopyOutcome {
    const positions = new Map<number, DatabasePosition>();
    for (const {databaseId, directory} of copies) {
      const database = this.#databases.get(databaseId);
      if (database === undefined) return {kind: 'failed', reason: 'the database is not open'};
      const {store, fence, position} = database;
      if (fence !== undefined) return {kind: 'failed', reason: fence.reason};
      if (position.index > index) {
        const reason = `the log is read again up to entry ${index} of ${position.index}, try again`;
        return {kind: 'failed', reason};
      }
      try {
        store.checkpoint(directory);
      } catch (error) {
        if (error instanceof StoreFailure) return {kind: 'failed', reason: error.message};
        throw error;
      }
      positions.set(databaseId, position);
    }
    return {kind: 'copied', index, positions};
  }

  /** Another applier, which had the store since the last entry here, applied entries to it. */
  follow(databaseId: number, {firstIndex, position}: Move): void {
    const database = this.#databases.get(databaseId);
    assert(database !== undefined && !database.dirty, 'nobody else has entries to apply');
    database.firstUndurable ??= firstIndex;
    database.position = position;
  }

  position(databaseId: number): DatabasePosition | undefined {
    return this.#databases.get(databaseId)?.position;
  }

  positions(): Map<number, DatabasePosition> {
    return new Map([...this.#databases].map(([id, database]) => [id, database.position]));
  }

  /** Databases that stopped taking entries, by id. */
  fences(): Map<number, Fence> {
    const fences = new Map<number, Fence>();
    for (const [id, database] of this.#databases) {
      if (database.fence !== undefined) fences.set(id, database.fence);
    }
    return fences;
  }

  /**
   * Applies entries in the order given, unsynced: one batch per database, more when large.
   * False when a store had no room for all of it: call again with nothing until it has.
   * Throws Corruption for an entry that this build cannot read (nothing of it is applied).
   */
  apply(records: Iterable<LogRecord>): boolean {
    for (const record of records) {
      const entry = decodeEntry(record.payload);
      if (entry.kind !== 'transaction') continue;
      const database = this.#databases.get(entry.databaseId);
      assert(database !== undefined || !this.#expectsAll, 'entries are for attached databases');
      if (database === undefined || database.fence !== undefined) continue;
      if (record.index <= database.position.index) continue;
      this.#collect(database, record, entry);
      if (database.batch.byteLength > batchBytesMax) this.#flush(database);
    }
    for (const database of this.#dirty) if (database.dirty) this.#flush(database);
    const waiting = this.#dirty.filter(database => database.dirty);
    this.#dirty.splice(0, this.#dirty.length, ...waiting);
    return waiting.length === 0;
  }

  /** Fences the databases whose stores have no room: nobody waits for it any more. */
  giveUpWaiting(): void {
    for (const database of this.#dirty.splice(0)) {
      const index = database.firstUndurable ?? database.position.index;
      this.#fence(database, index, 'its disk is full: make room and restart');
      database.dirty = false;
    }
  }

  /** Makes everything applied so far survive a power loss, in every database. */
  makeDurable(): void {
    for (const database of this.#databases.values()) {
      if (database.fence === undefined) this.#makeDurable(database);
    }
  }

  /**
   * The log needs no entry up to here for any attached database; `lastIndex` when nothing is
   * held back. An idle database holds nothing back, a fenced one everything behind its fence.
   */
  durableFloor(lastIndex: number): number {
    let floor = lastIndex;
    for (const {firstUndurable, fence} of this.#databases.values()) {
      if (firstUndurable !== undefined) floor = Math.min(floor, firstUndurable - 1);
      if (fence !== undefined) floor = Math.min(floor, fence.index - 1);
    }
    return floor;
  }

  #collect(database: Attached, record: LogRecord, entry: Entry): void {
    if (!database.dirty) {
      database.dirty = true;
      this.#dirty.push(database);
    }
    const {batch} = database;
    // Packed in the entry as the store's batch packs them: copied as they are.
    batch.appendPacked(entry.operations, entry.operationCount);
    addCounters(database.counters, entry);
    database.firstUndurable ??= record.index;
    database.position = positionBehind(database.position, this.#logId, record, entry);
  }

  /** What finds no room stays in the batch, and the database dirty. */
  #flush(database: Attached): void {
    database.dirty = false;
    if (database.fence !== undefined) return;
    const {batch, counters, position, store} = database;
    addPosition(batch, counters, position);
    counters.clear();
    const index = database.firstUndurable ?? position.index;
    if (this.#guard(database, index, () => store.write(batch))) batch.clear();
    else database.dirty = true;
  }

  /** One synced write of the position: everything before it in the store's log is durable too. */
  #makeDurable(database: Attached): void {
    if (database.dirty) this.#flush(database);
    const {firstUndurable, batch, store, position} = database;
    if (firstUndurable === undefined || database.dirty) return;
    batch.put(positionKey, encodePosition(position));
    const hasRoom = this.#guard(database, firstUndurable, () => store.write(batch, {sync: true}));
    batch.clear();
    if (hasRoom && database.fence === undefined) database.firstUndurable = undefined;
  }

  /** Fences the database when its store fails; false when it only has no room now. */
  #guard(database: Attached, index: number, work: () => void): boolean {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Corruption || error instanceof StoreFailure)) throw error;
      if (error instanceof StoreFailure && error.kind === 'no-space') return false;
      this.#fence(database, index, `${error.message} (${fenceAdvice})`);
    }
    return true;
  }

  #fence(database: Attached, index: number, reason: string): void {
    database.fence = {index, reason};
    this.fenceCount++;
  }
}

export function addCounters(values: CounterValues, {counters}: Entry): void {
  for (const {kind, bucketId, value} of counters) {
    values.set(bucketId * 2 + (kind === 'position' ? 0 : 1), value);
  }
}

/** What is written in one batch with the changes of the entries up to `position`. */
export function addPosition(
  batch: WriteBatch,
  counters: CounterValues,
  position: DatabasePosition,
): void {
  for (const [slot, value] of counters) {
    const kind = slot % 2 === 0 ? 'position' : 'count';
    batch.put(counterKey(kind, Math.floor(slot / 2)), encodeCounter(value));
  }
  batch.put(positionKey, encodePosition(position));
}

/** Where a database stands with the entry applied. */
export function positionBehind(
  before: DatabasePosition,
  logId: string,
  {index, chain}: LogRecord,
  {newSchemaVersion}: Entry,
): DatabasePosition {
  return {
    ...before,
    logId,
    index,
    chain,
    transactionCount: before.transactionCount + 1,
    schemaVersion: newSchemaVersion ?? before.schemaVersion,
  };
}
