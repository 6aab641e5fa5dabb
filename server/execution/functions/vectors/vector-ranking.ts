/**
 * `vector.*` on ranked rows: fusion of several sources, and what ranks one source anew.
 *
 * A source is a list of rows that belong to records, best first, as searches and sub-queries give
 * it. Records are read through the graph of the statement, so that its rights and its snapshot
 * hold; rows whose record is gone are left out.
 */
import {groupKey} from '#server/model/compare.ts';
import {isNumberValue, makeDouble, numberOf} from '#server/model/number.ts';
import {ridText} from '#server/model/rid.ts';
import {type MapValue, RecordValue, type Rid, type Value} from '#server/model/value.ts';
import {describe} from '../../expressions/arithmetic.ts';
import {argument, integerAt} from '../arguments.ts';
import type {CallContext} from '../../context.ts';
import type {FunctionFamily} from '../../function-registry.ts';
import {compareRanked, fuse} from './fusion.ts';
import {fusionOf, requireScores} from './fusion-options.ts';
import {
  optionRefusal,
  Options,
  type RankedRow,
  rankedRows,
  recordRow,
  recordsOf,
  vectorAt,
  vectorOf,
} from './vector-arguments.ts';
import {cosine} from './vector-numbers.ts';

function fuseRows(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.fuse';
  const last = args.at(-1) ?? null;
  const given = last instanceof Map ? last : null;
  const lists = given === null ? args : args.slice(0, -1);
  if (lists.length < 2) {
    throw optionRefusal(`${name} requires at least 2 sources, got ${lists.length}`);
  }
  const {strategy, constant, weights, limit, options} = fusionOf(given, lists.length);
  const groups = new Groups(options);
  const sources = lists.map((list, at) => {
    const items = rankedRows(list, name, `source ${at}`);
    requireScores(items, strategy, at);
    return {items, weight: weights[at] ?? 1};
  });
  const fused = fuse(sources, strategy, constant).map(item => ({...item, row: null}));
  const rows: MapValue[] = [];
  for (const [{score}, record] of recordsOf(fused, call)) {
    if (rows.length >= limit) break;
    if (groups.admits(record)) rows.push(recordRow(record, 'score', score));
  }
  return rows;
}

/** Takes from one source and the next in turn, each record once. */
function interleave(args: readonly Value[]): Value {
  const name = 'vector.interleave';
  const last = args.at(-1) ?? null;
  const most = isNumberValue(last) ? integerAt(args, args.length - 1, name) : Infinity;
  const lists = isNumberValue(last) ? args.slice(0, -1) : args;
  const sources = lists.map((list, at) => rankedRows(list, name, `source ${at}`));
  const longest = Math.max(0, ...sources.map(({length}) => length));
  const found = new Map<string, Rid>();
  for (let at = 0; at < longest && found.size < most; at += 1) {
    for (const source of sources) {
      const rid = source[at]?.rid;
      if (rid !== undefined && found.size < most) found.set(ridText(rid), rid);
    }
  }
  return [...found.values()];
}

/** `groupBy` and `groupSize`: of records with equal values of a property so many, the best. */
export class Groups {
  readonly #property: string | undefined;
  readonly #size: number;
  readonly #counts = new Map<string | number, number>();
  readonly #groupsMax: number;

  /** @param groupsMax - Records of more groups are left out. */
  constructor(options: Options, groupsMax = Infinity) {
    this.#groupsMax = groupsMax;
    this.#property = options.text('groupBy');
    this.#size = options.whole('groupSize', 1, 1);
  }

  /** Whether records of a group are left out at all. */
  get limited(): boolean {
    return this.#property !== undefined;
  }

