/**
 * All that is kept in memory of one database to answer reads faster. What is missing is read from
 * the store; answers are the same with and without.
 */
import type {ColumnViews} from './column-views.ts';
import type {IndexViews} from './index-views.ts';
import type {PackedAdjacency} from './shared-adjacency.ts';

export interface KeptViews {
  readonly adjacency: PackedAdjacency | undefined;
  readonly columns: ColumnViews | undefined;
  readonly indexes: IndexViews | undefined;
}

export const noViews: KeptViews = {adjacency: undefined, columns: undefined, indexes: undefined};
