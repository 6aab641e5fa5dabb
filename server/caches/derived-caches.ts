/**
 * All that is kept in memory of one database to answer reads faster. What is missing is read from
 * the store; answers are the same with and without.
 */
import type {ColumnCache} from './column-cache.ts';
import type {IndexPageCache} from './index-page-cache.ts';
import type {PostingListCache} from './posting-list-cache.ts';
import type {SearchCounts} from './search-counts.ts';
import type {PackedAdjacency} from './shared-adjacency.ts';
import type {VectorGraphs} from './vector-graphs.ts';

export interface DerivedCaches {
  readonly adjacency: PackedAdjacency | undefined;
  readonly columns: ColumnCache | undefined;
  readonly indexes: IndexPageCache | undefined;
  /** The posting lists of search indexes. */
  readonly lists: PostingListCache | undefined;
  /** The graphs of dense vector indexes. */
  readonly vectors: VectorGraphs | undefined;
  readonly searches: SearchCounts | undefined;
}

export const noCaches: DerivedCaches = {
  adjacency: undefined,
  columns: undefined,
  indexes: undefined,
  lists: undefined,
  vectors: undefined,
  searches: undefined,
};
