/**
 * Options of the indexes of vectors, dense and sparse (docs/search.md).
 *
 * Sparse weights are kept as they are unless `weightQuantization` says INT8: the recorded
 * exchanges, made with the defaults, show scores that are exact. Options of a dense index's rebuild
 * and of its caches have one value here: the graph is kept up to date with every commit, so that
 * there is no rebuild to be put off. With `buildGraphNow` the graph is begun when the index is
 * ready, by the member that made it; else, and on the others, by the first search. A hierarchy is
 * the default, since clusters that are added one after the other are not found without it.
 */
import {Refusal} from '#server/base/errors.ts';
import {numberArrayTypes} from '#server/model/array-conversion.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {CatalogType} from './catalog-type.ts';
import type {IndexDefinition, IndexProperty} from './definition.ts';
import type {OptionRule, OptionTable} from './option-table/option-table.ts';

export const sparseOptionTable: OptionTable = new Map([
  ['dimensions', {kind: 'whole', default: 0, min: 0, max: 0xffff_ffff}],
  ['modifier', {kind: 'word', default: 'NONE', words: ['NONE', 'IDF']}],
  ['weightQuantization', {kind: 'word', default: 'NONE', words: ['NONE', 'INT8']}],
]);

export interface SparseOptions {
  /** Dimensions are less; 0: any. */
  readonly dimensionCount: number;
  readonly modifier: 'NONE' | 'IDF';
  readonly isQuantized: boolean;
}

export function sparseOptionsOf({options}: IndexDefinition): SparseOptions {
  return {
    dimensionCount: (options?.get('dimensions') as number | undefined) ?? 0,
    modifier: options?.get('modifier') === 'IDF' ? 'IDF' : 'NONE',
    isQuantized: options?.get('weightQuantization') === 'INT8',
  };
}

/** What the scores of a vector index mean. */
export function scoringOf(index: IndexDefinition): string {
  if (index.kind === 'dense') return `distance_lower_is_better:${denseOptionsOf(index).similarity}`;
  return sparseOptionsOf(index).modifier === 'IDF'
    ? 'score_higher_is_better:idf_weighted_dot_product'
    : 'score_higher_is_better:dot_product';
}

/** What tables of the schema tell of a vector index. */
export function vectorTraits(index: IndexDefinition): MapValue {
  const dimensions = index.options?.get('dimensions');
  const traits = new Map<string, Value>([['scoring', scoringOf(index)]]);
  return dimensions === undefined ? traits : new Map([['dimensions', dimensions], ...traits]);
}

/** What may hold vectors; a write of what is none is refused. */
const listTypes: ReadonlySet<string> = new Set(['ANY', 'LIST', ...numberArrayTypes]);

/** The dimensions, then their weights. */
export function sparseProperties(type: CatalogType, properties: readonly IndexProperty[]): void {
  const isPair =
    properties.length === 2 &&
    properties.every(({name, by, ignoreCase}) => {
      const property = type.properties.get(name);
      const isList = property !== undefined && listTypes.has(property.type);
      return isList && by === undefined && !ignoreCase;
    });
  if (isPair) return;
  throw new Refusal(
    'schema.conflict',
    'an LSM_SPARSE_VECTOR index is on two properties: the dimensions (a list or array of whole ' +
      'numbers) and their weights (a list or array of numbers)',
  );
}

const similarities = ['COSINE', 'DOT_PRODUCT', 'EUCLIDEAN'] as const;
const quantizations = ['NONE', 'INT8', 'BINARY', 'PRODUCT'] as const;

/** Takes its default alone: the machinery that it tunes elsewhere is not needed here. */
const unused: OptionRule = {kind: 'whole', default: -1, min: -1, max: -1};

export const dimensionsMax = 65_536;
/** Vectors that codes are learnt from. */
const trainingUsual = 8_192;
const subspacesMax = 512;

