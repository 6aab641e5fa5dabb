/**
 * Arguments of administrative commands: what they are called, of which kind they are, and how they
 * are read from what a client gave by name.
 *
 * Null counts as not given. A value of another kind is refused, never bent into the right one.
 */
import {Refusal} from '#server/base/errors.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import {jsonText} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';

/** What a command gets for an argument of each kind. */
interface ArgumentValues {
  text: string;
  /** An integer of 32 bits. */
  integer: number;
  /** Milliseconds since 1970, or 0. */
  time: number;
  flag: boolean;
  /** Plain data, as JSON has it. */
  document: unknown;
  /** Whatever was given under no other name. */
  options: ReadonlyMap<string, Value>;
}

export type ArgumentKind = keyof ArgumentValues;

export interface Argument<K extends ArgumentKind = ArgumentKind, O extends boolean = boolean> {
  readonly kind: K;
  readonly isOptional: O;
  /** What it means; for the manual. */
  readonly says: string;
  /** Written into no log and shown in no list. */
  readonly isSecret?: boolean;
  /** What a client is told that left it out; otherwise it is told how the command is written. */
  readonly missing?: string;
}

export type ArgumentTable = Readonly<Record<string, Argument>>;

/** The values of a table's arguments, by name. */
export type ArgumentsOf<T extends ArgumentTable> = {
  readonly [N in keyof T]: T[N] extends Argument<infer K, infer O>
    ? ArgumentValues[K] | (O extends true ? undefined : never)
    : never;
};

/** What a client gave, by name. */
export type Given = ReadonlyMap<string, Value>;

/** A required argument is missing, or words are not those of the command. */
export class WrongWords extends Error {
  override readonly name = 'WrongWords';
}

export function argument<K extends ArgumentKind>(
  kind: K,
  says: string,
  missing?: string,
): Argument<K, false> {
  return {kind, isOptional: false, says, ...(missing === undefined ? {} : {missing})};
}

export function optional<K extends ArgumentKind>(kind: K, says: string): Argument<K, true> {
  return {kind, isOptional: true, says};
}

export function secret<O extends boolean>(argument: Argument<'text', O>): Argument<'text', O> {
  return {...argument, isSecret: true};
}

/**
 * The arguments of a table from what was given. Names that the table does not have are left alone,
 * unless one of its arguments takes all options.
 *
 * @throws {Refusal} `request.field` for a value of another kind; `argument` for one that is missing
 *   and says so. @throws {WrongWords} for another one that is missing.
 */
export function readArguments<T extends ArgumentTable>(table: T, given: Given): ArgumentsOf<T> {
  const values: Record<string, unknown> = {};
  for (const [name, argument] of Object.entries(table)) {
    const value =
      argument.kind === 'options'
        ? new Map([...given].filter(([key]) => table[key] === undefined))
        : readValue(name, argument.kind, given.get(name) ?? undefined);
    if (!argument.isOptional && (value === undefined || value === '')) {
      if (argument.missing === undefined) throw new WrongWords(`'${name}' is missing`);
      throw new Refusal('argument', argument.missing);
    }
    values[name] = value;
  }
  return values as ArgumentsOf<T>;
}

/** What would have to be given so that `readArguments` reads these values. */
export function givenOf<T extends ArgumentTable>(table: T, values: ArgumentsOf<T>): Given {
  const given = new Map<string, Value>();
  for (const [name, {kind}] of Object.entries(table)) {
    const value: unknown = values[name];
    if (value === undefined) continue;
    if (kind !== 'options') {
      given.set(
        name,
        kind === 'document' ? parseJsonText(JSON.stringify(value)) : (value as Value),
      );
    } else for (const [key, option] of value as Given) given.set(key, option);
  }
  return given;
}

function readValue(name: string, kind: ArgumentKind, value: Value | undefined): unknown {
  if (value === undefined) return undefined;
  const shape = shapes[kind];
  if (shape.fits(value)) return kind === 'document' ? JSON.parse(jsonText(value)) : value;
  throw new Refusal('request.field', `Field '${name}' must be ${shape.says}`);
}

const shapes: Readonly<
  Record<ArgumentKind, {readonly says: string; readonly fits: (value: Value) => boolean}>
> = {
  text: {says: 'a string', fits: value => typeof value === 'string'},
  integer: {
    says: 'an integer in 32 bits',
    fits: value => typeof value === 'number' && Number.isInteger(value) && (value | 0) === value,
  },
  time: {
    says: 'a whole number of milliseconds',
    fits: value => typeof value === 'number' && Number.isSafeInteger(value) && value >= 0,
  },
  flag: {says: 'true or false', fits: value => typeof value === 'boolean'},
  document: {says: 'a value', fits: () => true},
  options: {says: 'options', fits: () => true},
};
