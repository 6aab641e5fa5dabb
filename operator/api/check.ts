/**
 * Holds a value against a schema of schema.ts, with the defaults put in: what the API server does
 * at admission, done again by the operator for what came past it (a definition of an older release,
 * an API server without CEL).
 *
 * Covers what schema.ts can say, and nothing more. Unknown fields are dropped, as pruning does.
 */
import type {Field, JsonSchema, ObjectOf, Presence, ValueOf} from './schema.ts';
import type {Rule} from './rules.ts';

export interface Checked<T> {
  /** Defaults in place, unknown fields dropped. Of any use only without problems. */
  readonly value: T;
  /** Sentences that begin with the path of the field. */
  readonly problems: readonly string[];
}

type Shape = JsonSchema & {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema;
  readonly enum?: readonly string[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly default?: unknown;
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean;
};

export function check<F extends Field<unknown, Presence>>(
  schema: F,
  value: unknown,
  path: string,
): Checked<ValueOf<F>> {
  const problems: string[] = [];
  const checked = read(schema.json, value, path, problems);
  return {value: checked as ValueOf<F>, problems};
}

/** Works like `check`, with the rules over several fields behind it where the fields are right. */
export function checkSpec<
  Spec extends ObjectOf<Readonly<Record<string, Field<unknown, Presence>>>>,
>(
  schema: Field<Spec, Presence>,
  rules: readonly Rule<Spec>[],
  {value, old}: {readonly value: unknown; readonly old?: Spec | undefined},
): Checked<Spec> {
  const checked: Checked<Spec> = check<Field<Spec, Presence>>(schema, value, 'spec');
  if (checked.problems.length > 0) return checked;
  const broken = rules.filter(rule => !rule.holds(checked.value, old));
  return {...checked, problems: broken.map(({path, message}) => `${path}: ${message}`)};
}

function read(schema: Shape, given: unknown, path: string, problems: string[]): unknown {
  const value = given === undefined || given === null ? schema.default : given;
  if (value === undefined) return undefined;
  switch (schema.type) {
    case 'object':
      return readObject(schema, value, path, problems);
    case 'array':
      return readList(schema, value, path, problems);
    case 'integer':
      return readInteger(schema, value, path, problems);
    case 'boolean':
      if (typeof value !== 'boolean') problems.push(`${path}: must be true or false`);
      return value;
    default:
      return readText(schema, value, path, problems);
  }
}

function readObject(schema: Shape, value: unknown, path: string, problems: string[]): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    problems.push(`${path}: must be an object`);
    return value;
  }
  if (schema['x-kubernetes-preserve-unknown-fields'] === true) return value;
  const given = value as Readonly<Record<string, unknown>>;
  const {properties, additionalProperties, required = []} = schema;
  const kept: Record<string, unknown> = {};
  if (additionalProperties !== undefined) {
    const entries = Object.entries(given);
    const max = schema.maxProperties ?? entries.length;
    if (entries.length > max) problems.push(`${path}: has ${entries.length} keys, at most ${max}`);
    for (const [key, item] of entries) {
      kept[key] = read(additionalProperties, item, `${path}.${key}`, problems);
    }
    return kept;
  }
  for (const [name, property] of Object.entries(properties ?? {})) {
    const item = read(property, given[name], `${path}.${name}`, problems);
    if (item !== undefined) kept[name] = item;
    else if (required.includes(name)) problems.push(`${path}.${name}: is required`);
  }
  return kept;
}

function readList(schema: Shape, value: unknown, path: string, problems: string[]): unknown {
  if (!Array.isArray(value)) {
    problems.push(`${path}: must be a list`);
    return value;
  }
  const max = schema.maxItems ?? value.length;
  if (value.length > max) problems.push(`${path}: has ${value.length} items, at most ${max}`);
  const items = (schema.items ?? {}) as Shape;
  return value.map((item, index) => read(items, item, `${path}[${index}]`, problems));
}

function readInteger(schema: Shape, value: unknown, path: string, problems: string[]): unknown {
  const {minimum = -Infinity, maximum = Infinity} = schema;
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    problems.push(`${path}: must be a whole number`);
  } else if (value < minimum || value > maximum) {
    problems.push(`${path}: must be from ${minimum} to ${maximum}, and is ${value}`);
  }
  return value;
}

function readText(schema: Shape, value: unknown, path: string, problems: string[]): unknown {
  if (typeof value !== 'string') {
    problems.push(`${path}: must be text`);
    return value;
  }
  const {pattern, minLength = 0, maxLength = Infinity, enum: words} = schema;
  const shown = value.slice(0, 80);
  if (words !== undefined && !words.includes(value)) {
    problems.push(`${path}: must be one of ${words.join(', ')}, and is '${shown}'`);
  } else if (value.length < minLength || value.length > maxLength) {
    problems.push(`${path}: must have from ${minLength} to ${maxLength} characters`);
  } else if (pattern !== undefined && !new RegExp(pattern).test(value)) {
    problems.push(`${path}: '${shown}' does not match ${pattern}`);
  }
  return value;
}
