/**
 * Methods of lists, maps and records: size, keys, include, sort, remove, transform, ...
 */
import {compareTotal, groupKey} from '#server/model/compare.ts';
import {RecordValue, Rid, type Value} from '#server/model/value.ts';
import {Refusal} from '#server/base/errors.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import {asItems, attributeOf, itemOf, itemsOf, mapOf} from '../expressions/access.ts';
import {describe, plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import {argument, boundedText, namesFrom, refuse, textAt} from './arguments.ts';
import {isEmpty} from './general.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';

/** How many items a value has, or characters a text; another single value is one, null none. */
export function sizeOf(value: Value): number {
  if (value === null) return 0;
  if (typeof value === 'string') return value.length;
  if (value instanceof Map) return value.size;
  return itemsOf(value)?.length ?? 1;
}

/** The items as one text; bounded. */
export function joinItems(items: readonly Value[], separator: string): string {
  const texts = items.map(item => (item === null ? '' : plainText(item)));
  const length = texts.reduce((total, text) => total + text.length + separator.length, 0);
  return boundedText(length, () => texts.join(separator));
}

export function sortItems(items: readonly Value[], descending: boolean): Value[] {
  const sorted = [...items].sort(compareTotal);
  return descending ? sorted.reverse() : sorted;
}

/** A list without one (or every) item that is equal to one of those taken. */
function withoutItems(args: readonly Value[], every: boolean): Value {
  const [value = null, ...taken] = args;
  if (value === null) return null;
  const items = itemsOf(value) ?? refuse(`a list is needed, not ${describe(value)}`);
  const left = new Map<string | number, number>();
  for (const item of taken.flatMap(asItems)) {
    const key = groupKey(item);
    left.set(key, (left.get(key) ?? 0) + 1);
  }
  return items.filter(item => {
    const key = groupKey(item);
    const count = left.get(key) ?? 0;
    if (count === 0) return true;
    if (!every) left.set(key, count - 1);
    return false;
  });
}

/** Properties chosen by name; `name*` chooses by the beginning. */
function chooseProperties(args: readonly Value[], keep: boolean, call: CallContext): Value {
  const value = argument(args, 0);
  const items = itemsOf(value);
  if (items !== undefined) {
    return items.map(item => chooseProperties([item, ...args.slice(1)], keep, call));
  }
  const names = namesFrom(args, 1);
  const exact = new Set(names);
  const prefixes = names.filter(name => name.endsWith('*')).map(name => name.slice(0, -1));
  const chosen = new Map<string, Value>();
  for (const [name, property] of mapOf(value, call.graph) ?? []) {
    const named = exact.has(name) || prefixes.some(prefix => name.startsWith(prefix));
    if (named === keep) chosen.set(name, property);
  }
  if (keep && (value instanceof RecordValue || value instanceof Rid)) {
    for (const name of names) {
      if (name.startsWith('@')) chosen.set(name, itemOf(value, name, call.graph));
    }
  }
  return chosen;
}

function entriesOf(value: Value, call: CallContext): ReadonlyMap<string, Value> {
  return mapOf(value, call.graph) ?? new Map();
}

/** `transform('toLowerCase', 'trim')`: the methods one after the other, on each item. */
function transform(find: (name: string) => ScalarFunction | undefined): ScalarFunction {
  return (args, call) => {
    const methods = namesFrom(args, 1).map(name => {
      const signature = functionSignature(`.${name}`);
      const method = signature?.later === undefined ? find(`.${name}`) : undefined;
      if (method !== undefined && (signature?.argsMin ?? 0) === 0) return method;
      throw new Refusal(
        'query.unknown-function',
        `there is no method '${name.slice(0, 40)}' without arguments`,
      );
    });
    return asItems(argument(args, 0)).map(item =>
      methods.reduce<Value>((value, method) => {
        call.budget.spend(1);
        return value === null ? null : method([value], call);
      }, item),
    );
  };
}

export const collectionMethods: FunctionFamily = {
  scalars: {
    '.size': ([value = null]) => sizeOf(value),
    '.keys': ([value = null], call) => [...entriesOf(value, call).keys()],
    '.values': ([value = null], call) => {
      const items = itemsOf(value);
      return items ?? [...entriesOf(value, call).values()];
    },
    '.include': (args, call) => chooseProperties(args, true, call),
    '.exclude': (args, call) => chooseProperties(args, false, call),
    '.field': (args, call) => {
      const name = textAt(args, 1);
      const value = argument(args, 0);
      return name === '@this'
        ? attributeOf(value, 'this', call.graph)
        : itemOf(value, name, call.graph);
    },
    '.ifempty': ([value = null, otherwise = null]) => (isEmpty(value) ? otherwise : value),
    '.ifnull': ([value = null, otherwise = null]) => value ?? otherwise,
    '.join': args => joinItems(asItems(argument(args, 0)), textAt(args, 1, ',')),
    '.remove': args => withoutItems(args, false),
    '.removeAll': args => withoutItems(args, true),
    '.sort': args => sortItems(asItems(argument(args, 0)), argument(args, 1) === false),
  },
};

/** `transform` needs to find the other methods. */
export function transformMethod(
  find: (name: string) => ScalarFunction | undefined,
): FunctionFamily {
  return {scalars: {'.transform': transform(find)}};
}
