/**
 * What is kept in memory beside the entries of search indexes, for one database.
 *
 * Each family says what it keeps of an index and which share of the server's memory that may take
 * (`CachedFamily`); here it is made where an index is searched first, told of every entry that
 * changes, and given up with the database. What is missing is read from the entries: answers are
 * the same with and without.
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {FamilyTable} from '#server/catalog/index-families.ts';
import type {Database} from '#server/engine/database.ts';
import type {IndexFamily} from '#server/indexes/index-family.ts';
import {indexIdOf, indexRange} from '#server/layout/index-key.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {ChangeListener, ChangeSubscription} from '#server/transactions/change-feed.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {ReadContext} from '#server/transactions/transaction-contract.ts';
import type {CacheMemory} from './cache-memory.ts';
import type {MemoryShare, ServerCacheMemory} from './memory-shares.ts';

/** Where what is kept lies while the server is down. What is lost is made again. */
export interface IndexFiles {
  read(indexId: number): Uint8Array | undefined;
  /** Atomic: whoever reads finds the old bytes or the new ones. */
  write(indexId: number, bytes: Uint8Array): void;
  remove(indexId: number): void;
  /** What was read is not of the index: it is told of, counted and removed. */
  refuse(indexId: number): void;
}

/** The files of all databases of a server. */
export interface IndexFolders {
  /** @param databaseId - The number that the database keeps for ever. */
  of(databaseId: number): IndexFiles;
  /** How many were refused since the start. */
  readonly damaged: number;
}

export interface IndexCacheEnvironment {
  readonly database: Database;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly memory: CacheMemory;
  /** Told of memory that searches read here and there, as it grows. */
  readonly askLargePages?: ((bytes: Uint8Array) => void) | undefined;
  readonly files: IndexFiles | undefined;
  /** Entries of the log above it are told of; of older snapshots nothing is known. */
  readonly heardSince: LogIndex;
  /** The newest that was told of before the cache was there. */
  readonly lastIndex: LogIndex;
}

export interface IndexCacheFigures {
  /** Decoded lists, of words or of dimensions. */
  readonly lists?: number;
  /** Vectors in a graph of neighbours. */
  readonly vectors?: number;
  /** Entries that are still compared one by one. */
  readonly waiting?: number;
  readonly bytes: number;
}

/** What is kept of one index. It may be dropped at any time, and made again. */
export interface IndexCache {
  /** What one search over the snapshot may use; undefined: nothing that is kept holds for it. */
  open(reader: ReadContext): unknown;
  /** Makes what it will keep now, rather than when the index is first searched. */
  begin?(): void;
  /** The entry with the key [at, end) was put or deleted by the log's `index`; bytes borrowed. */
  entryChanged(bytes: Uint8Array, at: number, end: number, index: LogIndex): void;
  /** Every entry may be another one. */
  emptied(index: LogIndex): void;
  readonly figures: IndexCacheFigures;
  /** Lets go of everything. */
  close(): void;
}

/** How a family keeps something of an index. */
export interface IndexCacheKind {
  readonly share: MemoryShare;
  make(index: IndexDefinition, environment: IndexCacheEnvironment): IndexCache;
}

/** A family of indexes with all that belongs to it. */
export interface CachedFamily extends IndexFamily {
  /** Absent: searches read the entries. */
  readonly cache?: IndexCacheKind;
}

export type CachedFamilies = FamilyTable<CachedFamily>;

export interface IndexCachesOptions extends Pick<IndexCacheEnvironment, 'clock' | 'timers'> {
  readonly families: CachedFamilies;
  readonly memory: ServerCacheMemory;
  readonly files: IndexFiles | undefined;
}

export class IndexCaches {
  readonly #database: Database;
  readonly #options: IndexCachesOptions;
  readonly #caches = new Map<number, IndexCache>();
  #feed: ChangeSubscription | undefined;

  constructor(database: Database, options: IndexCachesOptions) {
    this.#database = database;
    this.#options = options;
  }

  get settings(): Settings {
    return this.#options.memory.settings();
  }

  /** Whether any family has memory to keep something in. */
  get isOn(): boolean {
    const {families, memory} = this.#options;
    return families.all.some(({cache}) => cache !== undefined && memory.of(cache.share).isOn);
  }

  /**
   * What a search of the index over a snapshot may use (`IndexCache.open`), if anything is kept.
   */
  open(index: IndexDefinition, reader: ReadContext): unknown {
    return this.#of(index)?.open(reader);
  }

  /** The index is ready: what its options ask for at once is made in the background. */
  begin(index: IndexDefinition): void {
    if (index.options?.get('buildGraphNow') === true) this.#of(index)?.begin?.();
  }

  #of(index: IndexDefinition): IndexCache | undefined {
    const {families, memory} = this.#options;
    const {cache: kind} = families.of(index);
    if (kind === undefined || !memory.of(kind.share).isOn) return undefined;
    return this.#caches.get(index.id) ?? this.#make(index, kind);
  }

  /** Undefined where nothing of the index is kept. */
  figuresOf(indexId: number): IndexCacheFigures | undefined {
    return this.#caches.get(indexId)?.figures;
  }

  close(): void {
    this.#feed?.end();
    this.#feed = undefined;
    for (const cache of this.#caches.values()) cache.close();
    this.#caches.clear();
  }

  /** Begins to listen when nobody has yet. */
  #make(index: IndexDefinition, kind: IndexCacheKind): IndexCache {
    const {clock, timers, files, memory} = this.#options;
    this.#feed ??= this.#database.onChange(this.#listener());
    const {heardSince, lastIndex} = this.#feed;
    const cache = kind.make(index, {
      database: this.#database,
      clock,
      timers,
      files,
      memory: memory.of(kind.share),
      askLargePages: memory.askLargePages,
      heardSince,
      lastIndex,
    });
    this.#caches.set(index.id, cache);
    return cache;
  }

  #listener(): ChangeListener {
    return {
      indexChanged: (bytes, at, end, index) => {
        this.#caches.get(indexIdOf(bytes, at))?.entryChanged(bytes, at, end, index);
      },
      rangeEmptied: (start, end, index) => {
        for (const [indexId, cache] of this.#caches) {
          const range = indexRange(indexId);
          const isApart =
            Buffer.compare(end, range.start) <= 0 || Buffer.compare(range.end, start) <= 0;
          if (!isApart) cache.emptied(index);
        }
      },
    };
  }
}
