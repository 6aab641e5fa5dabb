/**
 * The snapshots of one database that are open. Transactions that begin while nothing more was told
 * as applied see the same: they share one snapshot, since to open and close one costs as much as a
 * read.
 *
 * The newest one is kept without a user until something of the database is applied behind it, and
 * for a second at most: it is a snapshot, which keeps files and rows that a compaction has dropped.
 */
import type {Timers} from '#server/platform/clock.ts';
import type {StoreSnapshot} from '#server/storage/store.ts';
import type {LogIndex} from '#server/transactions/commit.ts';

interface Pooled {
  readonly snapshot: StoreSnapshot;
  /** Told as applied when it was opened. */
  readonly index: LogIndex;
  users: number;
}

/** Maximum age of a snapshot that a new transaction may share. */
const snapshotMsMax = 1_000;

export class SnapshotPool {
  readonly #appliedIndex: () => LogIndex;
  readonly #timers: Pick<Timers, 'after'>;
  #newest: Pooled | undefined;
  /** Users of those that are open still. */
  readonly #older = new Map<StoreSnapshot, number>();
  #isTimed = false;

  constructor(appliedIndex: () => LogIndex, timers: Pick<Timers, 'after'>) {
    this.#appliedIndex = appliedIndex;
    this.#timers = timers;
  }

  /** A snapshot of everything that is told as applied: the newest one, or what `open` answers. */
  take(open: () => StoreSnapshot): StoreSnapshot {
    const index = this.#appliedIndex();
    if (this.#newest?.index !== index) {
      this.drop();
      this.#newest = {snapshot: open(), index, users: 0};
      this.#dropInTime();
    }
    this.#newest.users += 1;
    return this.#newest.snapshot;
  }

  /** One user less. */
  leave(snapshot: StoreSnapshot): void {
    if (this.#newest?.snapshot === snapshot) {
      this.#newest.users -= 1;
      return;
    }
    const others = (this.#older.get(snapshot) ?? 1) - 1;
    if (others > 0) {
      this.#older.set(snapshot, others);
      return;
    }
    this.#older.delete(snapshot);
    snapshot.release();
  }

  /** Nobody begins with the newest one any more. */
  drop(): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    this.#newest = undefined;
    if (newest.users === 0) newest.snapshot.release();
    else this.#older.set(newest.snapshot, newest.users);
  }

  /** One timer for all: where snapshots follow each other it runs out while the newest is young. */
  #dropInTime(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#timers.after(snapshotMsMax, () => {
      this.#isTimed = false;
      this.drop();
    });
  }
}
