/**
 * Decoded lists of one search index (indexes/kept-lists.ts), for snapshots of the store.
 *
 * A list that was read from a snapshot of log index `base` is exact for every snapshot from there
 * on but for the records that the change feed has named since, which whoever searches reads from
 * his snapshot himself; what he makes of them takes the list's place. A list with more changes than
 * `changesMax` is dropped. Terms of a field are kept as they were met, with those that were added
 * since.
 *
 * Invariant W4: a list, with the records named as changed read from the snapshot, shows exactly the
 * entries of that snapshot.
 */
import {compareText} from '#server/base/utf8.ts';
import type {ChangedRecord, FoundList, KeptList, KeptLists} from '#server/indexes/kept-lists.ts';
import {indexPrefixBytes} from '#server/layout/index-key.ts';
import {ridBytes} from '#server/layout/namespace.ts';
import {bucketOfEntry, positionOfEntry, termOfEntry} from '#server/layout/posting-key.ts';
import {keyTextOf} from '#server/transactions/key-text.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import type {Droppable, CacheMemory} from './cache-memory.ts';
import type {
  IndexCache,
  IndexCacheEnvironment,
  IndexCacheFigures,
  IndexCacheKind,
} from './index-caches.ts';
import {listsShare} from './memory-shares.ts';

const changesMax = 4_096;
const recentMax = 4_096;
/** The length of the prefix that names a field's terms. */
const fieldPrefixBytes = indexPrefixBytes + 1;
/** What a list takes beside its bytes. */
const listBytesMore = 256;

interface Change extends ChangedRecord {
  readonly index: number;
}

interface NamedChange extends Change {
  readonly prefix: string;
}

class HeldList implements Droppable {
  readonly list: KeptList;
  readonly base: number;
  /** The records whose entries were written since. */
  changes: Change[] = [];
  readonly #drop: () => void;

  constructor(list: KeptList, base: number, drop: () => void) {
    this.list = list;
    this.base = base;
    this.#drop = drop;
  }

  drop(): void {
    this.#drop();
  }
}

class HeldTerms implements Droppable {
  /** The terms in their order. */
  terms: readonly string[];
  readonly base: number;
  readonly added = new Set<string>();
  readonly #drop: () => void;

  constructor(terms: readonly string[], base: number, drop: () => void) {
    this.terms = terms;
    this.base = base;
    this.#drop = drop;
  }

  drop(): void {
    this.#drop();
  }
}

/**
 * The newest changes of one index: a list that is read from a snapshot needs those that were told
 * of before it was there to be told, and that the snapshot does not show yet.
 */
class RecentChanges {
  #changes: NamedChange[] = [];
  /** All changes above this index are here. */
  completeAbove: number;

  /** @param lastIndex - Nothing was heard of changes up to it. */
  constructor(lastIndex: number) {
    this.completeAbove = lastIndex;
  }

