/**
 * `coll.*` and `agg.*`: functions of a list. Nulls among the items of `agg.*` do not count.
 */
import {equalValues} from '#server/model/compare.ts';
import {makeDouble, multiplyNumbers, numberOf, type NumberValue} from '#server/model/number.ts';
import type {ListValue, Value} from '#server/model/value.ts';
import {asItems, itemsOf} from '../expressions/access.ts';
import type {FunctionFamily} from '../function-registry.ts';
import {extremeOf, meanOf, numbersIn, sumOf} from './aggregates.ts';
import {
  argument,
  distinctItems,
  doubleAt,
  integerAt,
  itemCountMax,
  itemsAt,
  listAt,
  refuse,
} from './arguments.ts';
import {sortItems} from './methods-collections.ts';
import {addToSpread, percentileOf, sortedNumbers, type Spread, spreadOf} from './statistics.ts';

function mean(value: Value, name: string): Value {
  const numbers = numbersIn(value, name);
  const sum = sumOf(numbers);
  return sum === null ? null : meanOf(sum, numbers.length);
}

/** Opens the lists in a list, and those in them, `depth` times. */
function flatten(items: ListValue, depth: number): Value[] {
  const flat: Value[] = [];
  for (const item of items) {
    const inner = itemsOf(item);
    if (inner === undefined) flat.push(item);
    else for (const each of depth > 1 ? flatten(inner, depth - 1) : inner) flat.push(each);
    if (flat.length > itemCountMax) refuse(`a list has at most ${itemCountMax} items`);
  }
  return flat;
}

/** Flattens at any depth, so many times, or once. */
function flattenedTimes(given: Value): number {
  if (given === true) return Infinity;
  return given === null || given === false ? 1 : integerAt([given], 0, 'coll.flatten');
}

function insert(args: readonly Value[]): Value {
  if (argument(args, 0) === null) return null;
  const items = listAt(args, 0, 'coll.insert');
  const at = position(items, integerAt(args, 1, 'coll.insert'), items.length);
  return [...items.slice(0, at), argument(args, 2), ...items.slice(at)];
}

function remove(args: readonly Value[]): Value {
  const items = listAt(args, 0, 'coll.remove');
  const at = integerAt(args, 1, 'coll.remove');
  const count = integerAt(args, 2, 'coll.remove', 1);
  return items.filter((_, index) => index < at || index >= at + count);
}

function position(items: ListValue, at: number, last: number): number {
  if (at >= 0 && at <= last) return at;
  return refuse(`there is no position ${at} in a list of ${items.length} items`);
}

function pairs(items: ListValue): Value {
  return items.slice(1).map((item, at) => [items[at] ?? null, item]);
}

function present(args: readonly Value[]): ListValue {
  return itemsAt(args, 0).filter(item => item !== null);
}

function percentiles(args: readonly Value[]): Value {
  const sorted = sortedNumbers(numbersIn(argument(args, 0), 'agg.percentiles').map(numberOf));
  const shares = args.length > 1 ? asItems(argument(args, 1)) : [0.5, 0.75, 0.9, 0.95, 0.99];
  return shares.map(share => {
    const wanted = doubleAt([share], 0, 'agg.percentiles');
    if (!(wanted >= 0 && wanted <= 1)) refuse('a percentile needs a share between 0 and 1');
    return interpolated(sorted, wanted);
  });
}

/** The value at a share of the way from the first to the last. @param sorted - Ascending. */
function interpolated(sorted: readonly number[], share: number): Value {
  const place = share * (sorted.length - 1);
  const lower = sorted[Math.floor(place)];
  const upper = sorted[Math.ceil(place)];
  if (lower === undefined || upper === undefined) return null;
  return makeDouble(lower + (place - Math.floor(place)) * (upper - lower));
}

function statistics(args: readonly Value[]): Value {
  const numbers = numbersIn(argument(args, 0), 'agg.statistics');
  const sum = sumOf(numbers);
  const spread = numbers.reduce<Spread>((all, number) => addToSpread(all, numberOf(number)), {
    count: 0,
    mean: 0,
    squares: 0,
  });
  return new Map<string, Value>([
    ['min', extremeOf(numbers, 1)],
    ['median', percentileOf(sortedNumbers(numbers.map(numberOf)), 0.5)],
    ['max', extremeOf(numbers, -1)],
    ['mean', sum === null ? null : meanOf(sum, numbers.length)],
    ['count', numbers.length],
    ['sum', sum ?? 0],
    ['stdev', spreadOf(spread, {sample: false, root: true})],
  ]);
}

/** The least or greatest of the values and the items at its places. */
function extremeItems(args: readonly Value[], sign: 1 | -1): Value {
  const values = itemsAt(args, 0);
  const items = args.length > 1 ? itemsAt(args, 1) : values;
  const limit = integerAt(args, 2, 'a limit', items.length);
  const value = extremeOf(values, sign);
  const found = items.filter((_, at) => value !== null && equalValues(values[at] ?? null, value));
  return new Map<string, Value>([
    ['items', found.slice(0, limit)],
    ['value', value],
  ]);
}

export const listFunctions: FunctionFamily = {
  scalars: {
    'coll.avg': args => mean(argument(args, 0), 'coll.avg'),
    'coll.distinct': args => distinctItems(listAt(args, 0, 'coll.distinct')),
    'coll.flatten': args =>
      flatten(listAt(args, 0, 'coll.flatten'), flattenedTimes(argument(args, 1))),
    'coll.indexOf': args =>
      listAt(args, 0, 'coll.indexOf').findIndex(item => equalValues(item, argument(args, 1))),
    'coll.insert': insert,
    'coll.max': args => extremeOf(args.flatMap(asItems), -1),
    'coll.min': args => extremeOf(args.flatMap(asItems), 1),
    'coll.pairsMin': args => pairs(listAt(args, 0, 'coll.pairsMin')),
    'coll.remove': remove,
    'coll.sort': args => sortItems(listAt(args, 0, 'coll.sort'), false),
    'coll.sum': args => {
      const list = argument(args, 0);
      return list === null ? null : (sumOf(numbersIn(list, 'coll.sum')) ?? 0);
    },
    'coll.toSet': args => distinctItems(itemsAt(args, 0)),
    'coll.union': args => distinctItems([...itemsAt(args, 0), ...itemsAt(args, 1)]),
    'coll.unionAll': args => [...itemsAt(args, 0), ...itemsAt(args, 1)],

    'agg.first': args => present(args)[0] ?? null,
    'agg.last': args => present(args).at(-1) ?? null,
    'agg.nth': args => present(args)[integerAt(args, 1, 'agg.nth')] ?? null,
    'agg.slice': args => {
      const from = Math.max(integerAt(args, 1, 'agg.slice', 0), 0);
      const to = integerAt(args, 2, 'agg.slice', -1);
      return present(args).slice(from, to < 0 ? undefined : to);
    },
    'agg.median': args =>
      percentileOf(sortedNumbers(numbersIn(argument(args, 0), 'agg.median').map(numberOf)), 0.5),
    'agg.percentiles': percentiles,
    'agg.product': args => {
      const numbers = numbersIn(argument(args, 0), 'agg.product');
      return numbers.length === 0 ? null : numbers.reduce<NumberValue>(multiplyNumbers, 1);
    },
    'agg.statistics': statistics,
    'agg.minItems': args => extremeItems(args, 1),
    'agg.maxItems': args => extremeItems(args, -1),
  },
};
