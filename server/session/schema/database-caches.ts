/** What is kept in memory of one database, made together and given up together. */
import type {Database} from '#server/engine/database.ts';
import {AdjacencyCache} from '#server/caches/adjacency-cache.ts';
import {ColumnCache} from '#server/caches/column-cache.ts';
import {IndexCaches, type IndexCachesOptions} from '#server/caches/index-caches.ts';
import {IndexPageCache} from '#server/caches/index-page-cache.ts';
import type {DerivedCaches} from '#server/caches/derived-caches.ts';
import {SearchCounts} from '#server/caches/search-counts.ts';
import {columnsShare, edgesShare} from '#server/caches/memory-shares.ts';

export class DatabaseCaches implements DerivedCaches {
  readonly adjacency: AdjacencyCache;
  readonly columns: ColumnCache;
  readonly indexes: IndexPageCache;
  readonly search: IndexCaches;
  readonly searches = new SearchCounts();

  constructor(database: Database, options: IndexCachesOptions) {
    const {memory, clock, timers} = options;
    const columns = memory.of(columnsShare);
    const recordsMin = (): number => memory.settings().get('svc.columnViewRecordsMin');
    this.adjacency = new AdjacencyCache({database, clock, timers, memory: memory.of(edgesShare)});
    this.columns = new ColumnCache(database, columns, recordsMin);
    this.indexes = new IndexPageCache(database, columns, recordsMin);
    this.search = new IndexCaches(database, options);
  }

  close(): void {
    this.adjacency.close();
    this.columns.close();
    this.indexes.close();
    this.search.close();
  }
}