export const denseOptionTable: OptionTable = new Map<string, OptionRule>([
  ['dimensions', {kind: 'whole', default: 0, min: 1, max: dimensionsMax}],
  ['similarity', {kind: 'word', default: 'COSINE', words: similarities}],
  ['quantization', {kind: 'word', default: 'NONE', words: quantizations}],
  ['encoding', {kind: 'word', default: 'FLOAT32', words: ['FLOAT32']}],
  ['maxConnections', {kind: 'whole', default: 32, min: 4, max: 256}],
  ['beamWidth', {kind: 'whole', default: 100, min: 8, max: 10_000}],
  ['efSearch', {kind: 'whole', default: -1, min: -1, max: 10_000}],
  ['neighborOverflowFactor', {kind: 'number', default: 1.2, min: 1, max: 4}],
  ['alphaDiversityRelaxation', {kind: 'number', default: 1.2, min: 1, max: 4}],
  ['addHierarchy', {kind: 'boolean', default: true}],
  [
    'idPropertyName',
    {kind: 'text', default: 'id', read: text => text || undefined, known: ['a property']},
  ],
  ['pqSubspaces', {kind: 'whole', default: -1, min: -1, max: 512}],
  ['pqClusters', {kind: 'whole', default: 256, min: 2, max: 256}],
  // Centroids move along with the centre: codes and distances are the same with it and without.
  ['pqCenterGlobally', {kind: 'boolean', default: true}],
  ['pqTrainingLimit', {kind: 'whole', default: trainingUsual, min: 256, max: 128_000}],
  ['buildGraphNow', {kind: 'boolean', default: false}],
  ['storeVectorsInGraph', {kind: 'boolean', default: false}],
  ['locationCacheSize', unused],
  ['graphBuildCacheSize', unused],
  ['mutationsBeforeRebuild', unused],
  ['inactivityRebuildTimeoutMs', unused],
]);

export interface DenseIndexOptions {
  readonly dimensions: number;
  readonly similarity: (typeof similarities)[number];
  readonly quantization: (typeof quantizations)[number];
  /** How PRODUCT keeps vectors. */
  readonly product: {
    readonly subspaces: number;
    readonly clusters: number;
    readonly trainingLimit: number;
  };
  readonly maxConnections: number;
  readonly beamWidth: number;
  /** Undefined: as many as the number of vectors asks for. */
  readonly efSearch: number | undefined;
  readonly neighborOverflowFactor: number;
  readonly alphaDiversityRelaxation: number;
  readonly addHierarchy: boolean;
  /** Values of this property name records in searches. */
  readonly idPropertyName: string;
}

export function denseOptionsOf({options}: Pick<IndexDefinition, 'options'>): DenseIndexOptions {
  const given = <T>(key: string): T => {
    const rule = denseOptionTable.get(key);
    return (options?.get(key) ?? rule?.default) as T;
  };
  const efSearch = given<number>('efSearch');
  const dimensions = given<number>('dimensions');
  const subspaces = given<number>('pqSubspaces');
  return {
    dimensions,
    product: {
      subspaces: subspaces > 0 ? subspaces : subspacesUsual(dimensions),
      clusters: given('pqClusters'),
      trainingLimit: given('pqTrainingLimit'),
    },
    similarity: given('similarity'),
    quantization: given('quantization'),
    maxConnections: given('maxConnections'),
    beamWidth: given('beamWidth'),
    efSearch: efSearch > 0 ? efSearch : undefined,
    neighborOverflowFactor: given('neighborOverflowFactor'),
    alphaDiversityRelaxation: given('alphaDiversityRelaxation'),
    addHierarchy: given('addHierarchy'),
    idPropertyName: given('idPropertyName'),
  };
}

/** A byte for every four dimensions. */
function subspacesUsual(dimensions: number): number {
  return Math.min(subspacesMax, Math.max(1, dimensions >> 2));
}

/** @throws {Refusal} for options that do not go together. */
export function requireDenseOptions(options: MapValue): void {
  const dimensions = options.get('dimensions');
  if (typeof dimensions !== 'number') {
    throw new Refusal('argument', "An LSM_VECTOR index needs METADATA 'dimensions'");
  }
  if (options.get('storeVectorsInGraph') === true) {
    throw new Refusal(
      'argument',
      "METADATA 'storeVectorsInGraph' is false: the file of a graph holds no vectors, they are " +
        'entries of the index',
    );
  }
  const product = [...options.keys()].find(key => key.startsWith('pq'));
  if (product !== undefined && options.get('quantization') !== 'PRODUCT') {
    throw new Refusal('argument', `METADATA '${product}' is of quantization PRODUCT alone`);
  }
  const subspaces = options.get('pqSubspaces');
  if (typeof subspaces === 'number' && (subspaces > dimensions || subspaces === 0)) {
    throw new Refusal(
      'argument',
      `METADATA 'pqSubspaces' is at least 1 and at most the dimensions, not ${subspaces}`,
    );
  }
}

export function denseProperties(type: CatalogType, properties: readonly IndexProperty[]): void {
  const [first] = properties;
  const property = first && type.properties.get(first.name);
  const isVector = property !== undefined && listTypes.has(property.type);
  if (properties.length === 1 && isVector && first?.by === undefined && !first?.ignoreCase) return;
  throw new Refusal(
    'schema.conflict',
    'an LSM_VECTOR index is on one property that holds vectors: an array or list of numbers',
  );
}
