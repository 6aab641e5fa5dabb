/**
 * Tells, for one database, every entry of the log that is committed, in order and once, with the
 * state of the store before it and behind it: what events of changes are made from.
 *
 *     appended e7, e8      both are kept; a snapshot that ends with e6 is opened
 *     e7 is applied        consumed between the snapshot and the snapshot with e7 laid over it
 *     e8 is taken back     forgotten: it never happened
 *     nothing is left      the snapshot is released; e7 stays in memory until a later snapshot
 *                          is known to hold it
 *
 * The state between two entries is nowhere in the store, which takes many in one batch. It is made
 * from a snapshot and the entries behind it; which entries a snapshot holds is written in the
 * snapshot itself (T1). So nobody has to wait for the store, and an entry is consumed in the turn
 * in which it is known to be committed. Without a consumer an entry costs nothing here.
 * Why: docs/design/0045-change-events.md.
 */
import {assert} from '#server/base/assert.ts';
import {Fifo} from '#server/base/fifo.ts';
import {isIndexKey} from '#server/layout/index-key.ts';
import type {Reader, StoreSnapshot} from '#server/storage/store.ts';
import type {ChangeFeed, EntrySubscription} from './change-feed.ts';
import type {LogIndex} from './commit.ts';
import {keyText} from './key-text.ts';
import {type Entry, eachOperation} from './entry.ts';
import {OverlaidReader} from './own-writes/overlaid-reader.ts';
import {WriteSet} from './own-writes/write-set.ts';
import {decodePosition, positionKey} from './system-keys.ts';

/** One committed entry. The readers are good during the call in which it is given. */
export interface CommittedEntry {
  readonly index: LogIndex;
  /** Its bytes are the consumer's. */
  readonly entry: Entry;
  /** The store as the entry before left it. */
  readonly before: Reader;
  /** The store as this entry leaves it. */
  readonly after: Reader;
}

/** Takes the entries; what it throws ends the feed, as `ended` says. */
export interface EntryConsumer {
  consume(entry: CommittedEntry): void;
  /** Nothing more is told: `error` stood in the way, or undefined: the database is closed. */
  ended(error: unknown): void;
}

/** What the entries are told of. */
export interface EntrySource {
  readonly feed: ChangeFeed;
  /** Everything up to here is told as applied. */
  appliedIndex(): LogIndex;
  whenApplied(index: LogIndex): Promise<void>;
  /** The store as it is; what is told as applied may be missing. The caller releases it. */
  snapshot(): StoreSnapshot;
  /** Writes what is told as applied into the store. */
  flush(): void;
}

interface KeptEntry {
  readonly index: LogIndex;
  readonly entry: Entry;
}

/** A snapshot, and the last entry that it holds. */
interface Base {
  readonly snapshot: StoreSnapshot;
  readonly index: LogIndex;
}

/** Bytes laid over one snapshot before a newer one is looked for. */
const overlayBytesMax = 4 << 20;

export class CommittedEntries {
  readonly #source: EntrySource;
  readonly #consumer: EntryConsumer;
  readonly #subscription: EntrySubscription;
  /** Appended, and not known to be committed. */
  readonly #pending = new Fifo<KeptEntry>();
  /** Consumed, and perhaps not in the base. */
  #recent: KeptEntry[] = [];
  #base: Base | undefined;
  /** Takes the place of the base when everything that it holds is consumed. */
  #next: Base | undefined;
  /** `recent` laid over each other. */
  #overlay = new WriteSet();
  #position: LogIndex | undefined;
  #isDue = false;
  #isOver = false;

