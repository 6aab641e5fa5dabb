/** What is kept in memory of one database, made together and given up together. */
import type {Settings} from '#server/base/setting-values.ts';
import type {Clock, Timers} from '#server/platform/clock.ts';
import type {Database} from '#server/engine/database.ts';
import {AdjacencyCache} from '#server/caches/adjacency-cache.ts';
import {ColumnCache} from '#server/caches/column-cache.ts';
import {IndexPageCache} from '#server/caches/index-page-cache.ts';
import {PostingListCache} from '#server/caches/posting-list-cache.ts';
import type {DerivedCaches} from '#server/caches/derived-caches.ts';
import {SearchCounts} from '#server/caches/search-counts.ts';
import type {GraphFiles} from '#server/caches/vector-graph.ts';
import {VectorGraphs} from '#server/caches/vector-graphs.ts';
import {CacheMemory} from '#server/caches/cache-memory.ts';

/** Memory that the caches of all databases of a server may use together. */
export class ServerCacheMemory {
  readonly edges: CacheMemory;
  readonly columns: CacheMemory;
  /** Decoded lists of search indexes. */
  readonly lists: CacheMemory;
  /** Graphs of dense vector indexes. */
  readonly vectors: CacheMemory;
  readonly sparseWindow: () => number;
  readonly columnRecordsMin: () => number;
  /** Where graphs of vectors lie while the server is down, by the number of the database. */
  readonly graphFiles: ((databaseId: number) => GraphFiles) | undefined;

  constructor(settings: () => Settings, graphFiles?: (databaseId: number) => GraphFiles) {
    this.graphFiles = graphFiles;
    this.edges = new CacheMemory(() => settings().get('svc.graphViewMemoryMax'));
    this.columns = new CacheMemory(() => settings().get('svc.columnViewMemoryMax'));
    this.lists = new CacheMemory(() => settings().get('svc.searchMemoryMax'));
    this.vectors = new CacheMemory(() => settings().get('svc.vectorIndexMemoryMax'));
    this.sparseWindow = () => settings().get('svc.sparseVectorScoringWindow');
    this.columnRecordsMin = () => settings().get('svc.columnViewRecordsMin');
  }

  /** Lets go of everything: the memory is needed for answers. */
  dropAll(): void {
    this.edges.dropAll();
    this.columns.dropAll();
    this.lists.dropAll();
    this.vectors.dropAll();
  }
}

export class DatabaseCaches implements DerivedCaches {
  readonly adjacency: AdjacencyCache;
  readonly columns: ColumnCache;
  readonly indexes: IndexPageCache;
  readonly lists: PostingListCache;
  readonly vectors: VectorGraphs;
  readonly searches = new SearchCounts();
  readonly #memory: ServerCacheMemory;

  constructor(
    database: Database,
    {clock, timers}: {readonly clock: Clock; readonly timers: Timers},
    memory: ServerCacheMemory,
  ) {
    this.#memory = memory;
    this.adjacency = new AdjacencyCache({database, clock, timers, memory: memory.edges});
    this.columns = new ColumnCache(database, memory.columns, memory.columnRecordsMin);
    this.lists = new PostingListCache(database, memory.lists, memory.sparseWindow);
    this.vectors = new VectorGraphs({
      database,
      clock,
      timers,
      memory: memory.vectors,
      files: memory.graphFiles?.(database.id),
    });
    this.indexes = new IndexPageCache(database, memory.columns, memory.columnRecordsMin);
  }

  /** Whether there is any memory for lists of words or graphs of vectors. */
  get isSearchKept(): boolean {
    return this.#memory.lists.bytesMax > 0 || this.#memory.vectors.bytesMax > 0;
  }

  close(): void {
    this.adjacency.close();
    this.columns.close();
    this.indexes.close();
    this.lists.close();
    this.vectors.close();
  }
}
