/**
 * What is kept of the indexes of one database (index-pages.ts), and for which store snapshots it
 * holds.
 *
 * Pages are read by the runs that walk through an index and profit (execution/stored/), each from
 * the snapshot of its run. The change feed ends the page between whose keys an entry is written, in
 * the turn in which that is appended, so nobody is given a page that shows another state than his
 * own. A page that was given stays right for its run, since it is never written to.
 *
 * Why so: docs/design/0026-pages-of-indexes.md.
 *
 * Invariant W3: a page that is given to a run shows exactly the entries of the run's snapshot.
 */
import {indexIdOf, indexRange} from '#server/layout/index-key.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import type {Database} from '#server/engine/database.ts';
import {IndexPages, type IndexPage, type PageParts} from './index-pages.ts';
import type {CacheMemory} from './cache-memory.ts';

/** A page takes no more, but for long keys. */
const pageBytesUsual = 64 << 10;

export class IndexPageCache {
  readonly #database: Database;
  readonly #memory: CacheMemory;
  readonly #entriesMin: () => number;
  readonly #indexes = new Map<number, IndexPages>();
  #feed: ChangeSubscription | undefined;

  /** @param entriesMin - Nothing is kept of an index before runs have asked for so many entries. */
  constructor(database: Database, memory: CacheMemory, entriesMin: () => number) {
    this.#database = database;
    this.#memory = memory;
    this.#entriesMin = entriesMin;
  }

  /**
   * The pages of an index for one run, whose first `columnCount` parts hold whole numbers as they
   * are; undefined where nothing may be kept. Begins to listen when nobody has yet.
   */
  open(indexId: number, columnCount: number, snapshot: number): RunPages | undefined {
    if (this.#memory.bytesMax === 0 || columnCount === 0) return undefined;
    this.#feed ??= this.#database.onChange(this.#listener());
    let pages = this.#indexes.get(indexId);
    if (pages?.columnCount !== columnCount) {
      if (pages !== undefined) this.#end(pages);
      pages = new IndexPages(columnCount, this.#feed.lastIndex);
      this.#indexes.set(indexId, pages);
    }
    return new RunPages(pages, this.#memory, snapshot, this.#entriesMin());
  }

  /** Stops to listen and lets go of everything. */
  close(): void {
    this.#feed?.end();
    this.#feed = undefined;
    for (const pages of this.#indexes.values()) this.#end(pages);
    this.#indexes.clear();
  }

  #listener(): ChangeListener {
    return {
      indexChanged: (bytes, at, end, index) => {
        const pages = this.#indexes.get(indexIdOf(bytes, at));
        const page = pages?.changed(bytes.subarray(at, end), index);
        if (page !== undefined) this.#drop(page);
      },
      rangeEmptied: (start, end, index) => {
        for (const [indexId, pages] of this.#indexes) {
          const range = indexRange(indexId);
          const isApart =
            Buffer.compare(end, range.start) <= 0 || Buffer.compare(range.end, start) <= 0;
          if (isApart) continue;
          pages.emptied(index);
          this.#dropAll(pages);
        }
      },
    };
  }

  /** What a run that is under way reads into them no other is given. */
  #end(pages: IndexPages): void {
    pages.emptied(Number.POSITIVE_INFINITY);
    this.#dropAll(pages);
  }

  #dropAll({pages}: IndexPages): void {
    for (let last = pages.at(-1); last !== undefined; last = pages.at(-1)) this.#drop(last);
  }

  #drop(page: IndexPage): void {
    this.#memory.forget(page);
    page.drop();
  }
}

/** The pages of one index as of one snapshot. */
export class RunPages {
  readonly #pages: IndexPages;
  readonly #memory: CacheMemory;
  readonly #snapshot: number;
  readonly #entriesMin: number;
  readonly #run: number;

  constructor(pages: IndexPages, memory: CacheMemory, snapshot: number, entriesMin: number) {
    this.#pages = pages;
    this.#memory = memory;
    this.#snapshot = snapshot;
    this.#entriesMin = entriesMin;
    this.#run = memory.beginRun();
  }

  get columnCount(): number {
    return this.#pages.columnCount;
  }

  /** The page around `key`, if it shows the run's snapshot. */
  at(key: Uint8Array): IndexPage | undefined {
    const page = this.#pages.at(key);
    if (page === undefined || this.#snapshot < page.stableFrom) return undefined;
    this.#memory.hold(page, page.bytes, this.#run);
    return page;
  }

  /** How far the store has to be asked from `key`, where `at` gives nothing: undefined, no end. */
  gapEnd(key: Uint8Array): Uint8Array | undefined {
    return this.#pages.at(key)?.end ?? this.#pages.startBehind(key);
  }

  /** Whether a page may be read where `at` gives nothing. */
  mayBuild(key: Uint8Array): boolean {
    return (
      this.#pages.mayBuild(this.#snapshot, this.#entriesMin) &&
      this.#pages.at(key) === undefined &&
      this.#memory.makeRoom(pageBytesUsual, this.#run)
    );
  }

  /** Keeps what was read in this turn, after `mayBuild`. */
  keep(parts: PageParts): IndexPage {
    const page = this.#pages.keep(parts);
    this.#memory.hold(page, page.bytes, this.#run);
    return page;
  }

  /** The run was given so many entries, from wherever. */
  took(entries: number): void {
    this.#pages.took(entries);
  }
}
