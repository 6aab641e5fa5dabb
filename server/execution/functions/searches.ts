/**
 * Searches of full-text and sparse vector indexes as functions.
 *
 * A predicate is asked record by record, but its index only once a run: what it finds is kept for
 * the run with the scores, which `fulltext.score` gives back. A plan that begins with the search
 * itself (optimizer, node `ranked`) need not ask it at all.
 */
import {Refusal} from '#server/base/errors.ts';
import {indexOfKind, type RankedTarget, rankedTarget} from '#server/catalog/change-index.ts';
import type {IndexDefinition} from '#server/catalog/definition.ts';
import {
  type Effort,
  type RankedQuery,
  type ScoredRid,
  sparseQuery,
  textQuery,
} from '#server/indexes/ranked-search.ts';
import {groupKey} from '#server/model/compare.ts';
import {jsonText} from '#server/model/json.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import {describe} from '../expressions/arithmetic.ts';
import {containsText} from '../expressions/containment.ts';
import type {Budget} from '../budget.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {argument, integerAt, namesFrom, refuse, singleRid, textAt} from './arguments.ts';
import {float, Options, recordRow} from './vectors/vector-arguments.ts';
import {sparseNumbers} from './search-options.ts';

export interface Found {
  /** The score of each record, keyed by `nameOf`. */
  readonly scores: ReadonlyMap<string, number>;
  /** The greatest score, of a search for records that are like others; else undefined. */
  readonly greatest: number | undefined;
}

/** What a record in the answer takes. */
const bytesPerRecord = 96;

/** What was found, keyed by run, then by index and query. */
const foundInRuns = new WeakMap<CallContext, Map<string, Found>>();

export function searchesOf(call: CallContext): Map<string, Found> {
  let searches = foundInRuns.get(call);
  if (searches === undefined) {
    searches = new Map();
    foundInRuns.set(call, searches);
  }
  return searches;
}

/** A search that is under way ends with its statement, and is not moved to another thread. */
export function effortOf(budget: Budget): Effort {
  let units = 0;
  return {
    spend(more) {
      units += more;
      if (units < 8_192) return;
      units = 0;
      if (budget.isOver) budget.look();
    },
  };
}

/** What the search of that name found, which is carried out once a run. */
export function foundOnce(call: CallContext, name: string, search: () => Found): Found {
  const searches = searchesOf(call);
  let found = searches.get(name);
  if (found === undefined) {
    found = search();
    searches.set(name, found);
  }
  return found;
}

/** All records that the index finds, kept in the memory of the run. */
export function rankedRecords(
  index: string,
  query: RankedQuery,
  call: CallContext,
): readonly ScoredRid[] {
  const rids = call.graph.ranked(
    index,
    {query, k: Number.POSITIVE_INFINITY},
    effortOf(call.budget),
  );
  call.budget.keep(rids.length * bytesPerRecord);
  return rids;
}

export function nameOf({bucket, position}: Rid): string {
  return `${bucket}:${position}`;
}

function matches(index: string, query: RankedQuery, record: Value, call: CallContext): boolean {
  const rid = singleRid(record);
  if (rid === undefined) return false;
  const asked = 'kind' in query ? JSON.stringify(query) : jsonText(query.value);
  const {scores} = foundOnce(call, JSON.stringify([index, asked]), () => {
    const rids = rankedRecords(index, query, call);
    return {
      scores: new Map(rids.map(({rid: own, score: of}) => [nameOf(own), of])),
      greatest: undefined,
    };
  });
  return scores.has(nameOf(rid));
}

export function queryAt(args: readonly Value[], at: number, name: string): string {
  const query = argument(args, at);
  if (typeof query === 'string') return query;
  return refuse(`${name} needs a text as its query, not ${describe(query)}`);
}

/** @throws {Refusal} for a name that is no full-text index. */
export function textIndexNamed(name: string, {catalog}: CallContext): IndexDefinition {
  const index = indexOfKind(catalog, name, 'text') ?? catalog.requireIndex(name);
  if (index.kind === 'text') return index;
  return refuse(`Index '${index.name}' is ${catalog.families.of(index).typeName}, not FULL_TEXT`);
}

/** The full-text index of the record's type on these properties: on no more where there is one. */
export function indexOnFields(
  fields: readonly string[],
  record: Value,
  call: CallContext,
  name = 'fulltext.searchFields',
): IndexDefinition {
  const value = record instanceof Rid ? call.graph.record(record) : record;
  if (!(value instanceof RecordValue)) {
    return refuse(`${name} needs a record, not ${describe(record)}`);
  }
  const indexes = call.catalog.type(value.typeName)?.indexes ?? [];
  const fitting = indexes
    .filter(index => index.kind === 'text' && fields.every(field => hasField(index, field)))
    .sort((one, other) => one.properties.length - other.properties.length);
  const [best] = fitting;
  if (best !== undefined) return best;
  throw new Refusal(
    'argument',
    `type '${value.typeName}' has no full-text index on ${fields.join(', ')}`,
  );
}

