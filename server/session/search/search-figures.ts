/** What one node knows of the search indexes of a database, for people and metrics. */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {IndexCaches} from '#server/caches/index-caches.ts';
import type {SearchCounts} from '#server/caches/search-counts.ts';

export interface SearchIndexFigures {
  readonly index: string;
  /** FULL_TEXT, LSM_VECTOR or LSM_SPARSE_VECTOR. */
  readonly type: string;
  /** Its build is done: searches are answered. */
  readonly ready: boolean;
  /** Searches on the network thread since the database was opened. */
  readonly searches: number;
  /** Parts that searches of many postings were split into, all of them together. */
  readonly parts: number;
  /** Decoded lists in memory, of words or of dimensions. */
  readonly lists: number;
  /** Vectors in the graph of neighbours; 0 until the index was searched. */
  readonly vectors: number;
  /** Vectors that are still compared one by one. */
  readonly waiting: number;
  readonly memoryBytes: number;
}

/**
 * Figures of the search indexes, by name, on types that `mayRead` answers true for. Cost: a look at
 * what is kept of each.
 */
export function searchIndexFigures(
  catalog: Catalog,
  {
    searches,
    search,
  }: {
    readonly searches: SearchCounts;
    readonly search: IndexCaches;
  },
  mayRead: (typeId: number) => boolean,
): readonly SearchIndexFigures[] {
  return catalog.indexes
    .filter(index => catalog.families.of(index).isRanked && mayRead(index.typeId))
    .map(({id, name, kind, state}) => {
      const {lists = 0, vectors = 0, waiting = 0, bytes = 0} = search.figuresOf(id) ?? {};
      return {
        index: name,
        type: catalog.families.of({kind}).typeName,
        ready: state === 'ready',
        searches: searches.of(id),
        parts: searches.partsOf(id),
        lists,
        vectors,
        waiting,
        memoryBytes: bytes,
      };
    });
}
