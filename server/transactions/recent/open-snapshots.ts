/**
 * The lower bounds of all open snapshots of one database, oldest first.
 *
 * A bound is the applied index when the snapshot was taken; it only grows, so the order of opening
 * is the order of bounds and the oldest is found without searching. The conflict window keeps
 * what the oldest snapshot may still ask for (conflict-window.ts).
 */
import type {LogIndex} from '../commit.ts';

export interface OpenSnapshot {
  readonly bound: LogIndex;
  previous: OpenSnapshot | undefined;
  next: OpenSnapshot | undefined;
}

export class OpenSnapshots {
  #oldest: OpenSnapshot | undefined;
  #newest: OpenSnapshot | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** The bound of the oldest open snapshot, or `otherwise` when none is open. */
  oldest(otherwise: LogIndex): LogIndex {
    return this.#oldest?.bound ?? otherwise;
  }

  open(bound: LogIndex): OpenSnapshot {
    const snapshot: OpenSnapshot = {bound, previous: this.#newest, next: undefined};
    if (this.#newest === undefined) this.#oldest = snapshot;
    else this.#newest.next = snapshot;
    this.#newest = snapshot;
    this.#count++;
    return snapshot;
  }

  close(snapshot: OpenSnapshot): void {
    if (snapshot.previous === undefined) this.#oldest = snapshot.next;
    else snapshot.previous.next = snapshot.next;
    if (snapshot.next === undefined) this.#newest = snapshot.previous;
    else snapshot.next.previous = snapshot.previous;
    // One that has become old garbage would keep all younger ones until it is collected.
    snapshot.previous = undefined;
    snapshot.next = undefined;
    this.#count--;
  }
}
