/**
 * Searches of dense vector indexes: the nearest records of a vector, of examples, of pairs.
 *
 * An index is named, or spelt `Type[property]`: then a subtype of the index's type restricts the
 * search to its records. Records are read through the statement's graph, with its rights.
 */
import {denseQuery} from '#server/indexes/ranked-search.ts';
import {Refusal} from '#server/base/errors.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {type RankedTarget, rankedTarget, spelledIndex} from '#server/catalog/change-index.ts';
import {denseOptionsOf} from '#server/catalog/vector-options.ts';
import {ridText} from '#server/model/rid.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {MapValue, RecordValue, Rid, Value} from '#server/model/value.ts';
import {describe, plainText} from '../../expressions/arithmetic.ts';
import {isSame} from '../../expressions/strict-operators.ts';
import {itemsOf} from '../../expressions/access.ts';
import {argument, singleRid} from '../arguments.ts';
import type {CallContext} from '../../context.ts';
import type {FunctionFamily, TableFunction} from '../../function-registry.ts';
import {effortOf} from '../searches.ts';
import {compareRanked} from './fusion.ts';
import {float, optionRefusal, Options, recordRow, vectorOf} from './vector-arguments.ts';
import {cosine} from './vector-numbers.ts';
import {Groups} from './vector-ranking.ts';

/** More are not answered by one search. */
const countMax = 100_000;
const efSearchMax = 10_000;

/** @throws {Refusal} for a name that is no dense vector index. */
function denseTarget(name: string, {catalog}: CallContext): RankedTarget {
  const target = rankedTarget(catalog, name, 'dense');
  if (target !== undefined) {
    const {index} = target;
    if (index.kind === 'dense') return target;
    throw optionRefusal(
      `Index '${name}' is ${catalog.families.of(index).typeName}, not LSM_VECTOR`,
    );
  }
  const spelt = spelledIndex(name);
  if (spelt === undefined) {
    throw new Refusal('schema.unknown-index', `Index with name '${name}' was not found`);
  }
  const {name: typeName} = catalog.requireType(spelt.typeName);
  throw optionRefusal(
    `No vector index found on property '${spelt.properties.join()}' for type '${typeName}' or ` +
      'its parent types',
  );
}

export interface NearRequest {
  readonly k: number;
  readonly efSearch?: number | undefined;
  readonly among?: readonly Rid[] | undefined;
  readonly maxDistance?: number | undefined;
}

export interface NearRecord {
  readonly record: RecordValue;
  readonly distance: number;
}

/** The nearest records that still exist for the statement, nearest first. */
export function nearestRecords(
  {index, only}: RankedTarget,
  vector: Float32Array,
  {k, efSearch, among, maxDistance}: NearRequest,
  call: CallContext,
): readonly NearRecord[] {
  const found = call.graph.ranked(
    index.name,
    {query: denseQuery({vector, efSearch, among, maxDistance}), k, only: only?.name},
    effortOf(call.budget),
  );
  const records = call.graph.records(found.map(({rid}) => rid));
  return found.flatMap(({score}, at) => {
    const record = records[at];
    return record === undefined ? [] : [{record, distance: score === 0 ? 0 : -score}];
  });
}

const neighborOptions = ['efSearch', 'filter', 'groupBy', 'groupSize', 'maxDistance'];

function neighbors(args: readonly Value[], call: CallContext): Value {
  return neighborRows('vector.neighbors', args, call).map(({record, distance}) =>
    recordRow(record, 'distance', distance),
  );
}

function neighborRows(
  name: string,
  args: readonly Value[],
  call: CallContext,
): readonly NearRecord[] {
  const target = denseTarget(plainText(argument(args, 0)), call);
  const vector = queryVector(target.index, argument(args, 1), name, call);
  const k = countOf(argument(args, 2), name);
  const last = argument(args, 3);
  const options = new Options(name, isNumberValue(last) ? null : last, neighborOptions);
  const efSearch = isNumberValue(last)
    ? breadthOf(last, name)
    : options.whole('efSearch', 0, 1, efSearchMax);
  const among = options.list('filter')?.map(item => ridOf(item, `${name} filter`));
  const maxDistance =
    options.get('maxDistance') === null ? undefined : options.number('maxDistance', 0);
  const wish = {k, efSearch: efSearch || undefined, among, maxDistance};
  const groups = new Groups(options);
  return groups.limited
    ? groupedNeighbors(target, vector, wish, {options, call})
    : nearestRecords(target, vector, wish, call);
}

/** `k` groups of records: more and more are searched, until there are so many. */
function groupedNeighbors(
  target: RankedTarget,
  vector: Float32Array,
  wish: NearRequest,
  {options, call}: {readonly options: Options; readonly call: CallContext},
): readonly NearRecord[] {
  for (let searched = 4 * wish.k; ; searched *= 4) {
    const found = nearestRecords(target, vector, {...wish, k: Math.min(searched, countMax)}, call);
    const groups = new Groups(options, wish.k);
    const rows = found.filter(({record}) => groups.admits(record));
    if (groups.isFull || found.length < searched) return rows;
  }
}

