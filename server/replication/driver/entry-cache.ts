/**
 * The newest entries of the log, in memory: for peers that keep up, and for what is to be applied.
 *
 * Bounded in bytes, but for what only memory has: entries that are not durable yet are never let
 * go. Older ones are read from the storage. Entries are copied, since they stay for seconds and
 * would keep alive the messages and pools that they came in. Invariant: what it holds is one run
 * of the log that ends at its last entry.
 */
import {assert} from '#server/base/assert.ts';
import type {Persist} from '#server/raft/effect.ts';
import {type Entry, entryBytes, type LogIndex} from '#server/raft/message.ts';
import {KeptBytes} from './kept-bytes.ts';

export class EntryCache {
  readonly #bytesMax: number;
  readonly #memory = new KeptBytes();
  #entries: Entry[] = [];
  /** Places in front that are given up. */
  #head = 0;
  /** Index of the entry at `#head`, or of the next one. */
  #first: LogIndex;
  #bytes = 0;

  /** Behind the entry `last`, which it does not hold. */
  constructor(last: LogIndex, bytesMax: number) {
    this.#first = last + 1;
    this.#bytesMax = bytesMax;
  }

  get lastIndex(): LogIndex {
    return this.#first + this.#entries.length - this.#head - 1;
  }

  /** Does with the entries what the effect does with the log. */
  write({restart, keepThrough, entries}: Persist): void {
    if (restart !== undefined || keepThrough < this.#first) this.#clear(keepThrough + 1);
    else this.#truncate(keepThrough);
    assert(this.lastIndex === keepThrough, 'entries follow each other');
    for (const entry of entries) {
      this.#entries.push(this.#kept(entry));
      this.#bytes += entryBytes(entry);
    }
  }

  /** The entries behind `after` up to `through`; undefined when one is not here any more. */
  between(after: LogIndex, through: LogIndex): readonly Entry[] | undefined {
    if (after + 1 < this.#first || through > this.lastIndex) return undefined;
    const from = this.#head + after + 1 - this.#first;
    return this.#entries.slice(from, from + through - after);
  }

  /** Lets go of the oldest entries up to `durable` while there are too many bytes. */
  evict(durable: LogIndex): void {
    while (this.#bytes > this.#bytesMax && this.#first <= durable) {
      const entry = this.#entries[this.#head];
      if (entry === undefined) break;
      this.#bytes -= entryBytes(entry);
      this.#head++;
      this.#first++;
    }
    if (this.#head > 1024 && this.#head * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head);
      this.#head = 0;
    }
  }

  #kept(entry: Entry): Entry {
    if (entry.kind !== 'data') return entry;
    return {kind: 'data', term: entry.term, data: this.#memory.copy(entry.data)};
  }

  #truncate(keepThrough: LogIndex): void {
    while (this.lastIndex > keepThrough) {
      const entry = this.#entries.pop();
      assert(entry !== undefined, 'what is cut off was there');
      this.#bytes -= entryBytes(entry);
    }
  }

  #clear(next: LogIndex): void {
    this.#entries = [];
    this.#head = 0;
    this.#first = next;
    this.#bytes = 0;
  }
}
