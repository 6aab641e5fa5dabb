/**
 * The families of indexes: what may be declared of each, and what a plan may ask of it.
 *
 * A row a family. The rows here are declarations alone; indexes/index-family.ts adds what entries
 * a record has and how they are searched, caches/index-families.ts what is kept beside them. A
 * server is given one table of whole rows, and each catalog sees of it what stands here.
 * `IndexDefinition.options` holds METADATA as `readOptions` gives it back: checked, in the order of
 * the table, without what is by default. See docs/design/0037-search-indexes.md.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption, Refusal} from '#server/base/errors.ts';
import type {DataType} from '#server/model/data-type.ts';
import type {MapValue} from '#server/model/value.ts';
import type {CatalogType} from './catalog-type.ts';
import type {IndexDefinition, IndexKind, IndexProperty} from './definition.ts';
import {
  denseOptionTable,
  denseProperties,
  requireDenseOptions,
  sparseOptionTable,
  sparseProperties,
  vectorTraits,
} from './vector-options.ts';
import {type OptionTable, readOptions} from './option-table/option-table.ts';
import {textOptionsOf, textOptionTable, textProperties} from './text-options.ts';

export interface DeclaredFamily {
  /** What definitions of its indexes call it. Stored: it never changes. */
  readonly kind: IndexKind;
  /** What tables of the schema and answers call it. */
  readonly typeName: string;
  /** The word of CREATE INDEX that makes one, in upper case. */
  readonly word: string;
  /** The word that makes a unique one; absent: none is unique. */
  readonly uniqueWord?: string;
  /** `CREATE word INDEX` of Cypher; absent: it has none of its own. */
  readonly cypher?: {
    readonly word: string;
    /** What undeclared properties are declared as; more of them than types as the last one. */
    readonly types: readonly DataType[];
  };
  /** What SHOW INDEXES of Cypher calls it. */
  readonly shownType: string;
  /** Its entries begin with the indexed values: it answers equality. */
  readonly isKeyed: boolean;
  /** ... in their order: it answers ranges and gives rows in order. */
  readonly isOrdered: boolean;
  /** It answers the best `k` records of a search. */
  readonly isRanked: boolean;
  /** What tables of the schema tell of an index besides; absent: nothing. */
  readonly traits?: (index: IndexDefinition) => MapValue;
  /** What a score of a search is reckoned by, as EXPLAIN says it; absent: there is one way. */
  readonly scoringOf?: (index: IndexDefinition) => string;
  /** The options of METADATA; absent: the family takes none. */
  readonly options?: (properties: readonly IndexProperty[]) => OptionTable;
  /** @throws {Refusal} for options that do not go together. */
  readonly checkOptions?: (options: MapValue) => void;
  /** @throws {Refusal} for properties that it cannot index. */
  readonly checkProperties?: (type: CatalogType, properties: readonly IndexProperty[]) => void;
}

/** The rows of families, made once and never changed. */
export class FamilyTable<F extends DeclaredFamily> {
  readonly #rows: ReadonlyMap<IndexKind, F>;

  constructor(rows: readonly F[]) {
    this.#rows = new Map(rows.map(row => [row.kind, row]));
    const words = rows.flatMap(row => [row.word, row.uniqueWord ?? row.word]);
    const isClear = this.#rows.size === rows.length && rows.every(row => isOwn(row, words));
    assert(isClear, 'each family of indexes has a kind and words of its own');
  }

