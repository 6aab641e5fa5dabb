/**
 * Where a search reads from: the postings of one full-text index as of one snapshot.
 *
 * Implemented by the entries of the store and by what is kept of them in memory; in tests by plain
 * lists. Fields are numbers in the order of the index's properties.
 */
import type {FieldStatistics} from './similarity.ts';
import type {PostingList} from './posting-list.ts';

export interface TextSource {
  statistics(field: number): FieldStatistics;
  /** Empty where no record has the term. */
  postings(field: number, term: string): PostingList;
  /**
   * Terms of the field that begin so, in the order of their UTF-8 bytes; some may have no records
   * any more. Whoever has seen enough returns.
   */
  terms(field: number, prefix: string): Iterable<string>;
  /** The first term of the field, in that order, that is not before `from`. */
  termFrom(field: number, from: string): string | undefined;
  /** Where in the field the term stands, ascending; of an index with positions. */
  positions(field: number, term: string, record: PostingPlace): readonly number[];
}

export interface PostingPlace {
  readonly bucket: number;
  readonly position: number;
}
