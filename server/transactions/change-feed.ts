/**
 * Tells, for one database, which records, edges and index entries every later entry of the log
 * changes: what lets a cache in memory of the data (server/caches/) stay right without being made
 * anew.
 *
 * A listener is told of an entry in the turn in which it is appended, so before anything can read
 * what it writes. It hears keys, no values: "may be different from now on", also when the entry
 * is never applied. Whoever holds something read from a store snapshot of index `base`, with
 * `base >= heardSince`, may answer for every store snapshot of index `base` or above from it, as
 * long as it reads from the store snapshot itself whatever was told with an index above `base`.
 *
 * Followers are told of whole entries in the same turn (committed-entries.ts).
 *
 * Without listeners and followers an entry costs nothing here.
 */
import {isAdjacencyKey} from '#server/layout/adjacency-key.ts';
import {isIndexKey} from '#server/layout/index-key.ts';
import {isRecordKey} from '#server/layout/record-key.ts';
import {PackedOperations} from './bulk-operations.ts';
import type {LogIndex, Operation} from './commit.ts';
import {decodeEntry, type Entry, eachOperation} from './entry.ts';

/** A listener is not called for what it has no method for. */
export interface ChangeListener {
  /** The record whose key (record-key.ts) begins at `at` was put or deleted; bytes are borrowed. */
  recordChanged?(bytes: Uint8Array, at: number, index: LogIndex): void;
  /** The edge's key (adjacency-key.ts) that begins at `at` was put or deleted; borrowed as well. */
  edgeChanged?(bytes: Uint8Array, at: number, index: LogIndex): void;
  /** The index entry whose key (index-key.ts) is [at, end) was put or deleted; borrowed too. */
  indexChanged?(bytes: Uint8Array, at: number, end: number, index: LogIndex): void;
  /** Every key of [start, end), of whatever kind, was removed or may be another one. */
  rangeEmptied(start: Uint8Array, end: Uint8Array, index: LogIndex): void;
}

export interface ChangeSubscription {
  /** Entries above this index are told; of store snapshots below it nothing is known. */
  readonly heardSince: LogIndex;
  /** The newest entry that was appended, told. */
  readonly lastIndex: LogIndex;
  end(): void;
}

/** Takes whole entries, in order, in the turn in which each is appended or comes from elsewhere. */
export interface EntryFollower {
  /** Its bytes are the follower's. */
  logged(index: LogIndex, entry: Entry): void;
  /** What was told with an index above `index` never happens. */
  takenBack(index: LogIndex): void;
}

export interface EntrySubscription {
  /** Entries above this index are told. */
  readonly since: LogIndex;
  end(): void;
}

/** Keys of records and edges are shorter, those of most indexes too. */
const keyBytesUsual = 64;

/** No key is behind it. */
const everything = [new Uint8Array(0), new Uint8Array(keyBytesUsual).fill(0xff)] as const;

export class ChangeFeed {
  readonly #listeners = new Set<ChangeListener>();
  readonly #followers = new Set<EntryFollower>();
  #key = Buffer.alloc(keyBytesUsual);
  #lastIndex: LogIndex;

  /** `lastIndex`: of the newest entry of the database when nothing of it is in flight. */
  constructor(lastIndex: LogIndex) {
    this.#lastIndex = lastIndex;
  }

  listen(listener: ChangeListener): ChangeSubscription {
    this.#listeners.add(listener);
    const last = (): LogIndex => this.#lastIndex;
    return {
      heardSince: this.#lastIndex,
      get lastIndex() {
        return last();
      },
      end: () => void this.#listeners.delete(listener),
    };
  }

  follow(follower: EntryFollower): EntrySubscription {
    this.#followers.add(follower);
    return {since: this.#lastIndex, end: () => void this.#followers.delete(follower)};
  }

  /**
   * An entry of the database was appended; indexes only grow. Cost: its keys, a listener each, and
   * a copy of it for each follower.
   *
   * @param bytes - The entry as it was appended; borrowed.
   */
  appended(
    index: LogIndex,
    operations: readonly Operation[] | PackedOperations,
    bytes: Buffer,
  ): void {
    this.#lastIndex = index;
    if (this.#followers.size > 0) this.#tellFollowers(index, decodeEntry(bytes));
    for (const listener of this.#listeners) {
      if (operations instanceof PackedOperations) {
        const {bytes} = operations;
        operations.eachKey((at, end) => tell(listener, {bytes, at, end}, index));
      } else {
        for (const operation of operations) this.#tellOperation(listener, operation, index);
      }
    }
  }

  /**
   * Another node's entry is about to be applied here: told before anything can read what it
   * writes, like one that was appended here. Cost: nothing without listeners.
   */
  followed(index: LogIndex, entry: Entry): void {
    this.#lastIndex = index;
    if (this.#followers.size > 0) this.#tellFollowers(index, entry);
    if (this.#listeners.size === 0) return;
    for (const operation of eachOperation(entry)) {
      for (const listener of this.#listeners) this.#tellOperation(listener, operation, index);
    }
  }

  /** What was told with an index above `index` never happens: nothing is known of anything. */
  takeBack(index: LogIndex): void {
    if (this.#lastIndex <= index) return;
    this.#lastIndex = index;
    for (const listener of this.#listeners) listener.rangeEmptied(...everything, index);
    for (const follower of this.#followers) follower.takenBack(index);
  }

  #tellFollowers(index: LogIndex, entry: Entry): void {
    for (const follower of this.#followers) {
      follower.logged(index, {...entry, operations: Buffer.from(entry.operations)});
    }
  }

  #tellOperation(listener: ChangeListener, operation: Operation, index: LogIndex): void {
    if (operation.kind === 'delete-range') {
      listener.rangeEmptied(operation.start, operation.end, index);
      return;
    }
    const {text} = operation;
    if (text === undefined) {
      const {key} = operation;
      tell(listener, {bytes: key, at: 0, end: key.length}, index);
      return;
    }
    // The key's bytes exist as text alone: making a buffer of each would cost more than the rest.
    const end = text.length;
    if (end > this.#key.length) this.#key = Buffer.alloc(2 * end);
    const bytes = this.#key;
    for (let at = 0; at < end; at++) bytes[at] = text.charCodeAt(at);
    tell(listener, {bytes, at: 0, end}, index);
  }
}

interface KeyPlace {
  readonly bytes: Uint8Array;
  readonly at: number;
  readonly end: number;
}

function tell(listener: ChangeListener, {bytes, at, end}: KeyPlace, index: LogIndex): void {
  if (isRecordKey(bytes, at)) listener.recordChanged?.(bytes, at, index);
  else if (isAdjacencyKey(bytes, at)) listener.edgeChanged?.(bytes, at, index);
  else if (isIndexKey(bytes, at)) listener.indexChanged?.(bytes, at, end, index);
}
