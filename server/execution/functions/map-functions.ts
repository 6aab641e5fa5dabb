/**
 * `map.*`: new maps out of maps. The order of the keys is kept, a new key comes last.
 */
import {groupKey} from '#server/model/compare.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {asItems, itemsOf, mapOf, propertyOf} from '../expressions/access.ts';
import {plainText} from '../expressions/arithmetic.ts';
import type {CallContext} from '../context.ts';
import type {FunctionFamily, ScalarFunction} from '../function-registry.ts';
import {argument, itemsAt, listAt, mapAt, namesFrom, refuse, textAt} from './arguments.ts';

const depthMax = 64;

/** A map argument, which may be a record. */
function onMap(
  name: string,
  operate: (map: MapValue, args: readonly Value[], call: CallContext) => Value,
): ScalarFunction {
  return (args, call) => operate(mapAt(args, 0, name, call), args, call);
}

function clean(map: MapValue, args: readonly Value[]): Value {
  const keys = new Set(namesFrom([argument(args, 1)], 0));
  const values = new Set(itemsAt(args, 2).map(groupKey));
  return new Map([...map].filter(([key, value]) => !keys.has(key) && !values.has(groupKey(value))));
}

function flatten(
  map: MapValue,
  delimiter: string,
  prefix: string,
  depth: number,
): Map<string, Value> {
  if (depth > depthMax) refuse(`maps in maps go ${depthMax} deep at most`);
  const flat = new Map<string, Value>();
  for (const [key, value] of map) {
    if (value instanceof Map && value.size > 0) {
      const inner = flatten(value, delimiter, prefix + key + delimiter, depth + 1);
      for (const [name, each] of inner) flat.set(name, each);
    } else flat.set(prefix + key, value);
  }
  return flat;
}

function unflatten(map: MapValue, delimiter: string): Value {
  if (delimiter === '') return map;
  const root = new Map<string, Value>();
  for (const [key, value] of map) {
    const parts = key.split(delimiter, depthMax + 1);
    if (parts.length > depthMax) refuse(`maps in maps go ${depthMax} deep at most`);
    let at = root;
    for (const part of parts.slice(0, -1)) {
      const known = at.get(part);
      const inner: Map<string, Value> = known instanceof Map ? known : new Map();
      at.set(part, inner);
      at = inner;
    }
    at.set(parts.at(-1) ?? key, value);
  }
  return root;
}

function fromLists(args: readonly Value[]): Value {
  const keys = listAt(args, 0, 'map.fromLists');
  const values = listAt(args, 1, 'map.fromLists');
  if (keys.length !== values.length) refuse('the two lists must be equally long');
  return new Map(keys.map((key, at): [string, Value] => [plainText(key), values[at] ?? null]));
}

function fromPairs(args: readonly Value[]): Value {
  return new Map(
    listAt(args, 0, 'map.fromPairs').map((pair): [string, Value] => {
      const items = itemsOf(pair);
      if (items === undefined || items.length < 2) return refuse('a pair is [key, value]');
      return [plainText(items[0] ?? null), items[1] ?? null];
    }),
  );
}

function groupBy(args: readonly Value[], call: CallContext): Value {
  const groups = new Map<string, Value[]>();
  const name = textAt(args, 1);
  for (const item of listAt(args, 0, 'map.groupBy')) {
    const value = propertyOf(item, name, call.graph) ?? null;
    if (value === null) continue;
    const key = plainText(value);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}

function mergeAll(maps: readonly Value[], call: CallContext): Value {
  const merged = new Map<string, Value>();
  for (const value of maps) {
    if (value === null) continue;
    for (const [key, each] of mapOf(value, call.graph) ?? refuse('only maps can be merged')) {
      merged.set(key, each);
    }
  }
  return merged;
}

function without(map: MapValue, keys: readonly string[]): Value {
  const gone = new Set(keys);
  return new Map([...map].filter(([key]) => !gone.has(key)));
}

function sorted(map: MapValue, args: readonly Value[]): Value {
  const ignoreCase = argument(args, 1) === true;
  const order = (key: string): string => (ignoreCase ? key.toLowerCase() : key);
  const entries = [...map].sort(([left], [right]) => (order(left) < order(right) ? -1 : 1));
  return entries.map(([key, value]) => [key, value]);
}

function submap(map: MapValue, args: readonly Value[]): Value {
  const defaults = args.length > 2 ? asItems(argument(args, 2)) : [];
  const chosen = new Map<string, Value>();
  namesFrom([argument(args, 1)], 0).forEach((key, at) => {
    const value = map.get(key) ?? defaults[at];
    if (value !== undefined) chosen.set(key, value);
  });
  return chosen;
}

function values(map: MapValue, args: readonly Value[]): Value {
  if (args.length < 2) return [...map.values()];
  const keys = namesFrom([argument(args, 1)], 0);
  const known = argument(args, 2) === true ? keys : keys.filter(key => map.has(key));
  return known.map(key => map.get(key) ?? null);
}

export const mapFunctions: FunctionFamily = {
  scalars: {
    'map.clean': onMap('map.clean', clean),
    'map.flatten': onMap('map.flatten', (map, args) => flatten(map, textAt(args, 1, '.'), '', 0)),
    'map.unflatten': onMap('map.unflatten', (map, args) => unflatten(map, textAt(args, 1, '.'))),
    'map.fromLists': fromLists,
    'map.fromPairs': fromPairs,
    'map.groupBy': groupBy,
    'map.merge': mergeAll,
    'map.mergeList': (args, call) => mergeAll(listAt(args, 0, 'map.mergeList'), call),
    'map.removeKey': onMap('map.removeKey', (map, args) => without(map, [textAt(args, 1)])),
    'map.removeKeys': onMap('map.removeKeys', (map, args) => without(map, namesFrom(args, 1))),
    'map.setKey': onMap('map.setKey', (map, args) =>
      new Map(map).set(textAt(args, 1), argument(args, 2)),
    ),
    'map.sortedProperties': onMap('map.sortedProperties', sorted),
    'map.submap': onMap('map.submap', submap),
    'map.values': onMap('map.values', values),
  },
};
