/**
 * A family of indexes: what catalog/index-families.ts declares of it, what its entries are, and how
 * they are searched.
 *
 * The entries are the truth of an index. They follow from the record by one pure function, which
 * writes, builds, bulk loads, CHECK DATABASE and its mending all ask; what is stored, compared
 * between members, backed up and dropped are keys like others, of which no family is asked.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {DeclaredFamily, FamilyTable} from '#server/catalog/index-families.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Rid, Value} from '#server/model/value.ts';
import type {Reader} from '#server/storage/store.ts';
import type {IndexedRecord, IndexKey} from './index-parts.ts';
import type {ScoredRid} from './ranked/best-records.ts';
import type {Effort} from './ranked/effort.ts';

/**
 * The entries of a record under an index, appended to `out` and good as long as nobody clears that.
 * `declared` is `declaredParts` of the index's type.
 *
 * @throws {Refusal} `value.validation` for a record that may not be indexed so.
 */
export type EntriesOf = (
  index: IndexDefinition,
  declared: readonly (DataType | undefined)[],
  rid: Rid,
  record: IndexedRecord,
  out: ByteWriter,
) => readonly IndexKey[];

/** What a search is given. `K` is what the family keeps of an index. */
export interface SearchSource<K = unknown> {
  /** A snapshot, or a transaction with its own writes on top. */
  readonly reader: Reader;
  readonly index: IndexDefinition;
  /** What is kept for this snapshot; undefined: nothing that is kept may be used. */
  readonly kept: K | undefined;
  readonly effort: Effort;
  /** Undefined: none are at hand. */
  readonly settings: Settings | undefined;
  /** Told of a search whose records were split into so many parts. */
  readonly onSplit?: ((parts: number) => void) | undefined;
}

/** What a search is asked. `Q` is a query as the family understands it. */
export interface SearchRequest<Q = unknown> {
  readonly query: Q;
  /** Infinity: all that match. */
  readonly k: number;
  /** Others are not among the `k`. */
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
  /** All that `accept` takes lies in these. */
  readonly buckets?: ReadonlySet<number> | undefined;
}

/** How the indexes of a family are searched. */
export interface RankedFamily<Q = unknown, K = unknown> {
  /** The query that a statement gives as a value. @throws {Refusal} for what is none. */
  queryOf(value: Value): Q;
  /**
   * The answer follows from the reader alone: best first, of equal scores the lesser record id.
   *
   * @throws {Refusal} for a query that the index cannot answer, and what `effort` throws.
   */
  search(source: SearchSource<K>, request: SearchRequest<Q>): readonly ScoredRid[];
}

export interface IndexFamily extends DeclaredFamily {
  readonly entriesOf: EntriesOf;
  /** Present where the declaration says `isRanked`. */
  readonly ranked?: RankedFamily;
}

export type IndexFamilies = FamilyTable<IndexFamily>;
