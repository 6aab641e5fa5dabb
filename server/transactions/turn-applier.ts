/**
 * Applies what is small on the thread that offers it, in turns with the applier (apply.ts) of
 * another thread: a few entries cost less there than waking that thread and hearing from it.
 *
 * Only one of the two has entries at a time; the caller sees to that. Each knows where databases
 * stand: this one is shown everything that the other is given (`pass`), the other is told what
 * this one did before it is given anything (`takeMoves`). What stands in the way of a write is not
 * this one's business: it leaves the entries to the other, which waits, or fences the database.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption} from '#server/base/errors.ts';
import type {LogRecord} from '#server/log/segment-reader.ts';
import {type Batch, type Store, StoreFailure} from '#server/storage/store.ts';
import {addCounters, addPosition, type CounterValues, type Move, positionBehind} from './apply.ts';
import {decodeEntry} from './entry.ts';
import type {DatabasePosition} from './system-keys.ts';

interface Attached {
  readonly store: Store;
  readonly batch: Batch;
  readonly counters: CounterValues;
  position: DatabasePosition;
  /** Behind the entries in the batch; undefined when there are none. */
  next: DatabasePosition | undefined;
  /** Of the entries that were applied since the other one was told. */
  firstMoved: number | undefined;
}

export class TurnApplier {
  readonly #logId: string;
  readonly #databases = new Map<number, Attached>();

  /** `logId`: of the log whose entries are applied. */
  constructor(logId: string) {
    this.#logId = logId;
  }

  attach(databaseId: number, store: Store, position: DatabasePosition): void {
    const batch = store.batch();
    const counters: CounterValues = new Map();
    const attached = {store, batch, counters, position, next: undefined, firstMoved: undefined};
    this.#databases.set(databaseId, attached);
  }

  detach(databaseId: number): void {
    this.#databases.delete(databaseId);
  }

  /**
   * Applies entries in the order given, unsynced, or leaves them to the other applier: false, and
   * what of them was written is written again there. They are entries that `decodeEntry` reads.
   */
  apply(records: readonly LogRecord[]): boolean {
    const touched: Attached[] = [];
    let isDone = records.every(record => this.#collect(record, touched));
    for (const database of touched) isDone &&= writeAtOnce(database);
    for (const database of touched) {
      const {next, position, batch, counters} = database;
      if (isDone && next !== undefined) {
        database.firstMoved ??= position.index + 1;
        database.position = next;
      }
      database.next = undefined;
      batch.clear();
      counters.clear();
    }
    return isDone;
  }

  /** The other applier is given this entry. */
  pass(record: LogRecord): void {
    const entry = decodeEntry(record.payload);
    const database = this.#databases.get(entry.databaseId);
    if (entry.kind !== 'transaction' && entry.kind !== 'ingest') return;
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

  /** False for what only the other applier does. */
  #collect(record: LogRecord, touched: Attached[]): boolean {
    const entry = decodeEntry(record.payload);
    if (entry.kind === 'ingest') return false;
    const database = this.#databases.get(entry.databaseId);
    if (entry.kind !== 'transaction' || database === undefined) return true;
    const before = database.next ?? database.position;
    if (record.index <= before.index) return true;
    if (database.next === undefined) touched.push(database);
    database.batch.appendPacked(entry.operations, entry.operationCount);
    addCounters(database.counters, entry);
    database.next = positionBehind(before, this.#logId, record, entry);
    return true;
  }
}

function writeAtOnce({store, batch, counters, next, position}: Attached): boolean {
  addPosition(batch, counters, next ?? position);
  try {
    return store.writeAtOnce(batch);
  } catch (error) {
    // Whatever it is, the other applier meets it as well, and knows what to do.
    if (error instanceof Corruption || error instanceof StoreFailure) return false;
    throw error;
  }
}
