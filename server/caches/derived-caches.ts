/**
 * All that is kept in memory of one database to answer reads faster. What is missing is read from
 * the store; answers are the same with and without.
 */
import type {ColumnCache} from './column-cache.ts';
import type {IndexCaches} from './index-caches.ts';
import type {IndexPageCache} from './index-page-cache.ts';
import type {SearchCounts} from './search-counts.ts';
import type {PackedAdjacency} from './shared-adjacency.ts';

export interface DerivedCaches {
  readonly adjacency: PackedAdjacency | undefined;
  readonly columns: ColumnCache | undefined;
  readonly indexes: IndexPageCache | undefined;
  /** What families of indexes keep beside the entries. */
  readonly search: IndexCaches | undefined;
  readonly searches: SearchCounts | undefined;
}

export const noCaches: DerivedCaches = {
  adjacency: undefined,
  columns: undefined,
  indexes: undefined,
  search: undefined,
  searches: undefined,
};
