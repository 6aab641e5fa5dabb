/** Searches a sparse vector index: reads the lists of the query's dimensions and ranks. */
import {sparseOptionsOf} from '#server/catalog/vector-options.ts';
import {
  appendDimensionPrefix,
  listPrefix,
  recordsDimension,
  weightOfEntry,
} from '#server/layout/posting-key.ts';
import {EntryLists, type ListKind} from './entry-lists.ts';
import type {ScoredRid} from './ranked/best-records.ts';
import type {SearchSource} from './index-family.ts';
import type {KeptLists} from './kept-lists.ts';
import {searchSparse} from './sparse/search-sparse.ts';
import {sparseVector} from './sparse/sparse-vector.ts';
import {WeightList, WeightListBuilder} from './sparse/weight-list.ts';

export interface SparseRequest {
  readonly dimensions: readonly number[];
  readonly weights: readonly number[];
  readonly k: number;
  readonly accept?: ((bucket: number, position: number) => boolean) | undefined;
}

/** Positions of one window where no setting is at hand. */
const windowRowsUsual = 16_384;
const partPostingsUsual = 50_000;
const partSetting = 'svc.sparseVectorScoringMinPostingsForPartitioning';
/** Least window that is worth its overhead. */
const windowRowsMin = 128;

/** The best `k` records: best first, of equal scores the lesser id. @throws {Refusal} */
export function searchSparseIndex(
  source: SearchSource<KeptLists>,
  request: SparseRequest,
): readonly ScoredRid[] {
  const {index, reader, kept, effort, settings} = source;
  const {dimensionCount, modifier} = sparseOptionsOf(index);
  const what = `the query of index '${index.name}'`;
  const query = sparseVector(request.dimensions, request.weights, {what, dimensionCount});
  const lists = new EntryLists(reader, kept, weightLists, effort);
  const weights = (dimension: number): WeightList =>
    lists.list(listPrefix(out => appendDimensionPrefix(out, index.id, dimension)));
  const {k, accept} = request;
  const rows = settings?.get('svc.sparseVectorScoringWindow') ?? windowRowsUsual;
  return searchSparse({
    query,
    source: {weights, records: modifier === 'IDF' ? weights(recordsDimension).count : 0},
    modifier,
    k,
    effort,
    windowRows: Math.max(rows, windowRowsMin),
    partPostings: settings?.get(partSetting) ?? partPostingsUsual,
    onSplit: source.onSplit,
    accept,
  });
}

const weightLists: ListKind<WeightList> = {
  builder() {
    const builder = new WeightListBuilder();
    return {
      add: ({bucket, position}, bytes, start, end) =>
        builder.add(bucket, position, weightOfEntry(bytes, start, end)),
      finish: () => builder.finish(),
    };
  },
  changed: (list, changed) =>
    list.changed(
      changed.map(({bucket, position, value}) => {
        const weight = value && weightOfEntry(value, 0, value.length);
        return {bucket, position, weight};
      }),
    ),
  isOne: (list): list is WeightList => list instanceof WeightList,
};
