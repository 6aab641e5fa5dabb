/**
 * The arguments of tools: described once, printed as a JSON schema, and read by the same
 * description. An argument that the tool does not know is passed over, as clients send more than
 * one asks for; one of a wrong kind is refused by its name, with what is allowed.
 *
 * Values are those of the model's parser, so that 64-bit integers and 5.0 stay what they are.
 */
import type {MapValue, Value} from '#server/model/value.ts';
import {isIntegerValue, isNumberValue, numberOf} from '#server/model/number.ts';
import {ToolRefusal} from './tool-refusal.ts';

/** A JSON schema, as far as tools need one. */
export interface JsonSchema {
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  readonly default?: string | number | boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minProperties?: number;
  readonly maxLength?: number;
}

/** One argument: how it is printed and read. `T` holds undefined where it may be absent. */
export interface Argument<T> {
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
  /** @param value - Undefined: absent, or null. @throws {ToolRefusal} */
  readonly read: (value: Value | undefined, name: string) => T;
}

export type ArgumentFields = Readonly<Record<string, Argument<unknown>>>;
export type Arguments<F extends ArgumentFields> = {
  readonly [K in keyof F]: ReturnType<F[K]['read']>;
};

/** The schema of all arguments of a tool. */
export function schemaOf(fields: ArgumentFields): JsonSchema {
  const entries = Object.entries(fields);
  return {
    type: 'object',
    properties: Object.fromEntries(entries.map(([name, {schema}]) => [name, schema])),
    required: entries.filter(([, {isRequired}]) => isRequired).map(([name]) => name),
  };
}

/** @throws {ToolRefusal} for the first argument, in the order of the fields, that is wrong. */
export function readArguments<F extends ArgumentFields>(fields: F, given: MapValue): Arguments<F> {
  const read = Object.entries(fields).map(([name, argument]) => [
    name,
    argument.read(given.get(name) ?? undefined, name),
  ]);
  return Object.fromEntries(read) as Arguments<F>;
}

/** A required argument becomes one that may be absent. */
export function optional<T>(argument: Argument<T>): Argument<T | undefined> {
  return {
    schema: argument.schema,
    isRequired: false,
    read: (value, name) => (value === undefined ? undefined : argument.read(value, name)),
  };
}

/** Works like `optional`, with a value for the absent one. */
export function withDefault<T extends string | number | boolean>(
  argument: Argument<T>,
  absent: T,
): Argument<T> {
  return {
    schema: {...argument.schema, default: absent},
    isRequired: false,
    read: (value, name) => (value === undefined ? absent : argument.read(value, name)),
  };
}

/** Text that is not blank. */
export function text(description: string, lengthMax?: number): Argument<string> {
  const bound = lengthMax === undefined ? {} : {maxLength: lengthMax};
  return required({type: 'string', description, ...bound}, (value, name) => {
    if (typeof value !== 'string') throw mustBe(name, 'a string');
    if (value.trim() === '') throw isMissing(name);
    if (lengthMax !== undefined && value.length > lengthMax) {
      throw mustBe(name, `at most ${lengthMax} characters long`);
    }
    return value;
  });
}

/** Text that may be empty. */
export function anyText(description: string): Argument<string> {
  return required({type: 'string', description}, (value, name) => {
    if (typeof value === 'string') return value;
    throw mustBe(name, 'a string');
  });
}

/** One of several words, whatever their case; answers the word as it is listed. */
export function oneOf<W extends string>(description: string, words: readonly W[]): Argument<W> {
  return required({type: 'string', description, enum: words}, (value, name) => {
    const wished = typeof value === 'string' ? value.toLowerCase() : undefined;
    const word = words.find(listed => listed.toLowerCase() === wished);
    if (word !== undefined) return word;
    throw mustBe(name, `one of ${words.join(', ')}`);
  });
}

/** A whole number from `minimum` to `maximum`; 5.0 is one. */
export function integer(description: string, minimum: number, maximum: number): Argument<number> {
  return required({type: 'integer', description, minimum, maximum}, (value, name) => {
    const number = wholeNumber(value);
    if (number === undefined) throw mustBe(name, 'an integer');
    if (number >= minimum && number <= maximum) return number;
    throw mustBe(name, `between ${minimum} and ${maximum}`);
  });
}

export function flag(description: string): Argument<boolean> {
  return required({type: 'boolean', description}, (value, name) => {
    if (typeof value === 'boolean') return value;
    throw mustBe(name, 'true or false');
  });
}

/** A list of texts, at most `itemsMax`. */
export function texts(description: string, itemsMax?: number): Argument<readonly string[]> {
  const bound = itemsMax === undefined ? {} : {maxItems: itemsMax};
  const schema: JsonSchema = {type: 'array', items: {type: 'string'}, ...bound, description};
  return required(schema, (value, name) => {
    if (!isList(value)) throw mustBe(name, 'an array of strings');
    if (itemsMax !== undefined && value.length > itemsMax) {
      throw mustBe(name, `an array of at most ${itemsMax} strings`);
    }
    return value.map(item => {
      if (typeof item === 'string') return item;
      throw mustBe(name, 'an array of strings');
    });
  });
}

/** A list of numbers, as they came; the kind of number is left to whoever uses them. */
export function numbers(
  description: string,
  items: JsonSchema = {type: 'number'},
): Argument<readonly Value[]> {
  const schema: JsonSchema = {type: 'array', items, description};
  return required(schema, (value, name) => {
    if (isList(value) && value.every(isNumberValue)) return value;
    throw mustBe(name, 'an array of numbers');
  });
}

/** An object of any fields. */
export function object(description: string, schema: JsonSchema = {}): Argument<MapValue> {
  return required({type: 'object', ...schema, description}, (value, name) => {
    if (value instanceof Map) return value as MapValue;
    throw mustBe(name, 'an object');
  });
}

/**
 * Described here and read by whoever gets the arguments as they came, who refuses them in the same
 * words for every protocol.
 */
export function readBehind<F extends ArgumentFields>(
  fields: F,
): {[K in keyof F]: Argument<unknown>} {
  const behind = Object.entries(fields).map(([name, argument]) => {
    return [name, {...argument, read: (value: Value | undefined) => value}];
  });
  return Object.fromEntries(behind) as {[K in keyof F]: Argument<unknown>};
}

function required<T>(schema: JsonSchema, read: (value: Value, name: string) => T): Argument<T> {
  return {
    schema,
    isRequired: true,
    read(value, name) {
      if (value === undefined) throw isMissing(name);
      return read(value, name);
    },
  };
}

function wholeNumber(value: Value): number | undefined {
  if (isIntegerValue(value)) return Number(value);
  const number = isNumberValue(value) ? numberOf(value) : Number.NaN;
  return Number.isInteger(number) ? number : undefined;
}

function isList(value: Value): value is readonly Value[] {
  return Array.isArray(value);
}

function mustBe(name: string, what: string): ToolRefusal {
  return new ToolRefusal(`'${name}' must be ${what}`);
}

function isMissing(name: string): ToolRefusal {
  return new ToolRefusal(`'${name}' is required`);
}
