/**
 * The share of rows for which conditions are true.
 *
 * A property with statistics is estimated by its frequent values, its number of values and its
 * quantiles; bounds on one property are taken together, terms on different things as independent.
 * What is not known until the statement runs counts as a usual value; of a span from such a value,
 * whose width is written down (`BETWEEN :k AND :k + 999`), the width decides. Without statistics
 * the shares are the customary guesses.
 */
import {compareTotal, equalValues} from '#server/model/compare.ts';
import type {Value} from '#server/model/value.ts';
import type {Expression, Slot} from '#server/plan/expression.ts';
import type {PropertyStatistics} from '#server/plan/statistics.ts';
import {listItems, listLength} from '#server/plan/written-list.ts';
import {conjunctsOf} from './conjuncts.ts';
import {type Bounds, boundsOf} from './bounds.ts';
import {typeTestOf} from '#server/plan/type-test.ts';

/** What is known of the rows that are tested. */
export interface RowFacts {
  property(of: Slot, name: string): PropertyStatistics | undefined;
  /** Share of the records in a slot that are of a type; undefined: not known. */
  typeShare(of: Slot, type: string): number | undefined;
  /** Records that a slot may hold; undefined: not known. */
  recordCount(of: Slot): number | undefined;
}

/** Guesses where nothing is known. */
export const assumed = {
  equal: 0.1,
  range: 1 / 3,
  text: 0.1,
  type: 0.5,
  other: 0.3,
  /** Items of a list that is known only when the statement runs. */
  listItems: 4,
} as const;

const leastShare = 1e-9;
/** The first items of a long list tell how frequent all are. */
const itemsLookedAt = 256;

/** The share of rows for which all terms are true. */
export function shareOfAll(terms: readonly Expression[], facts: RowFacts): number {
  if (terms.length === 0) return 1;
  const flat = terms.flatMap(conjunctsOf);
  const bounds = boundsOf(flat);
  let share = 1;
  for (const bound of bounds) share *= boundedShare(bound, facts);
  const bounded = new Set(bounds.flatMap(bound => bound.terms));
  for (const term of flat) if (!bounded.has(term)) share *= shareOf(term, facts);
  return Math.max(share, leastShare);
}

function shareOf(term: Expression, facts: RowFacts): number {
  switch (term.kind) {
    case 'literal':
      return term.value === true ? 1 : 0;
    case 'and':
      return shareOfAll(term.terms, facts);
    case 'or':
      return 1 - term.terms.reduce((none, each) => none * (1 - shareOf(each, facts)), 1);
    case 'not':
      return 1 - shareOf(term.of, facts);
    case 'is-null': {
      const known = statisticsOf(term.of, facts);
      return known === undefined ? assumed.equal : 1 - known.present;
    }
    case 'subplan':
      return assumed.type;
    case 'call':
      return callShare(term, facts);
    default:
      return assumed.other;
  }
}

function callShare(term: Expression & {readonly kind: 'call'}, facts: RowFacts): number {
  const [left, right] = term.args;
  if (left === undefined || right === undefined) return assumed.other;
  switch (term.name) {
    case 'op:equal':
    case 'op:same':
      return equalShare(left, right, facts);
    case 'op:notEqual':
    case 'op:differs':
      return 1 - equalShare(left, right, facts);
    case 'op:in':
      return inShare(left, right, facts);
    case 'op:like':
    case 'op:ilike':
    case 'op:startsWith':
    case 'op:contains':
    case 'op:containsText':
    case 'op:matches':
      return assumed.text;
    case 'op:instanceOf':
    case 'op:ofType': {
      const tested = typeTestOf(term);
      return (tested && facts.typeShare(tested.slot, tested.type)) ?? assumed.type;
    }
    default:
      return assumed.other;
  }
}

/** The share of rows in which the two are equal: the side with more values decides. */
export function equalShare(one: Expression, other: Expression, facts: RowFacts): number {
  const [a, b] = [sideShare(one, other, facts), sideShare(other, one, facts)];
  if (a === undefined) return b ?? assumed.equal;
  return b === undefined ? a : Math.min(a, b);
}

/** Returns the share of `tested` that equals `other`; undefined where nothing is known. */
function sideShare(tested: Expression, other: Expression, facts: RowFacts): number | undefined {
  const slot = idSlotOf(tested);
  if (slot !== undefined) {
    const records = facts.recordCount(slot);
    return records === undefined ? undefined : 1 / Math.max(1, records);
  }
  const known = statisticsOf(tested, facts);
  if (known === undefined) return undefined;
  return other.kind === 'literal' ? valueShare(known, other.value) : usualShare(known);
}

