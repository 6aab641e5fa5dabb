/**
 * The views of one database that are open. Transactions that begin while nothing more was told as
 * applied see the same: they share one view, since to open and close one costs as much as a read.
 *
 * The newest one is kept without a user while commits of the database are under way, whose answers
 * the next requests follow; where nothing is, and once the next one is applied, it would be a
 * snapshot that nobody needs, and that holds back what compactions drop.
 */
import type {LogIndex} from '#server/transactions/commit.ts';
import type {View} from '#server/storage/store.ts';

interface Kept {
  readonly view: View;
  /** Told as applied when it was opened. */
  readonly index: LogIndex;
  users: number;
}

export interface SharedViewsOptions {
  readonly appliedIndex: () => LogIndex;
  /** Whether something will be applied that calls `drop`. */
  readonly isCommitUnderWay: () => boolean;
}

export class SharedViews {
  readonly #options: SharedViewsOptions;
  #newest: Kept | undefined;
  /** Users of those that are open still. */
  readonly #older = new Map<View, number>();

  constructor(options: SharedViewsOptions) {
    this.#options = options;
  }

  /** A view of everything that is told as applied: the newest one, or what `open` answers. */
  take(open: () => View): View {
    const index = this.#options.appliedIndex();
    if (this.#newest?.index !== index) {
      this.drop();
      this.#newest = {view: open(), index, users: 0};
    }
    this.#newest.users += 1;
    return this.#newest.view;
  }

  /** One user less. */
  leave(view: View): void {
    if (this.#newest?.view === view) {
      this.#newest.users -= 1;
      if (this.#newest.users === 0 && !this.#options.isCommitUnderWay()) this.drop();
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
}
