/** `std.*` that sum up a group; `plan/functions/standard.ts` says what each does. */
import {compareStructuresFirst} from '#server/model/compare.ts';
import {
  addNumbers,
  isNumberValue,
  makeDouble,
  numberOf,
  type NumberValue,
} from '#server/model/number.ts';
import {DurationValue, type Value} from '#server/model/value.ts';
import {aggregate, type AggregateFunction, type FunctionFamily} from '../function-registry.ts';
import {describe} from '../expressions/arithmetic.ts';
import {dividedDuration, normalDuration} from '../expressions/duration-arithmetic.ts';
import {typeError} from '../expressions/strict-operators.ts';
import {meanOf} from './aggregates.ts';
import {argumentError} from './standard-values.ts';

interface Total {
  sum: NumberValue | DurationValue | undefined;
  count: number;
}

function addTo(total: Total, value: Value): Total {
  if (value === null) return total;
  if (value instanceof DurationValue) {
    const {sum} = total;
    if (sum !== undefined && !(sum instanceof DurationValue)) throw mixed();
    total.sum = sum === undefined ? value : addedDurations(sum, value);
  } else if (isNumberValue(value)) {
    if (total.sum instanceof DurationValue) throw mixed();
    total.sum = total.sum === undefined ? value : addNumbers(total.sum, value);
  } else throw typeError(`numbers are needed, not ${describe(value)}`);
  total.count++;
  return total;
}

function mixed(): Error {
  return typeError('numbers and durations have no sum');
}

function addedDurations(left: DurationValue, right: DurationValue): DurationValue {
  return normalDuration(
    left.months + right.months,
    left.days + right.days,
    left.seconds + right.seconds,
    left.nanos + right.nanos,
  );
}

function totalling(finish: (total: Total) => Value): AggregateFunction {
  return aggregate<Total>({
    init: () => ({sum: undefined, count: 0}),
    step: (total, [value = null]) => addTo(total, value),
    finish,
    numbers: {
      kind: 'sum',
      total: ({sum}) => {
        if (sum instanceof DurationValue) throw mixed();
        return sum ?? null;
      },
      added: ({count}, sum, more) => ({sum, count: count + more}),
    },
  });
}

function mean({sum, count}: Total): Value {
  if (sum === undefined) return null;
  if (sum instanceof DurationValue) return dividedDuration(sum, count);
  return meanOf(sum, count);
}

function extreme(sign: 1 | -1): AggregateFunction {
  return aggregate<Value>({
    init: () => null,
    step: (best, [value = null]) => {
      if (value === null) return best;
      if (best === null) return value;
      return sign * compareStructuresFirst(value, best) < 0 ? value : best;
    },
    finish: best => best,
    numbers: {kind: 'extreme', sign},
  });
}

const collect = aggregate<Value[]>({
  init: () => [],
  step: (list, [value = null]) => {
    if (value !== null) list.push(value);
    return list;
  },
  finish: list => list,
});

/** @param less - 1 for a sample, 0 for all there is. */
function deviation(less: 0 | 1): AggregateFunction {
  return aggregate<number[]>({
    init: () => [],
    step: (numbers, [value = null]) => {
      if (value === null) return numbers;
      if (!isNumberValue(value)) throw typeError(`numbers are needed, not ${describe(value)}`);
      numbers.push(numberOf(value));
      return numbers;
    },
    finish: numbers => {
      if (numbers.length <= less) return makeDouble(0);
      const average = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
      const squares = numbers.reduce((sum, number) => sum + (number - average) ** 2, 0);
      return makeDouble(Math.sqrt(squares / (numbers.length - less)));
    },
  });
}

interface Ranked {
  readonly numbers: NumberValue[];
  share: number | undefined;
}

function percentile(
  pick: (sorted: readonly NumberValue[], share: number) => Value,
): AggregateFunction {
  return aggregate<Ranked>({
    init: () => ({numbers: [], share: undefined}),
    step: (ranked, [value = null, share = null]) => {
      if (!isNumberValue(share) || numberOf(share) < 0 || numberOf(share) > 1) {
        throw argumentError('a share is a number from 0 to 1', 'NumberOutOfRange');
      }
      ranked.share = numberOf(share);
      if (value === null) return ranked;
      if (!isNumberValue(value)) throw typeError(`numbers are needed, not ${describe(value)}`);
      ranked.numbers.push(value);
      return ranked;
    },
    finish: ({numbers, share}) => {
      if (numbers.length === 0 || share === undefined) return null;
      const sorted = numbers.sort((left, right) => numberOf(left) - numberOf(right));
      return pick(sorted, share);
    },
  });
}

function discrete(sorted: readonly NumberValue[], share: number): Value {
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

function continuous(sorted: readonly NumberValue[], share: number): Value {
  const at = share * (sorted.length - 1);
  const low = numberOf(sorted[Math.floor(at)] ?? 0);
  const high = numberOf(sorted[Math.ceil(at)] ?? 0);
  return makeDouble(low + (high - low) * (at - Math.floor(at)));
}

export const standardAggregates: FunctionFamily = {
  aggregates: {
    'std.sum': totalling(({sum}) => sum ?? 0),
    'std.avg': totalling(mean),
    'std.min': extreme(1),
    'std.max': extreme(-1),
    'std.collect': collect,
    'std.stDev': deviation(1),
    'std.stDevP': deviation(0),
    'std.percentileCont': percentile(continuous),
    'std.percentileDisc': percentile(discrete),
  },
};
