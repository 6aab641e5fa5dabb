/**
 * Statistics over the numbers of a group: median, percentile, mode, variance and deviation.
 *
 * Percentiles interpolate between the two nearest of n numbers, at the place share * (n + 1).
 * Variances are computed in one pass by Welford's method, which does not lose small differences
 * of large numbers.
 */
import {groupKey} from '#server/model/compare.ts';
import {isNumberValue, makeDouble, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {asItems} from '../expressions/access.ts';
import {doublesIn} from './aggregates.ts';
import {argument, refuse} from './arguments.ts';
import {aggregate, type AggregateFunction, type FunctionFamily} from '../function-registry.ts';

/** @param sorted - Ascending. @param share - 0 to 1. */
export function percentileOf(sorted: readonly number[], share: number): Value {
  if (sorted.length === 0) return null;
  const place = share * (sorted.length + 1);
  const below = Math.floor(place);
  const lower = sorted[Math.min(Math.max(below - 1, 0), sorted.length - 1)] as number;
  if (place < 1 || place >= sorted.length) return makeDouble(lower);
  const upper = sorted[below] as number;
  return makeDouble(lower + (place - below) * (upper - lower));
}

export function sortedNumbers(numbers: readonly number[]): number[] {
  return [...numbers].sort((left, right) => left - right);
}

const median = aggregate<number[]>({
  init: () => [],
  step: (state, args) => {
    for (const number of doublesIn(argument(args, 0), 'median')) state.push(number);
    return state;
  },
  finish: state => percentileOf(sortedNumbers(state), 0.5),
});

interface Percentiles {
  readonly numbers: number[];
  shares: readonly Value[];
}

/** One share answers a number, several a list of numbers. */
const percentile = aggregate<Percentiles>({
  init: () => ({numbers: [], shares: []}),
  step: (state, args, call) => {
    const before = state.numbers.length;
    for (const number of doublesIn(argument(args, 0), 'percentile')) state.numbers.push(number);
    call.budget.keep(8 * (state.numbers.length - before));
    state.shares = args.slice(1);
    return state;
  },
  finish: ({numbers, shares}, call) => {
    call.budget.release(8 * numbers.length);
    const sorted = sortedNumbers(numbers);
    const found = shares.flatMap(asItems).map(share => {
      const wanted = isNumberValue(share) ? numberOf(share) : Number.NaN;
      if (!(wanted >= 0 && wanted <= 1)) refuse('a percentile needs a share between 0 and 1');
      return percentileOf(sorted, wanted);
    });
    return found.length === 1 ? (found[0] ?? null) : found.length === 0 ? null : found;
  },
});

const mode = aggregate<Map<string | number, {readonly value: Value; count: number}>>({
  init: () => new Map(),
  step: (state, args) => {
    for (const value of asItems(argument(args, 0))) {
      if (value === null) continue;
      const key = groupKey(value);
      const known = state.get(key);
      if (known === undefined) state.set(key, {value, count: 1});
      else known.count++;
    }
    return state;
  },
  finish: state => {
    let most = 0;
    for (const {count} of state.values()) most = Math.max(most, count);
    if (most === 0) return null;
    return [...state.values()].filter(each => each.count === most).map(each => each.value);
  },
});

export interface Spread {
  count: number;
  mean: number;
  /** Sum of the squared distances from the mean. */
  squares: number;
}

export function addToSpread(spread: Spread, number: number): Spread {
  spread.count++;
  const distance = number - spread.mean;
  spread.mean += distance / spread.count;
  spread.squares += distance * (number - spread.mean);
  return spread;
}

/** Variance or deviation; undefined for too few numbers. */
export function spreadOf(
  spread: Spread,
  {sample, root}: {readonly sample: boolean; readonly root: boolean},
): Value {
  const degrees = sample ? spread.count - 1 : spread.count;
  if (degrees <= 0) return null;
  const variance = spread.squares / degrees;
  return makeDouble(root ? Math.sqrt(variance) : variance);
}

function deviation(options: {readonly sample: boolean; readonly root: boolean}): AggregateFunction {
  return aggregate<Spread>({
    init: () => ({count: 0, mean: 0, squares: 0}),
    step: (state, args) => doublesIn(argument(args, 0), 'variance').reduce(addToSpread, state),
    finish: state => spreadOf(state, options),
  });
}

export const statistics: FunctionFamily = {
  aggregates: {
    median,
    percentile,
    mode,
    variance: deviation({sample: true, root: false}),
    variancep: deviation({sample: false, root: false}),
    stddev: deviation({sample: true, root: true}),
    stddevp: deviation({sample: false, root: true}),
  },
};
