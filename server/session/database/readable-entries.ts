/** Entries of an index, of those records alone that may be read. */
import type {IndexEntry, Source} from '#server/execution/graph.ts';
import type {RecordValue, Rid} from '#server/model/value.ts';

/**
 * The values of an entry are those of its record, so the record is asked for as if it were read.
 *
 * @param read - The records of ids; undefined for one that is not there for the reader.
 */
export function readableEntries(
  source: Source<IndexEntry>,
  read: (rids: readonly Rid[]) => readonly (RecordValue | undefined)[],
): Source<IndexEntry> {
  return {
    next(max) {
      for (;;) {
        const entries = source.next(max);
        if (entries === undefined) return undefined;
        const records = read(entries.map(({rid}) => rid));
        const kept = entries.filter((_entry, at) => records[at] !== undefined);
        if (kept.length > 0) return kept;
      }
    },
    close: () => source.close(),
  };
}
