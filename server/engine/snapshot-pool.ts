/**
 * The views of one database that are open. Transactions that begin while nothing more was told as
 * applied see the same: they share one view, since to open and close one costs as much as a read.
 *
 * The newest one is kept without a user until something of the database is applied behind it, and
 * for a second at most: it is a snapshot, which keeps files and rows that a compaction has dropped.
 */
import type {Timers} from '#server/platform/clock.ts';
import type {View} from '#server/storage/store.ts';
import type {LogIndex} from '#server/transactions/commit.ts';

interface Kept {
  readonly view: View;
  /** Told as applied when it was opened. */
  readonly index: LogIndex;
  users: number;
}

/** Nobody begins with a view that is older. */
const viewMsMax = 1_000;

export class SharedViews {
  readonly #appliedIndex: () => LogIndex;
  readonly #timers: Pick<Timers, 'after'>;
  #newest: Kept | undefined;
  /** Users of those that are open still. */
  readonly #older = new Map<View, number>();
  #isTimed = false;

  constructor(appliedIndex: () => LogIndex, timers: Pick<Timers, 'after'>) {
    this.#appliedIndex = appliedIndex;
    this.#timers = timers;
  }

  /** A view of everything that is told as applied: the newest one, or what `open` answers. */
  take(open: () => View): View {
    const index = this.#appliedIndex();
    if (this.#newest?.index !== index) {
      this.drop();
      this.#newest = {view: open(), index, users: 0};
      this.#dropInTime();
    }
    this.#newest.users += 1;
    return this.#newest.view;
  }

  /** One user less. */
  leave(view: View): void {
    if (this.#newest?.view === view) {
      this.#newest.users -= 1;
      return;
    }
    const others = (this.#older.get(view) ?? 1) - 1;
    if (others > 0) {
      this.#older.set(view, others);
      return;
    }
    this.#older.delete(view);
    view.release();
  }

  /** Nobody begins with the newest one any more. */
  drop(): void {
    const newest = this.#newest;
    if (newest === undefined) return;
    this.#newest = undefined;
    if (newest.users === 0) newest.view.release();
    else this.#older.set(newest.view, newest.users);
  }

  /** One timer for all: where views follow each other it runs out while the newest is young. */
  #dropInTime(): void {
    if (this.#isTimed) return;
    this.#isTimed = true;
    this.#timers.after(viewMsMax, () => {
      this.#isTimed = false;
      this.drop();
    });
  }
}
