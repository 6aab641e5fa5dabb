/**
 * The families of indexes: what may be declared of each, and what a plan may ask of it.
 *
 * A row a family; indexes/entries.ts says what entries a record has, indexes/search/ how ranked
 * families are searched. `IndexDefinition.options` holds METADATA as `readOptions` gives it back:
 * checked, in the order of the table, without what is by default. See
 * docs/design/0037-search-indexes.md.
 */
import {Refusal} from '#server/base/errors.ts';
import type {MapValue} from '#server/model/value.ts';
import type {CatalogType} from './catalog-type.ts';
import type {IndexDefinition, IndexKind, IndexProperty} from './definition.ts';
import {
  denseOptionTable,
  denseProperties,
  requireDenseOptions,
  sparseOptionTable,
  sparseProperties,
} from './vector-options.ts';
import {type OptionTable, readOptions} from './option-table/option-table.ts';
import {textOptionTable, textProperties} from './text-options.ts';

export interface IndexFamily {
  /** What tables of the schema and answers call it. */
  readonly typeName: string;
  /** Its entries begin with the indexed values: it answers equality. */
  readonly isKeyed: boolean;
  /** ... in their order: it answers ranges and gives rows in order. */
  readonly isOrdered: boolean;
  /** It answers the best `k` records of a search. */
  readonly isRanked: boolean;
  /** The options of METADATA; undefined: the family takes none. */
  readonly options: ((properties: readonly IndexProperty[]) => OptionTable) | undefined;
  /** @throws {Refusal} for properties that it cannot index. */
  readonly checkProperties: (type: CatalogType, properties: readonly IndexProperty[]) => void;
}

const keyed = {isKeyed: true, isRanked: false, options: undefined, checkProperties: () => {}};
const ranked = {isKeyed: false, isOrdered: false, isRanked: true};

export const indexFamilies: Readonly<Record<IndexKind, IndexFamily>> = {
  ordered: {...keyed, typeName: 'LSM_TREE', isOrdered: true},
  hash: {...keyed, typeName: 'HASH', isOrdered: false},
  text: {
    ...ranked,
    typeName: 'FULL_TEXT',
    options: textOptionTable,
    checkProperties: textProperties,
  },
  sparse: {
    ...ranked,
    typeName: 'LSM_SPARSE_VECTOR',
    options: () => sparseOptionTable,
    checkProperties: sparseProperties,
  },
  dense: {
    ...ranked,
    typeName: 'LSM_VECTOR',
    options: () => denseOptionTable,
    checkProperties: denseProperties,
  },
};

export function familyOf({kind}: Pick<IndexDefinition, 'kind'>): IndexFamily {
  return indexFamilies[kind];
}

/**
 * METADATA as an index keeps it; undefined where all is by default.
 *
 * @throws {Refusal} `argument` for a family that takes none, an unknown key and a bad value.
 */
export function indexOptions(
  kind: IndexKind,
  metadata: MapValue | undefined,
  properties: readonly IndexProperty[],
): MapValue | undefined {
  const {typeName, options} = indexFamilies[kind];
  if (options === undefined) {
    if (metadata === undefined) return undefined;
    throw new Refusal('argument', `Index type '${typeName}' takes no METADATA`);
  }
  const read = readOptions(typeName, options(properties), metadata ?? new Map());
  if (kind === 'dense') requireDenseOptions(read);
  return read.size === 0 ? undefined : read;
}