function hasField(index: IndexDefinition, field: string): boolean {
  return index.properties.some(({name}) => name === field);
}

/** The full-text index on the same properties where there is one, else the index of that name. */
function searchIndex(args: readonly Value[], call: CallContext): Value {
  const name = textAt(args, 0);
  const {families} = call.catalog;
  const index = indexOfKind(call.catalog, name, 'text');
  const record = argument(args, 2);
  if (index !== undefined && index.kind !== 'text' && families.of(index).isRanked) {
    const value = argument(args, 1);
    return value !== null && matches(index.name, {value}, record, call);
  }
  const text = queryAt(args, 1, 'fulltext.searchIndex');
  return matches(name, textQuery({text, fields: undefined}), record, call);
}

function searchFields(args: readonly Value[], call: CallContext): Value {
  const fields = namesFrom([argument(args, 0)], 0);
  const record = argument(args, 2);
  if (fields.length === 0) return refuse('fulltext.searchFields needs names of properties');
  if (record === null) return false;
  const query = queryAt(args, 1, 'fulltext.searchFields');
  const {name} = indexOnFields(fields, record, call);
  return matches(name, textQuery({text: query, fields}), record, call);
}

/** `CONTAINSTEXT`: by words where the property has an index of its own, else by the text. */
function containsWords(args: readonly Value[], call: CallContext): Value {
  const property = textAt(args, 0);
  const words = argument(args, 1);
  const of = argument(args, 2);
  const record = of instanceof Rid ? call.graph.record(of) : of;
  if (!(record instanceof RecordValue)) return false;
  const index = call.catalog.type(record.typeName)?.indexes.find(({kind, properties}) => {
    return kind === 'text' && properties.length === 1 && properties[0]?.name === property;
  });
  if (index === undefined || typeof words !== 'string') {
    return containsText(record.get(property) ?? null, words);
  }
  return matches(index.name, textQuery({words}), record, call);
}

function score(args: readonly Value[], call: CallContext): Value {
  const rid = singleRid(argument(args, 0));
  let sum = 0;
  if (rid !== undefined) {
    for (const {scores} of searchesOf(call).values()) sum += scores.get(nameOf(rid)) ?? 0;
  }
  return float(sum);
}

const neighborsMax = 10_000;

function sparseNeighbors(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.sparseNeighbors';
  const {index, only} = sparseTarget(textAt(args, 0), call);
  const dimensions = sparseNumbers(argument(args, 1), name);
  const weights = sparseNumbers(argument(args, 2), name);
  const k = integerAt(args, 3, name);
  if (k < 1 || k > neighborsMax) refuse(`${name} needs a k of 1 to ${neighborsMax}, not ${k}`);
  const options = new Options(name, argument(args, 4), [
    'filter',
    'groupBy',
    'groupSize',
    'minScore',
  ]);
  const filter = options.list('filter');
  const allowed = filter && new Set(filter.map(item => ridName(item, name)));
  const groupBy = options.text('groupBy');
  const rids = call.graph.ranked(
    index.name,
    {
      query: sparseQuery({dimensions, weights}),
      k: groupBy === undefined && allowed === undefined ? k : Number.POSITIVE_INFINITY,
      only: only?.name,
    },
    effortOf(call.budget),
  );
  const least = options.number('minScore', Number.NEGATIVE_INFINITY);
  const wanted = rids.filter(
    ({rid, score: own}) => own >= least && (allowed?.has(nameOf(rid)) ?? true),
  );
  const grouped = {by: groupBy, size: options.whole('groupSize', 1, 1)};
  return rowsOf(wanted, k, grouped, call);
}

/** @throws {Refusal} for a name that is no index. */
function sparseTarget(name: string, {catalog}: CallContext): RankedTarget {
  const target = rankedTarget(catalog, name, 'sparse');
  return target ?? {index: catalog.requireIndex(name), only: undefined};
}

function ridName(value: Value, name: string): string {
  const rid = singleRid(value);
  return rid === undefined
    ? refuse(`${name} filters by record ids, not ${describe(value)}`)
    : nameOf(rid);
}

/** The first `k` whose group is not full yet. */
function rowsOf(
  rids: readonly ScoredRid[],
  k: number,
  {by, size}: {readonly by: string | undefined; readonly size: number},
  call: CallContext,
): readonly Value[] {
  const rows: Value[] = [];
  const counts = new Map<string, number>();
  for (const {rid, score: own} of rids) {
    if (rows.length === k) break;
    const record = call.graph.record(rid);
    if (record === undefined) continue;
    if (by !== undefined) {
      const group = String(groupKey(record.get(by) ?? null));
      const count = counts.get(group) ?? 0;
      if (count === size) continue;
      counts.set(group, count + 1);
    }
    rows.push(recordRow(record, 'score', own));
  }
  return rows;
}

export const searches: FunctionFamily = {
  scalars: {
    'fulltext.searchIndex': searchIndex,
    'fulltext.searchFields': searchFields,
    'fulltext.containsText': containsWords,
    'fulltext.score': score,
    'vector.sparseNeighbors': sparseNeighbors,
  },
};