  constructor(source: EntrySource, consumer: EntryConsumer) {
    this.#source = source;
    this.#consumer = consumer;
    this.#subscription = source.feed.follow({
      logged: (index, entry) => this.#logged(index, entry),
      takenBack: index => this.#takenBack(index),
    });
  }

  /**
   * Begins once what was under way is applied: entries behind the index that `begin` gets, with the
   * state of the store there, are told. Call once.
   *
   * @throws {Refusal} `database.behind`. @throws {Error} the feed ended meanwhile.
   */
  async start(begin: (index: LogIndex, state: Reader) => void): Promise<void> {
    await this.#source.whenApplied(this.#subscription.since);
    if (this.#isOver) throw new Error('the feed of entries has ended');
    this.#source.flush();
    const base = this.#open();
    this.#base = base;
    this.#position = base.index;
    while ((this.#pending.first?.index ?? Infinity) <= base.index) this.#pending.shift();
    begin(base.index, base.snapshot);
    this.applied();
  }

  /** The last entry that was consumed; undefined before the start. */
  get position(): LogIndex | undefined {
    return this.#position;
  }

  /** Something was told as applied: what is due is consumed when this turn's work is done. */
  applied(): void {
    if (this.#isDue || this.#isOver || this.#position === undefined) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#guard(() => this.#drain());
    });
  }

  /** Ends the feed, if it has not ended; `error`: what stood in the way. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#subscription.end();
    this.#pending.takeAll();
    this.#release();
    this.#recent = [];
    this.#overlay = new WriteSet();
    this.#consumer.ended(error);
  }

  #logged(index: LogIndex, entry: Entry): void {
    // The state before the first one that is pending is the store's; nothing of it is written yet.
    if (this.#position !== undefined) this.#guard(() => this.#hold());
    if (!this.#isOver) this.#pending.push({index, entry});
  }

  #takenBack(index: LogIndex): void {
    for (const kept of this.#pending.takeAll()) if (kept.index <= index) this.#pending.push(kept);
  }

  #guard(work: () => void): void {
    if (this.#isOver) return;
    try {
      work();
    } catch (error) {
      this.end(error);
    }
  }

  #drain(): void {
    const appliedIndex = this.#source.appliedIndex();
    for (;;) {
      const first = this.#pending.first;
      if (first === undefined || first.index > appliedIndex) break;
      this.#pending.shift();
      this.#consume(first);
      if (this.#isOver) return;
    }
    if (this.#pending.length === 0) this.#release();
    else if (this.#overlay.bytes > overlayBytesMax) this.#next ??= this.#open();
  }

  #consume(kept: KeptEntry): void {
    const {index, entry} = kept;
    const own = new WriteSet();
    layEntry(own, entry);
    const base = this.#hold();
    assert(base.index < index, 'the base is older than what is consumed on top of it');
    const before = new OverlaidReader(base.snapshot, this.#overlay);
    this.#consumer.consume({index, entry, before, after: new OverlaidReader(before, own)});
    this.#position = index;
    this.#recent.push(kept);
    layEntry(this.#overlay, entry);
    const next = this.#next;
    if (next === undefined || next.index > index) return;
    this.#base?.snapshot.release();
    this.#next = undefined;
    this.#rest(next);
  }

  /** The base under the entries that are consumed; opened when there is none. */
  #hold(): Base {
    if (this.#base === undefined) this.#rest(this.#open());
    return this.#base as Base;
  }

  /** Makes `base` the base: what it holds is laid over it no more. */
  #rest(base: Base): void {
    this.#base = base;
    this.#recent = this.#recent.filter(({index}) => index > base.index);
    this.#overlay = new WriteSet();
    for (const {entry} of this.#recent) layEntry(this.#overlay, entry);
  }

  #open(): Base {
    const snapshot = this.#source.snapshot();
    const bytes = snapshot.get(positionKey);
    return {snapshot, index: bytes === undefined ? 0 : decodePosition(bytes).index};
  }

  #release(): void {
    this.#base?.snapshot.release();
    this.#next?.snapshot.release();
    this.#base = undefined;
    this.#next = undefined;
  }
}

/** Lays what an entry changes over `writes`; entries of indexes are left out. */
function layEntry(writes: WriteSet, entry: Entry): void {
  for (const operation of eachOperation(entry)) {
    if (operation.kind === 'delete-range') {
      writes.deleteRange(keyText(operation.start), keyText(operation.end));
    } else if (!isIndexKey(operation.key, 0)) {
      writes.put(keyText(operation.key), operation.kind === 'put' ? operation.value : undefined);
    }
  }
}
