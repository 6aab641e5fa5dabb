/**
 * The entries of a range of an index, from the pages that are kept of it where there are any, and
 * from the store in between, where it makes such pages if that pays (caches/index-pages.ts).
 *
 * Pages serve `nextNumbers` alone. Whoever asks for entries one by one reads the store.
 */
import {compareBytes} from '#server/base/utf8.ts';
import {EntryCursor, type IndexSearch} from '#server/indexes/range.ts';
import {RowWalker} from '#server/indexes/row-walker.ts';
import {indexRange} from '#server/layout/index-key.ts';
import {isWholeNumberType} from '#server/model/data-type.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import {type IndexPage, PageBuilder} from '#server/caches/index-pages.ts';
import type {IndexPageCache, RunPages} from '#server/caches/index-page-cache.ts';
import type {EntrySource, IndexEntry, IndexSpan} from '../graph.ts';

/** Nobody else builds in the same turn. */
const builder = new PageBuilder();

export interface EntryRange {
  readonly reader: ReadContext;
  readonly search: IndexSearch;
  readonly span: IndexSpan;
}

/** Undefined: the store has to be read, since others may see other entries, or none are kept. */
export function keptEntries(
  cache: IndexPageCache | undefined,
  {reader, search, span}: EntryRange,
): EntrySource | undefined {
  const {id, properties} = search.index;
  if (cache === undefined || !search.family.isOrdered) return undefined;
  if (properties.some(({by}) => by !== undefined)) return undefined;
  if (reader.overlays(indexRange(id))) return undefined;
  const others = search.declared.findIndex(type => !isWholeNumberType(type));
  const columnCount = others < 0 ? search.declared.length : others;
  const pages = cache.open(id, columnCount, reader.snapshotIndex);
  return pages && new KeptEntries(pages, {reader, search, span});
}

class KeptEntries implements EntrySource {
  readonly #pages: RunPages;
  readonly #entries: EntryRange;
  /** What comes next has this key or one above it. */
  #at: Uint8Array;
  readonly #end: Uint8Array;
  #page: IndexPage | undefined;
  #row = 0;
  #rowEnd = 0;
  /** Reads the store up to `#cursorEnd`. */
  #cursor: EntryCursor | undefined;
  #cursorEnd: Uint8Array;

  constructor(pages: RunPages, entries: EntryRange) {
    this.#pages = pages;
    this.#entries = entries;
    const {start, end} = entries.search.bytesOf(entries.span);
    this.#at = start;
    this.#end = end;
    this.#cursorEnd = end;
  }

  next(max: number): readonly IndexEntry[] | undefined {
    if (this.#page !== undefined && this.#row < this.#rowEnd) this.#at = this.#page.key(this.#row);
    this.#page = undefined;
    for (;;) {
      const found = this.#cursor?.nextEntries(max);
      if (found !== undefined) return found;
      if (!this.#hasMore()) return undefined;
      this.#read(this.#end);
    }
  }

  nextNumbers(into: readonly (Float64Array | undefined)[], max: number): number | undefined {
    for (;;) {
      const count =
        this.#cursor === undefined ? this.#give(into, max) : this.#cursor.nextNumbers(into, max);
      if (count !== undefined) {
        this.#pages.took(count);
        return count;
      }
      if (!this.#hasMore()) return undefined;
      if (into.length > this.#pages.columnCount) this.#read(this.#end);
      else this.#open();
    }
  }

  close(): void {
    this.#cursor?.close();
  }

  /** Leaves what was read to its end. */
  #hasMore(): boolean {
    if (this.#cursor !== undefined) this.#at = this.#cursorEnd;
    else if (this.#page !== undefined) this.#at = this.#page.end;
    this.#cursor = undefined;
    this.#page = undefined;
    return compareBytes(this.#at, this.#end) < 0;
  }

  /** The next rows of the page; undefined when there are none. */
  #give(into: readonly (Float64Array | undefined)[], max: number): number | undefined {
    const columns = this.#page?.columns;
    const from = this.#row;
    const count = Math.min(max, this.#rowEnd - from);
    if (columns === undefined || count === 0) return undefined;
    for (const [part, numbers] of into.entries()) {
      numbers?.set((columns[part] as Float64Array).subarray(from, from + count));
    }
    this.#row += count;
    return count;
  }

  #open(): void {
    const pages = this.#pages;
    const page = pages.at(this.#at) ?? (pages.mayBuild(this.#at) ? this.#build() : undefined);
    if (page?.columns === undefined) {
      const gapEnd = page?.end ?? pages.gapEnd(this.#at) ?? this.#end;
      this.#read(compareBytes(gapEnd, this.#end) < 0 ? gapEnd : this.#end);
      return;
    }
    this.#page = page;
    this.#row = page.rowOf(this.#at);
    this.#rowEnd = compareBytes(page.end, this.#end) <= 0 ? page.count : page.rowOf(this.#end);
  }

  #read(end: Uint8Array): void {
    const {reader, search} = this.#entries;
    const walker = new RowWalker(reader, [{start: this.#at, end}]);
    this.#cursor = new EntryCursor(walker, search);
    this.#cursorEnd = end;
  }

  /** A page from here on, up to the next one at most. */
  #build(): IndexPage {
    const {reader, search} = this.#entries;
    const {id, unique} = search.index;
    const start = this.#at;
    const limit = this.#pages.gapEnd(start) ?? indexRange(id).end;
    const walker = new RowWalker(reader, [{start, end: limit}]);
    builder.begin(this.#pages.columnCount);
    let end = limit;
    try {
      while (walker.next()) {
        const {bytes, keyStart, keyEnd} = walker;
        if (!builder.isFull && builder.add(unique, walker)) continue;
        end = Uint8Array.prototype.slice.call(bytes, keyStart, keyEnd);
        break;
      }
    } finally {
      walker.close();
    }
    return this.#pages.keep(builder.finish(start, end));
  }
}
