/**
 * What is kept in memory of the lists of a search index, as the search sees it.
 *
 * A list is all entries with one prefix, decoded. `caches/posting-list-cache.ts` keeps lists for
 * snapshots of the store; where it may not be used there is none, and entries are read each time.
 */

/** A decoded list; never changed. */
export interface KeptList {
  readonly bytes: number;
}

/**
 * A list as of an older snapshot, and whose entries may be different in the snapshot of the search.
 */
export interface FoundList {
  readonly list: KeptList;
  readonly changed: readonly ChangedRecord[];
}

/** Changed records come in the order of record ids. */
export interface ChangedRecord {
  readonly bucket: number;
  readonly position: number;
}

/** The lists of one index as of one snapshot. */
export interface KeptLists {
  /** @param prefix - One character a byte, as of all names of lists. */
  find(prefix: string): FoundList | undefined;
  /** The list as the snapshot shows it. */
  keep(prefix: string, list: KeptList): void;
  /** Names of things derived from several lists (the terms of a field); as `find`. */
  findTerms(prefix: string): readonly string[] | undefined;
  keepTerms(prefix: string, terms: readonly string[]): void;
}