function countOf(value: Value, name: string): number {
  const k = isNumberValue(value) ? numberOf(value) : Number.NaN;
  if (Number.isInteger(k) && k >= 1 && k <= countMax) return k;
  throw optionRefusal(`${name} needs a k of 1 to ${countMax}, not ${describe(value)}`);
}

function breadthOf(value: Value, name: string): number {
  const ef = isNumberValue(value) ? numberOf(value) : Number.NaN;
  if (Number.isInteger(ef) && ef >= 1 && ef <= efSearchMax) return ef;
  throw optionRefusal(`${name} needs an efSearch of 1 to ${efSearchMax}, not ${describe(value)}`);
}

function ridOf(value: Value, what: string): Rid {
  const rid = singleRid(value);
  if (rid !== undefined) return rid;
  throw optionRefusal(`${what} must contain record ids, not ${describe(value)}`);
}

/** The vector itself, or that of the record which the index's id property names. */
function queryVector(
  index: IndexDefinition,
  key: Value,
  name: string,
  call: CallContext,
): Float32Array {
  if (itemsOf(key) !== undefined) return vectorOf(key, `${name}()`);
  if (key === null) throw optionRefusal(`${name} needs a vector or the key of a record`);
  const property = index.properties[0]?.name ?? '';
  const record = singleRid(typeof key === 'string' ? null : key);
  const found = record === undefined ? recordOfKey(index, key, call) : call.graph.record(record);
  const value = found?.get(property) ?? null;
  if (value !== null) return vectorOf(value, `${name}()`);
  throw optionRefusal(
    `Could not find a record with key '${plainText(key).slice(0, 100)}' and a vector`,
  );
}

function recordOfKey(
  index: IndexDefinition,
  key: Value,
  call: CallContext,
): RecordValue | undefined {
  const {graph, catalog, budget} = call;
  const {idPropertyName} = denseOptionsOf(index);
  const type = catalog.typeById(index.typeId);
  const byKey = type?.indexes.find(
    ({properties, state, kind}) =>
      state === 'ready' &&
      properties.length === 1 &&
      properties[0]?.name === idPropertyName &&
      catalog.families.of({kind}).isKeyed,
  );
  if (byKey !== undefined) return graph.records(graph.indexPoint(byKey.name, [key]))[0];
  const source = graph.scanType(type?.name ?? '', true, {descending: false});
  try {
    for (let part = source.next(1024); part !== undefined; part = source.next(1024)) {
      const found = part.find(record => isSame(record.get(idPropertyName) ?? null, key));
      if (found !== undefined) return found;
      budget.spend(part.length + 1);
    }
    return undefined;
  } finally {
    source.close();
  }
}

const recommendOptions = ['efSearch', 'groupBy', 'groupSize'];

/** The nearest to the mean of the good examples less that of the bad ones; none of them itself. */
function recommend(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.recommend';
  const target = denseTarget(plainText(argument(args, 0)), call);
  const good = examplesOf(argument(args, 1), `${name} positives`);
  const bad = examplesOf(argument(args, 2), `${name} negatives`);
  if (good.length === 0) {
    throw optionRefusal(`${name} requires at least one positive example RID`);
  }
  const k = countOf(argument(args, 3), name);
  const options = new Options(name, argument(args, 4), recommendOptions);
  const property = target.index.properties[0]?.name ?? '';
  const center = meanOf(good, property, name, call);
  if (center === undefined) return [];
  const away = meanOf(bad, property, name, call);
  const vector = away === undefined ? center : center.map((x, at) => x - (away[at] ?? 0));
  const examples = new Set([...good, ...bad].map(ridText));
  const efSearch = options.whole('efSearch', 0, 1, efSearchMax) || undefined;
  const wish = {k: k + examples.size, efSearch};
  const groups = new Groups(options, k);
  const found = groups.limited
    ? groupedNeighbors(target, vector, wish, {options, call})
    : nearestRecords(target, vector, wish, call);
  return found
    .filter(({record}) => !examples.has(ridText(record.rid)) && groups.admits(record))
    .slice(0, groups.limited ? countMax : k)
    .map(({record, distance}) => recordRow(record, 'distance', distance));
}

function examplesOf(value: Value, what: string): readonly Rid[] {
  if (value === null) return [];
  return (itemsOf(value) ?? [value]).map(item => ridOf(item, what));
}

