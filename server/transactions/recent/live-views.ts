/**
 * The lower bounds of all open views of one database, oldest first.
 *
 * A bound is the applied index when the view was taken; it only grows, so the order of opening
 * is the order of bounds and the oldest is found without searching. The conflict window keeps
 * what the oldest view may still ask for (conflict-window.ts).
 */
import type {LogIndex} from '../commit.ts';

export interface LiveView {
  readonly bound: LogIndex;
  previous: LiveView | undefined;
  next: LiveView | undefined;
}

export class LiveViews {
  #oldest: LiveView | undefined;
  #newest: LiveView | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The bound of the oldest open view, or `otherwise` when none is open. */
  oldest(otherwise: LogIndex): LogIndex {
    return this.#oldest?.bound ?? otherwise;
  }

  open(bound: LogIndex): LiveView {
    const view: LiveView = {bound, previous: this.#newest, next: undefined};
    if (this.#newest === undefined) this.#oldest = view;
    else this.#newest.next = view;
    this.#newest = view;
    this.#count++;
    return view;
  }

  close(view: LiveView): void {
    if (view.previous === undefined) this.#oldest = view.next;
    else view.previous.next = view.next;
    if (view.next === undefined) this.#newest = view.previous;
    else view.next.previous = view.previous;
    // One that has become old garbage would keep all younger ones until it is collected.
    view.previous = undefined;
    view.next = undefined;
    this.#count--;
  }
}
