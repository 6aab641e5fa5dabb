/**
 * Plans, statements and values as data that another thread can be given.
 *
 * They are plain objects, arrays, maps and sets but for two things: values that are instances of
 * the classes of model/value.ts, which lose their class on the way, and the texts of calls that
 * are made when they are needed. Both are replaced here and put back there; what occurs twice
 * occurs twice again, since operators tell nodes and expressions apart by identity.
 */
import {
  DateTimeValue,
  DateValue,
  Decimal,
  Double,
  DurationValue,
  EmbeddedValue,
  PathValue,
  PointValue,
  Rid,
  TimeValue,
} from '#server/model/value.ts';

/** What stands for a T on the way. Only `unpackPortable` looks inside. */
export interface Portable<T> {
  readonly packed: unknown;
  /** Not there: keeps the type in mind. */
  readonly of?: T;
}

const classes = {
  Double,
  Decimal,
  Rid,
  DateValue,
  DateTimeValue,
  TimeValue,
  DurationValue,
  PointValue,
  EmbeddedValue,
  PathValue,
};

type ClassName = keyof typeof classes;

const classNames: ReadonlyMap<unknown, ClassName> = new Map(
  Object.entries(classes).map(([name, {prototype}]) => [prototype, name as ClassName]),
);

/** Stand for an instance and for a text made when needed; no node of a plan has such members. */
const classMember = '#class';
const textMember = '#text';

/** Ends the packing of what holds something that belongs to this thread. */
class Unportable extends Error {}

/**
 * Ready to be cloned to another thread; undefined when it holds what belongs to this one, as a
 * record does, which has a store behind it. Cost: a copy of everything inside.
 */
export function packPortable<T>(value: T): Portable<T> | undefined {
  try {
    return {packed: copied(value, packObject)};
  } catch (error) {
    if (error instanceof Unportable) return undefined;
    throw error;
  }
}

/** What was packed, behind a clone or not. */
export function unpackPortable<T>({packed}: Portable<T>): T {
  return copied(packed, unpackObject) as T;
}

type Copy = (value: unknown) => unknown;

/** A copy of a tree or a net of objects, each copied once by `replace`. */
function copied(value: unknown, replace: (value: object, copy: Copy) => unknown): unknown {
  const done = new Map<object, unknown>();
  const copy: Copy = part => {
    if (typeof part === 'function') return {[textMember]: String(part())};
    if (typeof part !== 'object' || part === null) return part;
    const known = done.get(part);
    if (known !== undefined) return known;
    const made = replace(part, copy);
    done.set(part, made);
    return made;
  };
  return copy(value);
}

function packObject(value: object, copy: Copy): unknown {
  if (!isPlain(value)) {
    const name = classNames.get(Object.getPrototypeOf(value));
    if (name === undefined) throw new Unportable();
    return {...fields(value, copy), [classMember]: name};
  }
  return inside(value, copy);
}

function unpackObject(value: object, copy: Copy): unknown {
  if (textMember in value) {
    const text = String(value[textMember]);
    return () => text;
  }
  if (!(classMember in value)) return inside(value, copy);
  const {[classMember]: name, ...rest} = value;
  const {prototype} = classes[name as ClassName];
  return Object.assign(Object.create(prototype) as object, fields(rest, copy));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  return (
    Array.isArray(value) ||
    value instanceof Map ||
    value instanceof Set ||
    ArrayBuffer.isView(value)
  );
}

function inside(value: object, copy: Copy): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, copy(item)]));
  if (value instanceof Set) return value;
  // A part of a larger memory would be cloned with all of it.
  if (value instanceof Uint8Array) return new Uint8Array(value);
  if (ArrayBuffer.isView(value)) return (value as Float64Array).slice();
  return fields(value, copy);
}

function fields(value: object, copy: Copy): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, field] of Object.entries(value)) made[name] = copy(field);
  return made;
}
