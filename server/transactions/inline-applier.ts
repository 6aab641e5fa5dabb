/**
 * Applies what is small on the thread that offers it, in turns with the applier (apply.ts) of
 * another thread: a few entries cost less there than waking that thread and hearing from it.
 * Making ready and writing are two steps, so that those who wait can be told in between.
 *
 * Only one of the two has entries at a time; the caller sees to that. Each knows where databases
 * stand: this one is shown everything that the other is given (`pass`), the other is told what
 * this one did before it is given anything (`takeMoves`). What stands in the way of a write is not
 * this one's business: it leaves the entries to the other, which waits, or fences the database.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import {type WriteBatch, type Store, StoreFailure} from '#server/storage/store.ts';
import {addCounters, addPosition, type CounterValues, type Move, positionBehind} from './apply.ts';
import {decodeEntry} from './entry.ts';
import type {DatabasePosition} from './system-keys.ts';

interface Attached {
  readonly store: Store;
  readonly batch: WriteBatch;
  readonly counters: CounterValues;
  position: DatabasePosition;
  /** The position after the entries in the batch; undefined when there are none. */
  next: DatabasePosition | undefined;
  /** An entry in the batch changes the schema. */
  changesSchema: boolean;
  /** The first entry that was applied since the apply thread was told. */
  firstMoved: number | undefined;
}

export class InlineApplier {
  readonly #logId: string;
  readonly #databases = new Map<number, Attached>();
  /** Databases that prepared entries touch. */
  #touched: Attached[] = [];

  /** `logId`: of the log whose entries are applied. */
  constructor(logId: string) {
    this.#logId = logId;
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    const batch = store.batch();
    const counters: CounterValues = new Map();
    this.#databases.set(databaseId, {
      store,
      batch,
      counters,
      position,
      next: undefined,
      changesSchema: false,
      firstMoved: undefined,
    });
  }

  detach(databaseId: number): void {
    this.#databases.delete(databaseId);
  }

  /**
   * Makes entries ready to be written, in the order given. They are entries that `decodeEntry`
   * reads.
   */
  prepare(records: readonly LogRecord[]): void {
    assert(this.#touched.length === 0, 'what was made ready before is written');
    for (const record of records) this.#collect(record);
    for (const {batch, counters, next} of this.#touched) addNext(batch, counters, next);
  }

  /**
   * Whether what is ready may be told before it is written: nothing known stands in the way of the
   * write, and who is told looks into no store for it, as for a schema.
   */
  mayAcknowledgeFirst(): boolean {
    return this.#touched.every(
      ({store, batch, changesSchema}) => !changesSchema && store.takesAtOnce(batch),
    );
  }

  /**
   * Writes what is ready, unsynced, or leaves it to the other applier: false, and what of it was
   * written is written again there.
   */
  write(): boolean {
    const isDone = this.#touched.every(writeAtOnce);
    this.#clear(isDone);
    return isDone;
  }

  /** The other applier is given this entry. */
  pass(record: LogRecord): void {
    const entry = decodeEntry(record.payload);
    const database = this.#databases.get(entry.databaseId);
    if (entry.kind !== 'transaction') return;
    if (database === undefined || record.index <= database.position.index) return;
    assert(database.firstMoved === undefined, 'the other one was told what was applied before');
    database.position = positionBehind(database.position, this.#logId, record, entry);
  }

  /** What the other applier has to be told before it is given anything, by database. */
  takeMoves(): Map<number, Move> {
    const moves = new Map<number, Move>();
    for (const [id, database] of this.#databases) {
      const {firstMoved, position} = database;
      if (firstMoved === undefined) continue;
      moves.set(id, {firstIndex: firstMoved, position});
      database.firstMoved = undefined;
    }
    return moves;
  }

  /** Nothing is ready any more. */
  #clear(isWritten: boolean): void {
    for (const database of this.#touched) {
      const {next, position, batch, counters} = database;
      if (isWritten && next !== undefined) {
        database.firstMoved ??= position.index + 1;
        database.position = next;
      }
      database.next = undefined;
      database.changesSchema = false;
      batch.clear();
      counters.clear();
    }
    this.#touched = [];
  }

  #collect(record: LogRecord): void {
    const entry = decodeEntry(record.payload);
    const database = this.#databases.get(entry.databaseId);
    if (entry.kind !== 'transaction' || database === undefined) return;
    const before = database.next ?? database.position;
    if (record.index <= before.index) return;
    if (database.next === undefined) this.#touched.push(database);
    database.batch.appendPacked(entry.operations, entry.operationCount);
    database.changesSchema ||= entry.newSchemaVersion !== undefined;
    addCounters(database.counters, entry);
    database.next = positionBehind(before, this.#logId, record, entry);
  }
}

function addNext(
  batch: WriteBatch,
  counters: CounterValues,
  next: DatabasePosition | undefined,
): void {
  assert(next !== undefined, 'there is an entry in the batch');
  addPosition(batch, counters, next);
}

function writeAtOnce({store, batch}: Attached): boolean {
  try {
    return store.writeAtOnce(batch);
  } catch (error) {
    // Whatever it is, the other applier meets it as well, and knows what to do.
    if (error instanceof Corruption || error instanceof StoreFailure) return false;
    throw error;
  }
}
