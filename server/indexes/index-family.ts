/**
 * A family of indexes: what catalog/index-families.ts declares of it, and what its entries are.
 *
 * The entries are the truth of an index. They follow from the record by one pure function, which
 * writes, builds, bulk loads, CHECK DATABASE and its mending all ask; what is stored, compared
 * between members, backed up and dropped are keys like others, of which no family is asked.
 */
import type {ByteWriter} from '#server/base/byte-writer.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {DeclaredFamily, FamilyTable} from '#server/catalog/index-families.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {Rid} from '#server/model/value.ts';
import type {IndexedRecord, IndexKey} from './index-parts.ts';

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

export interface IndexFamily extends DeclaredFamily {
  readonly entriesOf: EntriesOf;
}

export type IndexFamilies = FamilyTable<IndexFamily>;
