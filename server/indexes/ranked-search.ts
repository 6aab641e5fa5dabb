/**
 * The search of a ranked index: one entry point for every family that has one.
 *
 * The answer is exact as of the reader, best first, of equal scores the lesser record id.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {IndexDefinition, IndexKind} from '#server/catalog/definition.ts';
import type {DenseAsked, SparseAsked, TextAsked} from './families.ts';
import type {IndexFamilies, SearchRequest, SearchSource} from './index-family.ts';
import type {ScoredRid} from './ranked/best-records.ts';

/** What is looked for. */
export type RankedQuery =
  /** A query as one family understands it. */
  | {readonly kind: IndexKind; readonly asked: unknown}
  /** A value of a statement, which the family of the index reads. */
  | {readonly value: Value};

export interface RankedRequest extends Omit<SearchRequest, 'query'> {
  readonly query: RankedQuery;
}

export type {ScoredRid} from './ranked/best-records.ts';
export type {Effort} from './ranked/effort.ts';
export type {LikeOptions} from './text/like-query.ts';

export function textQuery(asked: TextAsked): RankedQuery {
  return {kind: 'text', asked};
}

export function sparseQuery(asked: SparseAsked): RankedQuery {
  return {kind: 'sparse', asked};
}

export function denseQuery(asked: DenseAsked): RankedQuery {
  return {kind: 'dense', asked};
}

/** @throws {Refusal} for a query of another family, one that cannot be read, and the budget's. */
export function searchRanked(
  source: SearchSource,
  {query, ...request}: RankedRequest,
  families: IndexFamilies,
): readonly ScoredRid[] {
  requireReady(source.index);
  const {ranked, typeName} = families.of(source.index);
  if ('kind' in query) requireFamily(source.index, query.kind, families);
  if (ranked === undefined) {
    throw new Refusal('argument', `Index '${source.index.name}' is ${typeName}: it has no search`);
  }
  const asked = 'kind' in query ? query.asked : ranked.queryOf(query.value);
  return ranked.search(source, {...request, query: asked});
}

function requireReady({name, state}: IndexDefinition): void {
  if (state === 'ready') return;
  throw new Refusal(
    'index.not-ready',
    `index '${name}' is being built: it answers searches once it is ready`,
    {detail: {index: name}},
  );
}

function requireFamily(index: IndexDefinition, wanted: IndexKind, families: IndexFamilies): void {
  if (index.kind === wanted) return;
  const {typeName} = families.of(index);
  throw new Refusal(
    'argument',
    `Index '${index.name}' is ${typeName}, not ${families.of({kind: wanted}).typeName}`,
    {detail: {index: index.name}},
  );
}
