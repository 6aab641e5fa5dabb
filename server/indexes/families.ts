/**
 * The server's own families of indexes: their declarations with what their entries are and how
 * they are searched. What is kept beside them stands in caches/index-families.ts.
 */
import {Refusal} from '#server/base/errors.ts';
import {declared} from '#server/catalog/index-families.ts';
import {denseEntries} from './dense-entries.ts';
import {type DenseRequest, type NearSource, searchDense} from './dense-search.ts';
import type {IndexFamily, RankedFamily} from './index-family.ts';
import {keyedEntries} from './index-parts.ts';
import type {KeptLists} from './kept-lists.ts';
import {numbersOf, sparseEntries} from './sparse-entries.ts';
import {searchSparseIndex, type SparseRequest} from './sparse-index.ts';
import {textEntries} from './text-entries.ts';
import {searchTextIndex, type TextRequest} from './text-index.ts';

export type TextAsked = TextRequest['query'];
export type SparseAsked = Pick<SparseRequest, 'dimensions' | 'weights'>;
export type DenseAsked = Pick<DenseRequest, 'vector' | 'efSearch' | 'among' | 'maxDistance'>;

const textSearch: RankedFamily<TextAsked, KeptLists> = {
  queryOf(value) {
    if (typeof value === 'string') return {text: value, fields: undefined};
    throw new Refusal('argument', 'a full-text search needs a text as its query');
  },
  search: searchTextIndex,
};

const sparseSearch: RankedFamily<SparseAsked, KeptLists> = {
  queryOf(value) {
    const [dimensions, weights] = Array.isArray(value) ? value.map(numbersOf) : [];
    if (dimensions !== undefined && weights !== undefined) return {dimensions, weights};
    throw new Refusal(
      'argument',
      'a search of a sparse vector index needs dimensions and their weights, two lists in a list',
    );
  },
  search: (source, {query, ...request}) => searchSparseIndex(source, {...query, ...request}),
};

const denseSearch: RankedFamily<DenseAsked, NonNullable<NearSource['near']>> = {
  queryOf(value) {
    const numbers = numbersOf(value);
    if (numbers !== undefined) return {vector: Float32Array.from(numbers)};
    throw new Refusal('argument', 'a search of a vector index needs a list of numbers');
  },
  search: ({kept: near, ...source}, {query, ...request}) =>
    searchDense({...source, near}, {...query, ...request}),
};

export const families = {
  ordered: {...declared.ordered, entriesOf: keyedEntries},
  hash: {...declared.hash, entriesOf: keyedEntries},
  text: {...declared.text, entriesOf: textEntries, ranked: textSearch},
  dense: {...declared.dense, entriesOf: denseEntries, ranked: denseSearch},
  sparse: {...declared.sparse, entriesOf: sparseEntries, ranked: sparseSearch},
} as const satisfies Record<string, IndexFamily>;
