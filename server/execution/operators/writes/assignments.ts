/**
 * Assignments to a record's properties, applied in order to a map of them.
 *
 * Values are immutable, so a change inside a list or map copies the way down to it. Keys that
 * start with `@` are attributes and never become properties.
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {equalValues} from '#server/model/compare.ts';
import {isIntegerValue} from '#server/model/number.ts';
import {EmbeddedValue, type MapValue, RecordValue, type Value} from '#server/model/value.ts';
import type {Expression} from '#server/plan/expression.ts';
import type {Assignment} from '#server/plan/node.ts';
import {itemsOf, mapOf} from '../../expressions/access.ts';
import {describe} from '../../expressions/arithmetic.ts';
import type {Closure, Compiler, RowCursor} from '../../closure.ts';

/** Changes `properties` in place; answers how many it set or took away. */
export type Assign = (properties: Map<string, Value>, cursor: RowCursor) => number;

export function prepareAssignments(assignments: readonly Assignment[], compiler: Compiler): Assign {
  const steps = assignments.map(assignment => prepareOne(assignment, compiler));
  return (properties, cursor) => {
    let count = 0;
    for (const step of steps) count += step(properties, cursor);
    return count;
  };
}

function prepareOne(assignment: Assignment, compiler: Compiler): Assign {
  switch (assignment.kind) {
    case 'set': {
      const value = compiler.expression(assignment.value);
      const {name, dropsNull = false} = assignment;
      return (properties, cursor) => setProperty(properties, name, value(cursor), dropsNull);
    }
    case 'remove': {
      const {name} = assignment;
      return properties => Number(properties.delete(name));
    }
    case 'content':
      return prepareContent(assignment, compiler);
    case 'set-inside': {
      const value = compiler.expression(assignment.value);
      return inside(assignment.path, compiler, cursor => {
        const assigned = storable(value(cursor));
        return () => assigned;
      });
    }
    case 'remove-inside': {
      const value = assignment.value && compiler.expression(assignment.value);
      if (value === undefined) return inside(assignment.path, compiler, () => () => undefined);
      return inside(assignment.path, compiler, cursor => {
        const removed = value(cursor);
        return old => withoutItem(old, removed);
      });
    }
    default:
      return unreachable(assignment);
  }
}

/** Sets or, where null takes a property away, drops one; answers whether anything changed, as 1. */
export function setProperty(
  properties: Map<string, Value>,
  name: string,
  value: Value,
  dropsNull: boolean,
): number {
  const assigned = storable(value);
  if (assigned === null && dropsNull) return Number(properties.delete(name));
  properties.set(name, assigned);
  return 1;
}

/** How the properties of a map become those of a record. */
export interface ContentRules {
  /** Whatever the map does not name is taken away. */
  readonly replace: boolean;
  readonly dropsNull?: boolean;
}

/** Sets what the map names, in its order; answers how many were set or taken away. */
export function setContent(
  properties: Map<string, Value>,
  map: ReadonlyMap<string, Value>,
  {replace, dropsNull = false}: ContentRules,
): number {
  let count = 0;
  if (replace) {
    for (const name of properties.keys()) if (!map.has(name)) count++;
    properties.clear();
  }
  for (const [name, value] of map) {
    if (!name.startsWith('@')) count += setProperty(properties, name, value, dropsNull);
  }
  return count;
}

/** A record inside a record is kept as a link to it. */
function storable(value: Value): Value {
  if (value instanceof RecordValue) return value.rid;
  const items = Array.isArray(value) ? itemsOf(value) : undefined;
  if (items?.some(item => item instanceof RecordValue) === true) return items.map(storable);
  return value;
}

function prepareContent(
  assignment: Assignment & {readonly kind: 'content'},
  compiler: Compiler,
): Assign {
  const value = compiler.expression(assignment.value);
  return (properties, cursor) => {
    const content = value(cursor);
    const map = mapOf(content, cursor.context.graph);
    if (map === undefined) {
      throw new Refusal('query.execution', `CONTENT needs a map, not ${describe(content)}`);
    }
    return setContent(properties, map, assignment);
  };
}

type Edit = (old: Value) => Value | undefined;

function inside(
  path: readonly (string | Expression)[],
  compiler: Compiler,
  prepareEdit: (cursor: RowCursor) => Edit,
): Assign {
  const parts: readonly (string | Closure)[] = path.map(part =>
    typeof part === 'string' ? part : compiler.expression(part),
  );
  return (properties, cursor) => {
    const keys = parts.map(part => (typeof part === 'string' ? part : part(cursor)));
    const [first, ...rest] = keys;
    assert(typeof first === 'string', 'a path begins with the name of a property');
    const changed = editAt(properties.get(first) ?? null, rest, prepareEdit(cursor));
    if (changed === undefined) properties.delete(first);
    else properties.set(first, changed);
    return 1;
  };
}

/** The value with `edit` applied at the end of the path; undefined: take it out. */
function editAt(value: Value, path: readonly Value[], edit: Edit): Value | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return edit(value);
  if (isIntegerValue(key)) return editItem(value, Number(key), rest, edit);
  if (typeof key !== 'string') {
    throw new Refusal('query.execution', `${describe(key)} is no key and no position`);
  }
  if (value instanceof EmbeddedValue) {
    return new EmbeddedValue(value.typeName, editEntry(value.properties, key, rest, edit));
  }
  if (value !== null && !(value instanceof Map)) {
    throw new Refusal('query.execution', `${describe(value)} has no key '${key}'`);
  }
  return editEntry(value ?? new Map(), key, rest, edit);
}

function editEntry(map: MapValue, key: string, rest: readonly Value[], edit: Edit): MapValue {
  const copy = new Map(map);
  const changed = editAt(copy.get(key) ?? null, rest, edit);
  if (changed === undefined) copy.delete(key);
  else copy.set(key, changed);
  return copy;
}

function editItem(value: Value, at: number, rest: readonly Value[], edit: Edit): Value {
  const items = itemsOf(value ?? []);
  if (items === undefined || at < 0 || at > 1_000_000) {
    throw new Refusal('query.execution', `${describe(value)} has no item ${at}`);
  }
  const copy = [...items];
  const changed = editAt(copy[at] ?? null, rest, edit);
  if (changed === undefined) copy.splice(at, 1);
  else {
    while (copy.length < at) copy.push(null);
    copy[at] = changed;
  }
  return copy;
}

/** A list without an item equal to `removed`, or a map without that key. */
function withoutItem(old: Value, removed: Value): Value {
  if (old instanceof Map) {
    const copy = new Map(old);
    if (typeof removed === 'string') copy.delete(removed);
    return copy;
  }
  const items = itemsOf(old);
  if (items === undefined) return old;
  const at = items.findIndex(item => equalValues(item, removed));
  return at < 0 ? items : [...items.slice(0, at), ...items.slice(at + 1)];
}