  get all(): readonly F[] {
    return [...this.#rows.values()];
  }

  has(kind: IndexKind): boolean {
    return this.#rows.has(kind);
  }

  /** The family of an index. Cost: a look-up. @throws {Corruption} for one that is not known. */
  of({kind}: Pick<IndexDefinition, 'kind'>): F {
    const family = this.#rows.get(kind);
    if (family !== undefined) return family;
    throw new Corruption(`there is an index of family '${kind}', which is not known here`);
  }

  /** What a word of CREATE INDEX makes; case does not matter. */
  ofWord(word: string): {readonly family: F; readonly unique: boolean} | undefined {
    const upper = word.toUpperCase();
    for (const family of this.all) {
      if (family.word === upper) return {family, unique: false};
      if (family.uniqueWord === upper) return {family, unique: true};
    }
    return undefined;
  }

  /** What a word of Cypher makes on so many properties, where several families share the word. */
  ofCypherWord(word: string, propertyCount: number): F | undefined {
    const sharing = this.all.filter(({cypher}) => cypher?.word === word);
    return sharing.find(({cypher}) => cypher?.types.length === propertyCount) ?? sharing.at(-1);
  }
}

export type DeclaredFamilies = FamilyTable<DeclaredFamily>;

function isOwn({word, uniqueWord}: DeclaredFamily, words: readonly string[]): boolean {
  const isOnce = (one: string): boolean => words.filter(each => each === one).length === 1;
  if (uniqueWord !== undefined) return isOnce(word) && isOnce(uniqueWord);
  return words.filter(each => each === word).length === 2;
}

const keyed = {isKeyed: true, isRanked: false} as const;
const ranked = {isKeyed: false, isOrdered: false, isRanked: true} as const;

/** The rows of the server's own families. */
export const declared = {
  ordered: {
    ...keyed,
    kind: 'ordered',
    typeName: 'LSM_TREE',
    shownType: 'RANGE',
    word: 'NOTUNIQUE',
    uniqueWord: 'UNIQUE',
    isOrdered: true,
  },
  hash: {
    ...keyed,
    kind: 'hash',
    typeName: 'HASH',
    shownType: 'HASH',
    word: 'NOTUNIQUE_HASH',
    uniqueWord: 'UNIQUE_HASH',
    isOrdered: false,
  },
  text: {
    ...ranked,
    kind: 'text',
    typeName: 'FULL_TEXT',
    shownType: 'FULLTEXT',
    word: 'FULL_TEXT',
    cypher: {word: 'FULLTEXT', types: ['STRING']},
    options: textOptionTable,
    scoringOf: index => textOptionsOf(index).similarity,
    checkProperties: textProperties,
  },
  dense: {
    ...ranked,
    kind: 'dense',
    typeName: 'LSM_VECTOR',
    shownType: 'VECTOR',
    word: 'LSM_VECTOR',
    cypher: {word: 'VECTOR', types: ['ARRAY_OF_FLOATS']},
    traits: vectorTraits,
    options: () => denseOptionTable,
    checkOptions: requireDenseOptions,
    checkProperties: denseProperties,
  },
  sparse: {
    ...ranked,
    kind: 'sparse',
    typeName: 'LSM_SPARSE_VECTOR',
    shownType: 'SPARSE_VECTOR',
    word: 'LSM_SPARSE_VECTOR',
    cypher: {word: 'VECTOR', types: ['ARRAY_OF_INTEGERS', 'ARRAY_OF_FLOATS']},
    traits: vectorTraits,
    options: () => sparseOptionTable,
    checkProperties: sparseProperties,
  },
} as const satisfies Record<string, DeclaredFamily>;

export const declaredFamilies: DeclaredFamilies = new FamilyTable<DeclaredFamily>(
  Object.values(declared),
);

/**
 * METADATA as an index keeps it; undefined where all is by default.
 *
 * @throws {Refusal} `argument` for a family that takes none, an unknown key and a bad value.
 */
export function indexOptions(
  {typeName, options, checkOptions}: DeclaredFamily,
  metadata: MapValue | undefined,
  properties: readonly IndexProperty[],
): MapValue | undefined {
  if (options === undefined) {
    if (metadata === undefined) return undefined;
    throw new Refusal('argument', `Index type '${typeName}' takes no METADATA`);
  }
  const read = readOptions(typeName, options(properties), metadata ?? new Map());
  checkOptions?.(read);
  return read.size === 0 ? undefined : read;
}
