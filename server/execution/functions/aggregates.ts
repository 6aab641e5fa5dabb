/**
 * The plain aggregates: count, sum, avg, min, max, first, last, list, set, map, ...
 *
 * Nulls are no values, except to `first` and `last`. A list as the argument counts as its items
 * (`sum(prices)` of a record with several). What grows with the group is an array or a map, so
 * that the operator can count it against the memory of the statement.
 */
import {compareTotal, groupKey} from '#server/model/compare.ts';
import {addNumbers, divideNumbers, isIntegerValue, isNumberValue} from '#server/model/number.ts';
import {makeDouble, numberOf, type NumberValue} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import {asItems, itemsOf} from '../expressions/access.ts';
import {describe, plainText} from '../expressions/arithmetic.ts';
import {argument, boundedText, refuse} from './arguments.ts';
import {difference, intersection, symmetricDifference} from './set-operations.ts';
import {aggregate, type AggregateFunction, type FunctionFamily} from '../function-registry.ts';

/** Numbers out of an argument; null is none. */
export function numbersIn(value: Value, name: string): readonly NumberValue[] {
  if (isNumberValue(value)) return [value];
  const numbers: NumberValue[] = [];
  for (const item of asItems(value)) {
    if (item === null) continue;
    numbers.push(
      isNumberValue(item) ? item : refuse(`${name} needs numbers, not ${describe(item)}`),
    );
  }
  return numbers;
}

/** The mean: of decimals a decimal, else a double. */
export function meanOf(sum: NumberValue, count: number): NumberValue {
  return isIntegerValue(sum) ? makeDouble(Number(sum) / count) : divideNumbers(sum, count);
}

export function sumOf(numbers: Iterable<NumberValue>): NumberValue | null {
  let sum: NumberValue | null = null;
  for (const number of numbers) sum = sum === null ? number : addNumbers(sum, number);
  return sum;
}

/** The least (sign 1) or greatest (sign -1) value; null without any. */
export function extremeOf(values: Iterable<Value>, sign: 1 | -1): Value {
  let best: Value = null;
  for (const value of values) {
    if (value === null) continue;
    if (best === null || sign * compareTotal(value, best) < 0) best = value;
  }
  return best;
}

const count = aggregate<number>({
  init: () => 0,
  step: (state, args) => (argument(args, 0) === null ? state : state + 1),
  finish: state => state,
  numbers: {kind: 'count', counted: (state, more) => state + more},
});

const sum = aggregate<NumberValue | null>({
  init: () => null,
  step: (state, args) => {
    const value = argument(args, 0);
    if (typeof value === 'number' && state !== null) return addNumbers(state, value);
    const more = sumOf(numbersIn(value, 'sum'));
    return state === null || more === null ? (state ?? more) : addNumbers(state, more);
  },
  finish: state => state,
  numbers: {kind: 'sum', total: state => state, added: (_state, total) => total},
});

interface Mean {
  sum: NumberValue;
  count: number;
}

const avg = aggregate<Mean>({
  init: () => ({sum: 0, count: 0}),
  step: (state, args) => {
    for (const number of numbersIn(argument(args, 0), 'avg')) {
      state.sum = addNumbers(state.sum, number);
      state.count++;
    }
    return state;
  },
  finish: state => (state.count === 0 ? null : meanOf(state.sum, state.count)),
  numbers: {
    kind: 'sum',
    total: state => state.sum,
    added: (state, total, more) => ({sum: total, count: state.count + more}),
  },
});

function extreme(sign: 1 | -1): AggregateFunction {
  return aggregate<Value>({
    init: () => null,
    step: (state, args) => {
      const value = argument(args, 0);
      const items = itemsOf(value);
      return extremeOf(items === undefined ? [state, value] : [state, ...items], sign);
    },
    finish: state => state,
    numbers: {kind: 'extreme', sign},
  });
}

const first = aggregate<{readonly value: Value} | undefined>({
  init: () => undefined,
  step: (state, args) => state ?? {value: argument(args, 0)},
  finish: state => state?.value ?? null,
});

const last = aggregate<Value>({
  init: () => null,
  step: (_, args) => argument(args, 0),
  finish: state => state,
});

/** The items of all arguments, in order. */
const list = aggregate<Value[]>({
  init: () => [],
  step: (state, args) => {
    for (const item of asItems(argument(args, 0))) if (item !== null) state.push(item);
    return state;
  },
  finish: state => state,
});

const set = aggregate<Map<string | number, Value>>({
  init: () => new Map(),
  step: (state, args) => {
    for (const item of asItems(argument(args, 0))) {
      const key = groupKey(item);
      if (item !== null && !state.has(key)) state.set(key, item);
    }
    return state;
  },
  finish: state => [...state.values()],
});