  add(change: NamedChange): void {
    this.#changes.push(change);
    if (this.#changes.length < 2 * recentMax) return;
    this.completeAbove = (this.#changes[recentMax - 1] as NamedChange).index;
    this.#changes = this.#changes.slice(recentMax);
  }

  /** Undefined: some may be forgotten. */
  above(index: number): readonly NamedChange[] | undefined {
    if (index < this.completeAbove) return undefined;
    const {length} = this.#changes;
    let from = length;
    while (from > 0 && (this.#changes[from - 1] as NamedChange).index > index) from -= 1;
    return this.#changes.slice(from);
  }
}

class PostingListCache implements IndexCache {
  readonly lists = new Map<string, HeldList>();
  readonly terms = new Map<string, HeldTerms>();
  readonly recent: RecentChanges;
  readonly #memory: CacheMemory;
  /** Nothing is known of snapshots below it: changes were not told of, or the index was emptied. */
  #floor: LogIndex;

  constructor({memory, heardSince, lastIndex}: IndexCacheEnvironment) {
    this.#memory = memory;
    this.#floor = heardSince;
    this.recent = new RecentChanges(lastIndex);
  }

  /** Lists for one search; undefined where nothing may be kept. */
  open({snapshotIndex}: Pick<ReadContext, 'snapshotIndex'>): KeptLists | undefined {
    return snapshotIndex < this.#floor
      ? undefined
      : new SnapshotLists(this, this.#memory, snapshotIndex);
  }

  get figures(): IndexCacheFigures {
    let bytes = 0;
    for (const {list} of this.lists.values()) bytes += list.bytes + listBytesMore;
    for (const {terms} of this.terms.values()) bytes += bytesOf(terms);
    return {lists: this.lists.size, bytes};
  }

  close(): void {
    for (const held of [...this.lists.values(), ...this.terms.values()]) {
      this.#memory.forget(held);
      held.drop();
    }
  }

  emptied(index: LogIndex): void {
    this.#floor = Math.max(this.#floor, index);
    this.recent.completeAbove = Math.max(this.recent.completeAbove, index);
    this.close();
  }

  entryChanged(bytes: Uint8Array, at: number, end: number, index: LogIndex): void {
    const {lists, terms, recent} = this;
    const prefixEnd = end - ridBytes;
    if (prefixEnd <= at) return;
    const prefix = keyTextOf(bytes, at, prefixEnd);
    const bucket = bucketOfEntry(bytes, end);
    const change = {prefix, bucket, position: positionOfEntry(bytes, end), index};
    recent.add(change);
    const held = lists.get(prefix);
    if (held !== undefined) {
      held.changes.push(change);
      if (held.changes.length > changesMax) {
        this.#memory.forget(held);
        held.drop();
      }
    }
    if (terms.size === 0) return;
    const known = terms.get(prefix.slice(0, fieldPrefixBytes));
    const term = known === undefined ? '' : termOfEntry(bytes, at, end);
    if (term !== '') known?.added.add(term);
  }
}

/** How full-text and sparse vector indexes keep their lists. */
export const postingLists: IndexCacheKind = {
  share: listsShare,
  make: (_index, environment) => new PostingListCache(environment),
};

class SnapshotLists implements KeptLists {
  readonly #lists: PostingListCache;
  readonly #memory: CacheMemory;
  readonly #snapshotIndex: number;
  readonly #run: number;

  constructor(lists: PostingListCache, memory: CacheMemory, snapshotIndex: number) {
    this.#lists = lists;
    this.#memory = memory;
    this.#snapshotIndex = snapshotIndex;
    this.#run = memory.beginRun();
  }

  find(prefix: string): FoundList | undefined {
    const held = this.#lists.lists.get(prefix);
    if (held === undefined || held.base > this.#snapshotIndex) return undefined;
    this.#memory.hold(held, held.list.bytes + listBytesMore, this.#run);
    return {list: held.list, changed: held.changes.length === 0 ? none : inOrder(held.changes)};
  }

  keep(prefix: string, list: KeptList): void {
    const {lists, recent} = this.#lists;
    // What was told of and the snapshot does not show yet.
    const since = recent.above(this.#snapshotIndex);
    if (since === undefined) return;
    const before = lists.get(prefix);
    // One that was read from a newer snapshot stays.
    if (before !== undefined && before.base > this.#snapshotIndex) return;
    const bytes = list.bytes + listBytesMore;
    if (!this.#memory.makeRoom(bytes, this.#run)) return;
    if (before !== undefined) this.#memory.forget(before);
    const held = new HeldList(list, this.#snapshotIndex, () => {
      if (lists.get(prefix) === held) lists.delete(prefix);
    });
    held.changes = since.filter(change => change.prefix === prefix);
    lists.set(prefix, held);
    this.#memory.hold(held, bytes, this.#run);
  }

  findTerms(prefix: string): readonly string[] | undefined {
    const held = this.#lists.terms.get(prefix);
    if (held === undefined || held.base > this.#snapshotIndex) return undefined;
    if (held.added.size > 0) {
      const all = new Set([...held.terms, ...held.added]);
      held.terms = [...all].sort(compareText);
      held.added.clear();
    }
    this.#memory.hold(held, bytesOf(held.terms), this.#run);
    return held.terms;
  }

  keepTerms(prefix: string, found: readonly string[]): void {
    const {terms, recent} = this.#lists;
    const since = recent.above(this.#snapshotIndex);
    if (since === undefined) return;
    if (!this.#memory.makeRoom(bytesOf(found), this.#run)) return;
    const held = new HeldTerms(found, this.#snapshotIndex, () => {
      if (terms.get(prefix) === held) terms.delete(prefix);
    });
    for (const change of since) {
      const term = change.prefix.startsWith(prefix) ? termOfName(change.prefix) : '';
      if (term !== '') held.added.add(term);
    }
    terms.set(prefix, held);
    this.#memory.hold(held, bytesOf(found), this.#run);
  }
}

/** Reads the term from a list's name. */
function termOfName(prefix: string): string {
  const bytes = Buffer.from(prefix, 'latin1');
  return termOfEntry(bytes, 0, bytes.length + ridBytes);
}

const none: readonly ChangedRecord[] = [];

/** Each record once. */
function inOrder(changes: readonly Change[]): readonly ChangedRecord[] {
  const sorted = changes.toSorted((a, b) => a.bucket - b.bucket || a.position - b.position);
  return sorted.filter((change, at) => {
    const before = sorted[at - 1];
    return before?.bucket !== change.bucket || before.position !== change.position;
  });
}

function bytesOf(terms: readonly string[]): number {
  return terms.length * 48 + listBytesMore;
}
