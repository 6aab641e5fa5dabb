/** Search indexes in the figures of `GET /server`: as `database.index`, where one may see it. */
import type {Principal} from '#server/security/principal.ts';
import type {SearchIndexFigures, Service} from '#server/session/session.ts';

const sparseTypeName = 'LSM_SPARSE_VECTOR';

/** All search indexes that the principal may read whole, and the sparse ones again. */
export function searchMetrics(
  service: Pick<Service, 'searchFigures'>,
  principal: Principal,
): Readonly<Record<string, unknown>> {
  const searchIndexes: Record<string, Omit<SearchIndexFigures, 'index'>> = {};
  for (const [database, indexes] of service.searchFigures(principal)) {
    for (const {index, ...figures} of indexes) searchIndexes[`${database}.${index}`] = figures;
  }
  const sparse = Object.entries(searchIndexes).filter(([, {type}]) => type === sparseTypeName);
  return {searchIndexes, sparseVectorIndexes: Object.fromEntries(sparse)};
}