const map = aggregate<Map<string, Value>>({
  init: () => new Map(),
  step: (state, args) => {
    addEntries(state, args);
    return state;
  },
  finish: state => state,
});

/** Adds maps, or keys and values in turn. */
function addEntries(into: Map<string, Value>, args: readonly Value[]): void {
  for (let at = 0; at < args.length; at++) {
    const key = argument(args, at);
    if (key === null) {
      at++;
    } else if (key instanceof Map) {
      for (const [name, value] of key) into.set(name, value);
    } else if (at + 1 >= args.length) {
      refuse('map needs keys and values in turn');
    } else {
      into.set(plainText(key), argument(args, ++at));
    }
  }
}

/** Every value so far says `wanted`, or one says the other. */
function truth(decides: boolean): AggregateFunction {
  return aggregate<boolean | null>({
    init: () => null,
    step: (state, args) => {
      const value = argument(args, 0);
      if (value === null || state === decides) return state;
      if (typeof value !== 'boolean') return refuse(`a boolean is needed, not ${describe(value)}`);
      return value;
    },
    finish: state => state,
  });
}

const concat = aggregate<string[]>({
  init: () => [],
  step: (state, args) => {
    const value = argument(args, 0);
    if (value === null) return state;
    const separator = args.length > 1 ? plainText(argument(args, 1)) : '';
    if (state.length > 0) state.push(separator);
    state.push(plainText(value));
    return state;
  },
  finish: state => {
    if (state.length === 0) return null;
    const length = state.reduce((total, part) => total + part.length, 0);
    return boundedText(length, () => state.join(''));
  },
});

/** An operation on lists, over the lists of all rows. */
function overLists(
  operate: (left: readonly Value[], right: readonly Value[]) => Value[],
): AggregateFunction {
  return aggregate<Value[] | undefined>({
    init: () => undefined,
    step: (state, args, call) => {
      const value = argument(args, 0);
      if (value === null) return state;
      const items = asItems(value);
      call.budget.spend(1 + items.length / 16);
      return state === undefined ? [...items] : operate(state, items);
    },
    finish: state => state ?? [],
  });
}

export const aggregates: FunctionFamily = {
  aggregates: {
    count,
    sum,
    avg,
    min: extreme(1),
    max: extreme(-1),
    first,
    last,
    list,
    set,
    distinct: set,
    map,
    unionAll: list,
    intersect: overLists(intersection),
    difference: overLists(difference),
    symmetricDifference: overLists(symmetricDifference),
    bool_and: truth(false),
    bool_or: truth(true),
    concat,
  },
  // The same names over the arguments of one call.
  scalars: {
    sum: args => sumOf(args.flatMap(arg => numbersIn(arg, 'sum'))),
    avg: args => {
      const numbers = args.flatMap(arg => numbersIn(arg, 'avg'));
      const total = sumOf(numbers);
      return total === null ? null : meanOf(total, numbers.length);
    },
    min: args => extremeOf(args.flatMap(asItems), 1),
    max: args => extremeOf(args.flatMap(asItems), -1),
    first: args => endOf(argument(args, 0), 0),
    last: args => endOf(argument(args, 0), -1),
    bool_and: args => args.every(arg => arg !== false),
    bool_or: args => args.includes(true),
    list: args => args.flatMap(asItems),
    set: args => [...new Map(args.flatMap(asItems).map(item => [groupKey(item), item])).values()],
    map: args => {
      const made = new Map<string, Value>();
      addEntries(made, args);
      return made;
    },
    unionAll: args => args.flatMap(asItems),
    intersect: args => operateAll(args, intersection),
    difference: args => operateAll(args, difference),
    symmetricDifference: args => operateAll(args, symmetricDifference),
  },
};

/** The first or last item of a list or value of a map; of anything else the value. */
function endOf(value: Value, at: 0 | -1): Value {
  const items = value instanceof Map ? [...value.values()] : itemsOf(value);
  return items === undefined ? value : (items.at(at) ?? null);
}

function operateAll(
  args: readonly Value[],
  operate: (left: readonly Value[], right: readonly Value[]) => Value[],
): Value[] {
  const [firstList = null, ...more] = args;
  return more.reduce<Value[]>(
    (left, right) => operate(left, asItems(right)),
    [...asItems(firstList)],
  );
}

/** Converts to doubles, for statistics. */
export function doublesIn(value: Value, name: string): number[] {
  return numbersIn(value, name).map(numberOf);
}