  /** Whether nothing more is admitted. */
  get isFull(): boolean {
    if (this.#counts.size < this.#groupsMax) return false;
    return [...this.#counts.values()].every(count => count >= this.#size);
  }

  /** Asked best first, once a record. */
  admits(record: RecordValue): boolean {
    if (this.#property === undefined) return true;
    let value: Value = record;
    for (const name of this.#property.split('.')) {
      value =
        value instanceof Map || value instanceof RecordValue ? (value.get(name) ?? null) : null;
    }
    const key = groupKey(value);
    const count = this.#counts.get(key) ?? 0;
    if (count === 0 && this.#counts.size === this.#groupsMax) return false;
    this.#counts.set(key, count + 1);
    return count < this.#size;
  }
}

/** Orders records by the cosine between the query and one of their properties. */
function rerank(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.rerank';
  const rows = rankedRows(argument(args, 0), name, 'source');
  const query = vectorAt(args, 1, `${name}()`);
  const property = propertyName(argument(args, 2), name);
  const count = integerAt(args, 3, `${name}()`);
  const ranked = recordsOf(rows, call).flatMap(([{rid}, record]) => {
    const vector = vectorOfRecord(record, property, query.length, name);
    return vector === undefined ? [] : [{rid, record, score: Math.fround(cosine(query, vector))}];
  });
  ranked.sort(compareRanked);
  return ranked
    .slice(0, Math.max(0, count))
    .map(({record, score}) => recordRow(record, 'score', score));
}

function propertyName(value: Value, name: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw optionRefusal(`${name} needs the name of a property with vectors, not ${describe(value)}`);
}

/** Undefined where the record has no vector there. */
export function vectorOfRecord(
  record: RecordValue,
  property: string,
  dimensions: number | undefined,
  name: string,
): Float32Array | undefined {
  const value = record.get(property) ?? null;
  if (value === null) return undefined;
  const vector = vectorOf(value, `${name}()`);
  if (dimensions === undefined || vector.length === dimensions) return vector;
  throw optionRefusal(
    `${name} candidate ${ridText(record.rid)} has embedding dimension ${vector.length}, ` +
      `expected ${dimensions}`,
  );
}

interface Candidate {
  readonly record: RecordValue;
  readonly vector: Float32Array;
  readonly score: number;
  /** The greatest cosine to what was chosen; below 0 counts as 0. */
  likeness: number;
}

/**
 * Maximal marginal relevance: what is chosen next has the best score less its likeness to what was
 * chosen before. Source: J. Carbonell, J. Goldstein, SIGIR 1998. Cost: a cosine for each candidate
 * and choice.
 */
function mmr(args: readonly Value[], call: CallContext): Value {
  const name = 'vector.mmr';
  const rows = rankedRows(argument(args, 0), name, 'source');
  const property = propertyName(argument(args, 1), name);
  const options = new Options(name, argument(args, 2), ['lambda', 'k']);
  const lambda = Math.fround(options.number('lambda', 0.5));
  if (lambda < 0 || lambda > 1)
    throw optionRefusal(`${name} lambda must be in [0, 1], got ${lambda}`);
  const left = candidatesOf(rows, property, name, call);
  const count = Math.min(options.whole('k', left.length, 0), left.length);
  const chosen: MapValue[] = [];
  while (chosen.length < count) {
    const best = bestOf(left, lambda);
    const [winner] = left.splice(best, 1);
    if (winner === undefined) break;
    chosen.push(recordRow(winner.record, 'score', winner.score));
    for (const candidate of left) {
      candidate.likeness = Math.max(candidate.likeness, cosine(candidate.vector, winner.vector));
    }
    call.budget.spend(left.length);
  }
  return chosen;
}

function bestOf(candidates: readonly Candidate[], lambda: number): number {
  let best = 0;
  let most = -Infinity;
  for (let at = 0; at < candidates.length; at++) {
    const {score, likeness} = candidates[at] as Candidate;
    const worth = lambda * score - (1 - lambda) * likeness;
    if (worth > most) [best, most] = [at, worth];
  }
  return best;
}

function candidatesOf(
  rows: readonly RankedRow[],
  property: string,
  name: string,
  call: CallContext,
): Candidate[] {
  let dimensions: number | undefined;
  return recordsOf(rows, call).flatMap(([{score}, record]) => {
    if (Number.isNaN(score)) {
      throw optionRefusal(
        `${name} requires a numeric score on every row; ${ridText(record.rid)} has none`,
      );
    }
    const vector = vectorOfRecord(record, property, dimensions, name);
    dimensions ??= vector?.length;
    return vector === undefined ? [] : [{record, vector, score, likeness: 0}];
  });
}

interface Boost {
  readonly field: string;
  readonly weight: number;
}

/** The score of each row and what fields of it add. */
function boost(args: readonly Value[]): Value {
  const name = 'vector.boost';
  const options = new Options(name, argument(args, 1), ['boosts', 'limit']);
  const boosts = boostsOf(options.list('boosts'));
  const limit = options.whole('limit', Infinity, -1);
  const rows = rankedRows(argument(args, 0), name, 'source').filter(
    ({score}) => !Number.isNaN(score),
  );
  const boosted = rows.map(row => ({...row, score: boostedScore(row, boosts)}));
  boosted.sort(compareRanked);
  return boosted.slice(0, limit > 0 ? limit : boosted.length).map(({row, score}) => {
    const entries = row instanceof RecordValue ? row.properties() : row instanceof Map ? row : [];
    const map = new Map<string, Value>(entries);
    if (row instanceof RecordValue) map.set('@rid', row.rid);
    return map.set('score', makeDouble(score));
  });
}

function boostedScore({row, score}: RankedRow, boosts: readonly Boost[]): number {
  let sum = score;
  for (const {field, weight} of boosts) {
    const value =
      row instanceof Map || row instanceof RecordValue ? (row.get(field) ?? null) : null;
    if (value === null) continue;
    if (!isNumberValue(value)) {
      throw optionRefusal(
        `vector.boost field '${field}' must be numeric on every row, not ${describe(value)}`,
      );
    }
    sum += weight * numberOf(value);
  }
  return sum;
}

function boostsOf(list: readonly Value[] | undefined): readonly Boost[] {
  if (list === undefined || list.length === 0) {
    throw optionRefusal("vector.boost 'boosts' option is required and must be non-empty");
  }
  return list.map((value, at) => {
    const field = value instanceof Map ? (value.get('field') ?? null) : null;
    const weight = value instanceof Map ? (value.get('weight') ?? null) : null;
    if (typeof field === 'string' && field !== '' && isNumberValue(weight)) {
      return {field, weight: numberOf(weight)};
    }
    throw optionRefusal(`vector.boost boosts[${at}] needs a 'field' and a numeric 'weight'`);
  });
}

export const vectorRanking: FunctionFamily = {
  scalars: {
    'vector.fuse': fuseRows,
    'vector.interleave': args => interleave(args),
    'vector.rerank': rerank,
    'vector.mmr': mmr,
    'vector.boost': args => boost(args),
  },
};
