/**
 * The search of a ranked index: one entry point for every family that has one.
 *
 * The answer is exact as of the reader, best first, of equal scores the lesser record id.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {IndexFamilies} from './index-family.ts';
import type {Rid, Value} from '#server/model/value.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import type {ScoredRid} from './ranked/best-records.ts';
import {searchDense, type NearSource} from './dense-search.ts';
import {searchSparseIndex} from './sparse-index.ts';
import {type IndexSource, searchTextIndex} from './text-index.ts';
import type {LikeOptions} from './text/like-query.ts';

/** What is looked for; each kind belongs to one family. */
export type RankedQuery =
  /** `fields`: words without a field are looked for in these only. */
  | {readonly kind: 'text'; readonly query: string; readonly fields?: readonly string[]}
  /** All words of the text, as the index's analyzer sees them. */
  | {readonly kind: 'text-words'; readonly words: string}
  /** What is like these texts: of each property of the index, in its order. */
  | {
      readonly kind: 'text-like';
      readonly texts: readonly (readonly Value[])[];
      readonly like: LikeOptions;
    }
  | {
      readonly kind: 'sparse';
      readonly dimensions: readonly number[];
      readonly weights: readonly number[];
    }
  | {
      readonly kind: 'dense';
      readonly vector: Float32Array;
      /** Candidates that are kept; undefined: as the index says. */
      readonly efSearch?: number | undefined;
      /** Only of these records. */
      readonly among?: readonly Rid[] | undefined;
      readonly maxDistance?: number | undefined;
    };

export interface RankedRequest {
  readonly query: RankedQuery;
  /** Infinity: all that match. */
  readonly k: number;
  /** Others are not among the `k`. */
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
  /** All that `accept` takes lies in these. */
  readonly buckets?: ReadonlySet<number> | undefined;
}

export type {NearSource} from './dense-search.ts';
export type {ScoredRid} from './ranked/best-records.ts';
export type {Effort} from './ranked/effort.ts';
export type {LikeOptions} from './text/like-query.ts';

/** The family that each kind of query is asked of. */
export const kindOfQuery: Readonly<Record<RankedQuery['kind'], 'text' | 'sparse' | 'dense'>> = {
  text: 'text',
  'text-words': 'text',
  'text-like': 'text',
  sparse: 'sparse',
  dense: 'dense',
};

/** @throws {Refusal} for a query of another family, one that cannot be read, and the budget's. */
export function searchRanked(
  source: IndexSource & NearSource,
  request: RankedRequest,
  families: IndexFamilies,
): readonly ScoredRid[] {
  requireReady(source.index);
  const {query, k, accept} = request;
  requireFamily(source.index, kindOfQuery[query.kind], families);
  switch (query.kind) {
    case 'text':
      return searchTextIndex(source, {query: {text: query.query, fields: query.fields}, k, accept});
    case 'text-words':
      return searchTextIndex(source, {query: {words: query.words}, k, accept});
    case 'text-like':
      return searchTextIndex(source, {query, k, accept});
    case 'sparse': {
      return searchSparseIndex(source, {...query, k, accept});
    }
    case 'dense': {
      return searchDense(source, {...query, k, accept, buckets: request.buckets});
    }
    default:
      return unreachable(query);
  }
}

function requireReady({name, state}: IndexDefinition): void {
  if (state === 'ready') return;
  throw new Refusal(
    'index.not-ready',
    `index '${name}' is being built: it answers searches once it is ready`,
    {detail: {index: name}},
  );
}

function requireFamily(
  index: IndexDefinition,
  wanted: 'text' | 'sparse' | 'dense',
  families: IndexFamilies,
): void {
  if (index.kind === wanted) return;
  const {typeName} = families.of(index);
  throw new Refusal(
    'argument',
    `Index '${index.name}' is ${typeName}, not ${families.of({kind: wanted}).typeName}`,
    {detail: {index: index.name}},
  );
}
