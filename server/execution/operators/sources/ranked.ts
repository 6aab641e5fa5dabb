/**
 * `ranked`: the best records of a search index, best first, of equal scores the lesser id.
 *
 * A query that is null finds nothing; a count that is no whole number is one that bounds nothing,
 * since what stands above refuses it. A condition is asked inside the search, of records that would
 * be among the best, so that a count is one of records that pass. Where it turns most of them away,
 * and the search would hold the thread reading them one by one, everything is searched instead and
 * read in batches.
 */
import type {ScoredRid} from '#server/indexes/ranked-search.ts';
import {type RecordValue, Rid, type Value} from '#server/model/value.ts';
import type {PlanNode} from '#server/plan/node.ts';
import {effortOf, nameOf} from '../../functions/searches.ts';
import {float} from '../../functions/vectors/vector-arguments.ts';
import type {Graph, RankedSearch, RecordTest} from '../../graph.ts';
import type {Operator, Preparation} from '../../operator.ts';
import {pause} from '../../batch.ts';
import {prepareTerms, recordTest} from './scan.ts';
import {argumentCursor, sourceBatch} from './source-rows.ts';

type Node = PlanNode & {readonly kind: 'ranked'};
type Search = (how: Pick<RankedSearch, 'k' | 'accept'>) => readonly ScoredRid[];

/** Records that one search may look at for its condition: some milliseconds. */
const lookedAtMax = 1_024;

export function prepareRanked(node: Node, preparation: Preparation): Operator {
  const query = preparation.expression(node.query);
  const count = node.count && preparation.expression(node.count);
  const where = node.where && prepareTerms(node.where, node.slot, preparation);
  const idSuffices = where === undefined && preparation.idSuffices(node.slot);
  return function* ranked(context, argument) {
    const {graph, budget, batchRows} = context;
    const cursor = argumentCursor(context, argument);
    const value = query(cursor);
    if (value === null) return;
    const search: Search = how =>
      graph.ranked(node.index, {query: {value}, only: node.only, ...how}, effortOf(budget));
    const k = bound(count?.(cursor));
    const test = where && recordTest(where, node.slot, context, argument);
    const best = test && k < all ? bestThatPass(search, k, graph, test) : undefined;
    const found = best?.found ?? search({k: test === undefined ? k : all});
    for (let start = 0; start < found.length; start += batchRows) {
      const part = found.slice(start, start + batchRows);
      const records = idSuffices
        ? part.map(({rid}) => rid)
        : (best?.recordsOf(part) ?? tested(graph.records(part.map(({rid}) => rid)), test));
      const rows = part.map((_, at) => at).filter(at => records[at] !== undefined);
      if (rows.length > 0) {
        const column = rows.map(at => records[at] as Value);
        const scores = rows.map(at => float((part[at] as ScoredRid).score));
        yield sourceBatch(argument, node.slot, column).with(node.score, scores);
      }
      if (budget.spend(part.length * 2)) yield pause;
    }
  };
}

const all = Number.POSITIVE_INFINITY;

function bound(count: Value | undefined): number {
  return typeof count === 'number' && Number.isInteger(count) && count >= 0 ? count : all;
}

function tested(
  records: readonly (RecordValue | undefined)[],
  test: RecordTest | undefined,
): readonly (RecordValue | undefined)[] {
  if (test === undefined) return records;
  return records.map(record => (record !== undefined && test(record) ? record : undefined));
}

interface Passed {
  readonly found: readonly ScoredRid[];
  recordsOf(part: readonly ScoredRid[]): readonly (RecordValue | undefined)[];
}

class TurnsManyAway extends Error {}

/** The best `k` that pass; undefined where too many others were looked at. */
function bestThatPass(
  search: Search,
  k: number,
  graph: Graph,
  test: RecordTest,
): Passed | undefined {
  const passed = new Map<string, RecordValue>();
  let lookedAt = 0;
  const accept = (bucket: number, position: number): boolean => {
    lookedAt += 1;
    if (lookedAt > lookedAtMax) throw new TurnsManyAway();
    const rid = new Rid(bucket, position);
    const record = graph.record(rid);
    if (record === undefined || !test(record)) return false;
    passed.set(nameOf(rid), record);
    return true;
  };
  try {
    const found = search({k, accept});
    return {found, recordsOf: part => part.map(({rid}) => passed.get(nameOf(rid)))};
  } catch (error) {
    if (error instanceof TurnsManyAway) return undefined;
    throw error;
  }
}
