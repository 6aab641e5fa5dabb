/**
 * Checks of a JSON document against a description of its fields, so that whoever wrote it is told
 * which field is wrong, where it stands and what is allowed there.
 *
 * Every field of a group may be absent: what is missing is taken from elsewhere by the caller. A
 * field that the description does not know is refused, because it would be read and ignored.
 */
import {Refusal} from '#server/base/errors.ts';

/** Gives the value of a field. @throws {Refusal} `argument`, naming the field `at`. */
export type Check<T> = (value: unknown, at: string) => T;

type Fields = Readonly<Record<string, Check<unknown>>>;
type Group<T extends Fields> = {readonly [K in keyof T]?: ReturnType<T[K]> | undefined};

export function group<T extends Fields>(fields: T): Check<Group<T>> {
  return (value, at) => {
    const object = objectAt(value, at);
    const checked: Record<string, unknown> = {};
    for (const [key, given] of Object.entries(object)) {
      const check = Object.hasOwn(fields, key) ? fields[key] : undefined;
      if (check === undefined) {
        const known = Object.keys(fields).join(', ');
        throw refused(inside(at, key), `is no field of the configuration: ${known} are known`);
      }
      checked[key] = check(given, inside(at, key));
    }
    return checked as Group<T>;
  };
}

/** An object whose keys are names, each with a value of the same form. */
export function named<T>(
  checkName: (name: string, at: string) => void,
  check: Check<T>,
): Check<ReadonlyMap<string, T>> {
  return (value, at) => {
    const entries = Object.entries(objectAt(value, at)).map(([name, given]): [string, T] => {
      checkName(name, inside(at, name));
      return [name, check(given, inside(at, name))];
    });
    return new Map(entries);
  };
}

/** Also accepts `null`, by which an inherited value is taken away. */
export function orNone<T>(check: Check<T>): Check<T | null> {
  return (value, at) => (value === null ? null : check(value, at));
}

export const flag: Check<boolean> = (value, at) => {
  if (typeof value === 'boolean') return value;
  throw refused(at, `must be true or false, not ${shown(value)}`);
};

export function integer(least: number, most: number): Check<number> {
  return (value, at) => {
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) {
      return value;
    }
    throw refused(at, `must be a whole number from ${least} to ${most}, not ${shown(value)}`);
  };
}

export function numberFrom(least: number, most: number): Check<number> {
  return (value, at) => {
    if (typeof value === 'number' && value >= least && value <= most) return value;
    throw refused(at, `must be a number from ${least} to ${most}, not ${shown(value)}`);
  };
}

export function oneOf<T extends string>(...words: readonly T[]): Check<T> {
  return (value, at) => {
    const found = words.find(word => word === value);
    if (found !== undefined) return found;
    throw refused(at, `must be ${words.join(' or ')}, not ${shown(value)}`);
  };
}

/** A text for which `fault` knows nothing to say. */
export function text(fault: (value: string) => string | undefined): Check<string> {
  return (value, at) => {
    if (typeof value !== 'string') throw refused(at, `must be a text, not ${shown(value)}`);
    const found = fault(value);
    if (found !== undefined) throw refused(at, found);
    return value;
  };
}

export function refused(at: string, what: string): Refusal {
  return new Refusal('argument', `backup configuration: ${at} ${what}`, {detail: {field: at}});
}

function objectAt(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return value as Readonly<Record<string, unknown>>;
  }
  throw refused(at === '' ? 'the document' : at, `must be an object, not ${shown(value)}`);
}

function inside(at: string, key: string): string {
  return at === '' ? key : `${at}.${key}`;
}

/** Cut short, because it is repeated to whoever sent it. */
function shown(value: unknown): string {
  const written = JSON.stringify(value) ?? String(value);
  return written.length > 60 ? `${written.slice(0, 57)}...` : written;
}
