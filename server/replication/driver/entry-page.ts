/**
 * Some entries of the log that follow each other, packed: a few objects for hundreds of entries.
 *
 * Entries in memory live for seconds. As objects of their own they would all be copied twice by
 * the collector of what is young; and one that is a window on the message or the pool it came in
 * would keep all of that. What is taken out is a window on the page, whose bytes never change. A
 * large entry stays as it came: copying it would take longer than it is worth.
 */
import {assert} from '#server/base/assert.ts';
import {type Entry, entryBytes, type LogIndex} from '#server/raft/message.ts';

const entriesMax = 256;
/** An entry may take this share of a page. */
const largeShare = 1 / 8;

export class EntryPage {
  readonly first: LogIndex;
  #count = 0;
  readonly #memory: Buffer;
  /** It never shrinks: somebody may still look at an entry that was let go. */
  #used = 0;
  readonly #starts = new Uint32Array(entriesMax);
  readonly #lengths = new Uint32Array(entriesMax);
  readonly #terms = new Float64Array(entriesMax);
  /** The few entries that are not packed, by their place. */
  readonly #others = new Map<number, Entry>();

  /** Holds entries from the index `first` on. */
  constructor(first: LogIndex, bytes: number) {
    this.first = first;
    this.#memory = Buffer.allocUnsafeSlow(bytes);
  }

  get last(): LogIndex {
    return this.first + this.#count - 1;
  }

  /** False when the page has no room for it. */
  push(entry: Entry): boolean {
    const place = this.#count;
    const start = this.#used;
    const isPacked = entry.kind === 'data' && entry.data.length <= this.#memory.length * largeShare;
    const length = isPacked ? entry.data.length : 0;
    if (place === entriesMax || start + length > this.#memory.length) return false;
    if (isPacked) this.#memory.set(entry.data, start);
    else this.#others.set(place, entry);
    this.#starts[place] = start;
    this.#lengths[place] = length;
    this.#terms[place] = entry.term;
    this.#count = place + 1;
    this.#used = start + length;
    return true;
  }

  at(index: LogIndex): Entry {
    const place = this.#placeOf(index);
    const other = this.#others.get(place);
    if (other !== undefined) return other;
    const start = this.#starts[place] as number;
    const data = this.#memory.subarray(start, start + (this.#lengths[place] as number));
    return {kind: 'data', term: this.#terms[place] as number, data};
  }

  /** The same as `entryBytes` of the entry. */
  bytesAt(index: LogIndex): number {
    const place = this.#placeOf(index);
    const length = this.#lengths[place] as number;
    return entryBytes(this.#others.get(place) ?? {kind: 'data', term: 0, data: {length}});
  }

  /** Lets go of the last entry. */
  pop(): void {
    this.#count--;
    this.#others.delete(this.#count);
  }

  #placeOf(index: LogIndex): number {
    assert(index >= this.first && index <= this.last, 'the entry is on this page');
    return index - this.first;
  }
}
