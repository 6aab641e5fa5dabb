/**
 * The pages that are kept of one index: neighbouring entries, their whole numbers as columns.
 *
 * A page is everything between two keys, as of one state of the store, and never changes: an
 * entry that is written between its keys ends it. What lies between pages is in the store alone.
 * Where the entries have other values than whole numbers a page says just that.
 *
 * Account: what is read in order to make pages never exceeds what runs have asked for by more
 * than a page. So keeping costs at most as much again as not to keep, whatever is asked and
 * written.
 */
import {ByteWriter} from '#server/base/byte-writer.ts';
import {assert} from '#server/base/assert.ts';
import {compareBytes} from '#server/base/utf8.ts';
import {type ViewedEntry, wholeNumbersOfEntry} from '#server/layout/index-key.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {Droppable} from './cache-memory.ts';

/** The most that a page holds. */
export const entriesPerPage = 1_024;
/** What was asked for longer ago counts half. */
const accountMax = 1 << 20;
/** Bytes of a page beside its numbers and keys. */
const bytesPerPage = 512;

export interface PageParts {
  /** Keys from the one, included, to the other, excluded. */
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  /** The leading part of each key, NaN for null; undefined: the entries have other values. */
  readonly columns: readonly Float64Array[] | undefined;
  /** The keys, one behind the other, and where each begins; the last place is their end. */
  readonly keys: Buffer;
  readonly places: Uint32Array;
}

export class IndexPage implements Droppable {
  readonly start: Uint8Array;
  readonly end: Uint8Array;
  readonly columns: readonly Float64Array[] | undefined;
  /** It shows the entries of every snapshot from here on, until it is dropped. */
  readonly stableFrom: LogIndex;
  readonly #keys: Buffer;
  readonly #places: Uint32Array;
  readonly #owner: IndexPages;

  constructor(parts: PageParts, stableFrom: LogIndex, owner: IndexPages) {
    this.start = parts.start;
    this.end = parts.end;
    this.columns = parts.columns;
    this.stableFrom = stableFrom;
    this.#keys = parts.keys;
    this.#places = parts.places;
    this.#owner = owner;
  }

  get count(): number {
    return this.#places.length - 1;
  }

  get bytes(): number {
    const numbers = this.count * 8 * (this.columns?.length ?? 0);
    return bytesPerPage + this.#keys.length + this.#places.byteLength + numbers;
  }

  key(row: number): Uint8Array {
    return this.#keys.subarray(this.#places[row], this.#places[row + 1]);
  }

  /** The first row whose key is not below `bound`. */
  rowOf(bound: Uint8Array): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const [from, to] = [this.#places[middle], this.#places[middle + 1]];
      if (compareBytes(bound, this.#keys, from, to) > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  drop(): void {
    this.#owner.remove(this);
  }
}

export class IndexPages {
  /** How many leading parts of the key a page has as columns. */
  readonly columnCount: number;
  /** The pages in their order; they do not overlap. */
  readonly #pages: IndexPage[] = [];
  /** The newest entry of the log that writes to the index, as far as was told. */
  #changedAt: LogIndex;
  #asked = 0;
  #built = 0;

  constructor(columnCount: number, changedAt: LogIndex) {
    this.columnCount = columnCount;
    this.#changedAt = changedAt;
  }

  get pages(): readonly IndexPage[] {
    return this.#pages;
  }

  /** The page in which `key` lies or would lie. Cost: the logarithm of the pages. */
  at(key: Uint8Array): IndexPage | undefined {
    const page = this.#pages[this.#placeBehind(key) - 1];
    return page !== undefined && compareBytes(key, page.end) < 0 ? page : undefined;
  }

  /** Where the first page behind `key` begins. */
  startBehind(key: Uint8Array): Uint8Array | undefined {
    return this.#pages[this.#placeBehind(key)]?.start;
  }

  /** A run was given so many entries. */
  took(entries: number): void {
    this.#asked += entries;
    if (this.#asked <= accountMax) return;
    this.#asked /= 2;
    this.#built /= 2;
  }

  /** Whether a page may be read from a snapshot, once runs have asked for `askedMin` entries. */
  mayBuild(snapshot: LogIndex, askedMin: number): boolean {
    const isPaidFor = this.#asked >= askedMin && this.#built <= this.#asked;
    return isPaidFor && snapshot >= this.#changedAt;
  }

  /** Keeps what was read from a snapshot for which `mayBuild` holds, in a place without pages. */
  keep(parts: PageParts): IndexPage {
    const page = new IndexPage(parts, this.#changedAt, this);
    this.#built += 1 + page.count;
    this.#pages.splice(this.#placeBehind(page.start), 0, page);
    return page;
  }

  remove(page: IndexPage): void {
    const place = this.#placeBehind(page.start) - 1;
    assert(this.#pages[place] === page, 'a page is dropped once');
    this.#pages.splice(place, 1);
  }

  /** The entry at `key` is about to be different; the page that ends by it, if there is one. */
  changed(key: Uint8Array, index: LogIndex): IndexPage | undefined {
    this.#changedAt = index;
    return this.#pages.length === 0 ? undefined : this.at(key);
  }

  /** All entries are about to be different. */
  emptied(index: LogIndex): void {
    this.#changedAt = index;
  }

  /** How many pages begin at `key` or before it. */
  #placeBehind(key: Uint8Array): number {
    let [low, high] = [0, this.#pages.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareBytes((this.#pages[middle] as IndexPage).start, key) <= 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Takes entries in their order, as long as they are of one sort, up to `entriesPerPage`. */
export class PageBuilder {
  readonly #keys = new ByteWriter(entriesPerPage * 32);
  readonly #places = new Uint32Array(entriesPerPage + 1);
  #columns: readonly Float64Array[] = [];
  #count = 0;
  /** Whether the values of the entries so far are whole numbers. */
  #isWhole = true;

  begin(columnCount: number): void {
    if (this.#columns.length !== columnCount) {
      this.#columns = Array.from({length: columnCount}, () => new Float64Array(entriesPerPage));
    }
    this.#keys.length = 0;
    this.#count = 0;
    this.#isWhole = true;
  }

  get isFull(): boolean {
    return this.#count === entriesPerPage;
  }

  /** False: the entry is of another sort than those before. Its bytes are copied. */
  add(unique: boolean, entry: ViewedEntry): boolean {
    const row = this.#count;
    const isWhole = wholeNumbersOfEntry(unique, entry, row, this.#columns);
    if (row > 0 && isWhole !== this.#isWhole) return false;
    this.#isWhole = isWhole;
    const {bytes, keyStart, keyEnd} = entry;
    const keys = this.#keys;
    keys.reserve(keyEnd - keyStart);
    keys.bytes.set(bytes.subarray(keyStart, keyEnd), keys.length);
    keys.length += keyEnd - keyStart;
    this.#count++;
    this.#places[this.#count] = keys.length;
    return true;
  }

  /** What was added since `begin`, in memory of its own, as everything from `start` to `end`. */
  finish(start: Uint8Array, end: Uint8Array): PageParts {
    const count = this.#count;
    return {
      start,
      end,
      columns: this.#isWhole ? this.#columns.map(column => column.slice(0, count)) : undefined,
      keys: Buffer.from(this.#keys.bytes.subarray(0, this.#keys.length)),
      places: this.#places.slice(0, count + 1),
    };
  }
}