function meanOf(
  rids: readonly Rid[],
  property: string,
  name: string,
  call: CallContext,
): Float32Array | undefined {
  const vectors = call.graph.records(rids).flatMap(record => vectorIn(record, property, name));
  const [first] = vectors;
  if (first === undefined) return undefined;
  if (vectors.some(({length}) => length !== first.length)) {
    throw optionRefusal(`${name} examples have vectors of different dimensions`);
  }
  return first.map(
    (_, at) => vectors.reduce((sum, vector) => sum + (vector[at] ?? 0), 0) / vectors.length,
  );
}

function vectorIn(
  record: RecordValue | undefined,
  property: string,
  name: string,
): readonly Float32Array[] {
  const value = record?.get(property) ?? null;
  return value === null ? [] : [vectorOf(value, `${name}()`)];
}

const discoverOptions = ['efSearch', 'overfetch'];
const overfetchUsual = 5;

/**
 * Records that lie nearer to the first than to the second of each pair: the sum of the differences
 * of the cosines, among the nearest to the sum of the differences of the vectors.
 */
function discover(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.discover';
  const target = denseTarget(plainText(argument(args, 0)), call);
  const pairs = pairsOf(argument(args, 1), name);
  const k = countOf(argument(args, 2), name);
  const options = new Options(name, argument(args, 3), discoverOptions);
  const pool = k * options.whole('overfetch', overfetchUsual, 1);
  if (pool > countMax) {
    throw optionRefusal(`${name} overfetch would request ${pool} candidates (cap ${countMax})`);
  }
  const property = target.index.properties[0]?.name ?? '';
  const known = pairs.flatMap(([one, other]) => {
    const [toward, away] = call.graph.records([one, other]);
    const [good] = vectorIn(toward, property, name);
    const [bad] = vectorIn(away, property, name);
    return good === undefined || bad === undefined ? [] : [[good, bad] as const];
  });
  const [first] = known;
  if (first === undefined) return [];
  const seed = first[0].map((_, at) =>
    known.reduce((sum, [good, bad]) => sum + (good[at] ?? 0) - (bad[at] ?? 0), 0),
  );
  const efSearch = options.whole('efSearch', 0, 1, efSearchMax) || undefined;
  const examples = new Set(pairs.flat().map(ridText));
  const ranked = nearestRecords(target, seed, {k: pool, efSearch}, call)
    .filter(({record}) => !examples.has(ridText(record.rid)))
    .flatMap(({record, distance}) =>
      vectorIn(record, property, name).map(vector => {
        const score = known.reduce(
          (sum, [good, bad]) => sum + cosine(vector, good) - cosine(vector, bad),
          0,
        );
        return {record, distance, rid: record.rid, score: Math.fround(score)};
      }),
    );
  return ranked
    .sort(compareRanked)
    .slice(0, k)
    .map(({record, distance, score}): MapValue => {
      const row = new Map(recordRow(record, 'distance', distance));
      for (const [key, value] of recordRow(record, 'score', score)) row.set(key, value);
      return row;
    });
}

function pairsOf(value: Value, name: string): readonly (readonly [Rid, Rid])[] {
  const pairs = itemsOf(value)?.map(pair => {
    const rids = itemsOf(pair)?.map(item => ridOf(item, `${name} pairs`));
    const [one, other] = rids ?? [];
    if (rids?.length === 2 && one !== undefined && other !== undefined)
      return [one, other] as const;
    throw optionRefusal(`${name} each pair must have exactly 2 entries (positive, negative)`);
  });
  if (pairs !== undefined && pairs.length > 0) return pairs;
  throw optionRefusal(`${name} requires at least one (positive, negative) pair`);
}

/** `CALL db.index.vector.queryNodes(index, k, vector)`: scores of 0 to 1, greater is nearer. */
const queryNodes: TableFunction = {
  outputs: ['node', 'score'],
  *rows([name = null, k = null, vector = null], context) {
    const args = [name, vector, k];
    const {index} = denseTarget(plainText(name), context);
    const {similarity} = denseOptionsOf(index);
    for (const {record, distance} of neighborRows('db.index.vector.queryNodes', args, context)) {
      yield [record, float(scoreOfDistance(distance, similarity))];
    }
  },
};

function scoreOfDistance(distance: number, similarity: string): number {
  if (similarity === 'EUCLIDEAN') return 1 / (1 + distance);
  return similarity === 'COSINE' ? 1 - distance / 2 : (1 - distance) / 2;
}

export const vectorSearches: FunctionFamily = {
  scalars: {
    'vector.neighbors': neighbors,
    'vector.recommend': recommend,
    'vector.discover': discover,
  },
  tables: {
    'db.index.vector.queryNodes': queryNodes,
    'vector.neighborNodes': {
      outputs: ['node', 'distance'],
      *rows(args, context) {
        for (const {record, distance} of neighborRows('vector.neighbors', args, context)) {
          yield [record, float(distance)];
        }
      },
    },
  },
};