function inShare(tested: Expression, list: Expression, facts: RowFacts): number {
  const items = listItems(list, itemsLookedAt);
  if (items === undefined) {
    return Math.min(1, assumed.listItems * equalShare(tested, list, facts));
  }
  const share = items.reduce((sum, item) => sum + equalShare(tested, item, facts), 0);
  const more = (listLength(list) ?? 0) / Math.max(1, items.length);
  return Math.min(1, share * more);
}

function valueShare(known: PropertyStatistics, value: Value): number {
  const {frequent, distinct, present} = known;
  if (value === null) return 0;
  const met = frequent.find(each => equalValues(each.value, value));
  if (met !== undefined) return met.share;
  const rest = present - frequent.reduce((sum, each) => sum + each.share, 0);
  return Math.max(rest, 0) / Math.max(1, distinct - frequent.length);
}

function usualShare({present, distinct}: PropertyStatistics): number {
  return present / Math.max(1, distinct);
}

function boundedShare({slot, name, low, high}: Bounds, facts: RowFacts): number {
  const known = facts.property(slot, name);
  const sides = [low, high].filter(side => side !== undefined);
  if (known === undefined || known.quantiles.length < 2) {
    return (known?.present ?? 1) * assumed.range ** sides.length;
  }
  const width = low && high && widthOf(low, high);
  if (width !== undefined) {
    const share = spanShare(width, known.quantiles);
    if (share !== undefined) return known.present * Math.max(share, usualShare(known));
  }
  const literals = sides.filter(side => side.kind === 'literal');
  const upTo = high?.kind === 'literal' ? rankOf(high.value, known.quantiles) : 1;
  const from = low?.kind === 'literal' ? rankOf(low.value, known.quantiles) : 0;
  // What lies between two neighbouring quantiles is not seen: count a few values at least.
  const between = Math.max(upTo - from, usualShare(known) / Math.max(known.present, leastShare));
  return known.present * between * assumed.range ** (sides.length - literals.length);
}

/** How far `high` is above `low`, where that is written down: the same, more a number. */
function widthOf(low: Expression, high: Expression): number | undefined {
  if (high.kind !== 'call' || (high.name !== 'op:add' && high.name !== 'op:plus')) return undefined;
  const [from, more] = high.args;
  if (low.kind !== 'parameter' || from?.kind !== 'parameter' || from.name !== low.name) {
    return undefined;
  }
  return more?.kind === 'literal' && typeof more.value === 'number' ? more.value : undefined;
}

/** The share of values in a span of the width, somewhere among them. */
function spanShare(width: number, quantiles: readonly Value[]): number | undefined {
  const [least, greatest] = [quantiles[0], quantiles.at(-1)];
  if (typeof least !== 'number' || typeof greatest !== 'number') return undefined;
  return greatest > least ? Math.min(1, Math.max(0, width) / (greatest - least)) : 1;
}

/** The share of values below `value`, taken as even between two quantiles. */
function rankOf(value: Value, quantiles: readonly Value[]): number {
  let below = 0;
  while (below < quantiles.length && compareTotal(quantiles[below] ?? null, value) < 0) below += 1;
  if (below === 0) return 0;
  if (below === quantiles.length) return 1;
  const [low, high] = [quantiles[below - 1], quantiles[below]];
  const isNumeric =
    typeof low === 'number' && typeof high === 'number' && typeof value === 'number' && high > low;
  const part = isNumeric ? (value - low) / (high - low) : 0.5;
  return (below - 1 + part) / (quantiles.length - 1);
}

function statisticsOf(tested: Expression, facts: RowFacts): PropertyStatistics | undefined {
  if (tested.kind === 'call' && tested.name.toLowerCase() === '.tolowercase') {
    const [receiver] = tested.args;
    return receiver && statisticsOf(receiver, facts);
  }
  if (tested.kind !== 'property' || tested.of.kind !== 'slot') return undefined;
  return facts.property(tested.of.slot, tested.name);
}

/** `$0` and `$0@rid`: a record itself. */
function idSlotOf(expression: Expression): Slot | undefined {
  if (expression.kind === 'slot') return expression.slot;
  const isId = expression.kind === 'attribute' && expression.attribute === 'rid';
  return isId && expression.of.kind === 'slot' ? expression.of.slot : undefined;
}
