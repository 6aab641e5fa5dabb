/**
 * The newest entries of the log, in memory: for peers that keep up, and for what is to be applied.
 *
 * Bounded in bytes, but for what only memory has: entries that are not durable yet are never let
 * go. Older ones are read from the storage. Invariant: what it holds is one run of the log that
 * ends at its last entry.
 */
import {assert} from '#server/base/assert.ts';
import type {Persist} from '#server/raft/effect.ts';
import {type Entry, entryBytes, type LogIndex} from '#server/raft/message.ts';
import {EntryPage} from './entry-page.ts';

const pageBytesMax = 128 << 10;
const pagesMin = 4;

export class EntryCache {
  readonly #bytesMax: number;
  readonly #pageBytes: number;
  /** Oldest first; of the first one some entries may be let go already. */
  #pages: EntryPage[] = [];
  /** Index of the oldest entry, or of the next one. */
  #first: LogIndex;
  #bytes = 0;

  /** Starts after the entry `last`, which it does not hold. */
  constructor(last: LogIndex, bytesMax: number) {
    this.#first = last + 1;
    this.#bytesMax = bytesMax;
    this.#pageBytes = Math.min(pageBytesMax, Math.ceil(bytesMax / pagesMin));
  }

  get lastIndex(): LogIndex {
    return this.#pages.at(-1)?.last ?? this.#first - 1;
  }

  /** Does what the effect does with the log; the bytes of small entries are copied. */
  write({restart, keepThrough, entries}: Persist): void {
    if (restart !== undefined || keepThrough < this.#first) this.#clear(keepThrough + 1);
    else this.#truncate(keepThrough);
    assert(this.lastIndex === keepThrough, 'entries follow each other');
    for (const entry of entries) this.#push(entry);
  }

  /** The entries behind `after` up to `through`; undefined when one is not here any more. */
  between(after: LogIndex, through: LogIndex): readonly Entry[] | undefined {
    if (after + 1 < this.#first || through > this.lastIndex) return undefined;
    const entries: Entry[] = [];
    // What is asked for stands near the end.
    let at = this.#pages.findLastIndex(({first}) => first <= after + 1);
    for (let index = after + 1; index <= through; index++) {
      let page = this.#pages[at] as EntryPage;
      if (index > page.last) page = this.#pages[++at] as EntryPage;
      entries.push(page.at(index));
    }
    return entries;
  }

  /** Lets go of the oldest entries up to `durable` while there are too many bytes. */
  evict(durable: LogIndex): void {
    while (this.#bytes > this.#bytesMax && this.#first <= Math.min(durable, this.lastIndex)) {
      const oldest = this.#pages[0] as EntryPage;
      this.#bytes -= oldest.bytesAt(this.#first);
      if (this.#first === oldest.last) this.#pages.shift();
      this.#first++;
    }
  }

  #push(entry: Entry): void {
    this.#bytes += entryBytes(entry);
    if (this.#pages.at(-1)?.push(entry) === true) return;
    const page = new EntryPage(this.lastIndex + 1, this.#pageBytes);
    page.push(entry);
    this.#pages.push(page);
  }

  #truncate(keepThrough: LogIndex): void {
    while (this.lastIndex > keepThrough) {
      const newest = this.#pages.at(-1);
      assert(newest !== undefined, 'what is cut off was there');
      this.#bytes -= newest.bytesAt(newest.last);
      newest.pop();
      if (newest.last < Math.max(newest.first, this.#first)) this.#pages.pop();
    }
  }

  #clear(next: LogIndex): void {
    this.#pages = [];
    this.#first = next;
    this.#bytes = 0;
  }
}
