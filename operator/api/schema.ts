/**
 * A small language for the fields of a resource, from which everything else follows: the type that
 * the operator reads, the OpenAPI schema of the resource definition, the defaults, and the check of
 * a value that reached the operator past the API server's own checks.
 *
 * Every text and list has a limit, so that the cost of rules in CEL stays inside the API server's
 * budget.
 */

export type JsonSchema = Readonly<Record<string, unknown>>;

export type Presence = 'required' | 'optional' | 'defaulted';

/** A value of type T, as a schema; `T` and `P` exist for the compiler alone. */
export interface Field<T, P extends Presence = 'required'> {
  readonly json: JsonSchema;
  readonly presence: Presence;
  readonly shape?: {readonly value: T; readonly presence: P};
}

type Fields = Readonly<Record<string, Field<unknown, Presence>>>;

/** The type of an object with these fields, defaults applied. */
export type ObjectOf<F extends Fields> = {
  readonly [K in keyof F]: F[K] extends Field<infer T, infer P>
    ? P extends 'optional'
      ? T | undefined
      : T
    : never;
};

export type ValueOf<F> = F extends Field<infer T, Presence> ? T : never;

interface Said {
  readonly says: string;
}

interface TextLimits extends Said {
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength: number;
}

function field<T>(json: JsonSchema): Field<T> {
  return {json, presence: 'required'};
}

export function text({says, ...limits}: TextLimits): Field<string> {
  return field({type: 'string', ...limits, description: says});
}

export function integer({
  says,
  min,
  max,
  format = 'int32',
}: Said & {readonly min: number; readonly max: number; readonly format?: string}): Field<number> {
  return field({type: 'integer', format, minimum: min, maximum: max, description: says});
}

export function flag({says}: Said): Field<boolean> {
  return field({type: 'boolean', description: says});
}

export function oneOf<const V extends readonly string[]>(
  values: V,
  {says}: Said,
): Field<V[number]> {
  return field({type: 'string', enum: values, description: says});
}

/** RFC 3339, as metav1.Time is written. */
export function time({says}: Said): Field<string> {
  return field({type: 'string', format: 'date-time', maxLength: 40, description: says});
}

/** A Kubernetes quantity: `10Gi`, `500m`. */
export function quantity({says}: Said): Field<string> {
  const pattern = '^([0-9]+|[0-9]*\\.[0-9]+)(m|k|Ki|M|Mi|G|Gi|T|Ti|P|Pi|E|Ei)?$';
  return field({type: 'string', pattern, maxLength: 20, description: says});
}

/** A duration: `90s`, `10m`, `6h`, `30d`; read by `durationMs`. */
export function duration({says}: Said): Field<string> {
  return field({type: 'string', pattern: DURATION, maxLength: 12, description: says});
}

const DURATION = '^[0-9]{1,6}(ms|s|m|h|d)$';
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration that its schema accepts. */
export function durationMs(value: string): number {
  const [, count = '', unit = ''] = /^([0-9]{1,6})(ms|s|m|h|d)$/.exec(value) ?? [];
  return Number(count) * (UNIT_MS[unit] ?? Number.NaN);
}

export function object<const F extends Fields>({says}: Said, fields: F): Field<ObjectOf<F>> {
  const required = Object.entries(fields)
    .filter(([, {presence}]) => presence === 'required')
    .map(([name]) => name);
  return field({
    type: 'object',
    description: says,
    ...(required.length === 0 ? {} : {required}),
    properties: Object.fromEntries(Object.entries(fields).map(([name, {json}]) => [name, json])),
  });
}

/** An object whose keys are the user's. */
export function mapOf<T>(
  {says, max}: Said & {readonly max: number},
  value: Field<T>,
): Field<Readonly<Record<string, T>>> {
  return field({
    type: 'object',
    description: says,
    maxProperties: max,
    additionalProperties: value.json,
  });
}

/** @param keys - Fields that tell items apart: the list is merged by them. */
export function listOf<T>(
  {says, max, keys}: Said & {readonly max: number; readonly keys?: readonly string[]},
  item: Field<T>,
): Field<readonly T[]> {
  return field({
    type: 'array',
    description: says,
    maxItems: max,
    items: item.json,
    ...(keys === undefined
      ? {'x-kubernetes-list-type': 'atomic'}
      : {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys}),
  });
}

/** A part of a pod as Kubernetes defines it, passed on as it is and checked where it arrives. */
export function ofKubernetes({says}: Said): Field<Readonly<Record<string, unknown>>> {
  const json = {type: 'object', 'x-kubernetes-preserve-unknown-fields': true};
  return field({...json, description: says});
}

export function optional<T>({json}: Field<T, Presence>): Field<T, 'optional'> {
  return {json, presence: 'optional'};
}

/**
 * Absent stands for `value`. Of an object, `{}` is enough to write: the defaults of its fields are
 * added here, because the API server judges a default by the rules in CEL as it stands, and refuses
 * a definition whose rules do not find their fields in it.
 */
export function defaulted<T>({json}: Field<T>, value: unknown): Field<T, 'defaulted'> {
  return {json: {...json, default: completed(json, value)}, presence: 'defaulted'};
}

function completed({properties}: JsonSchema, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || properties === undefined) return value;
  const inner = Object.entries(properties as Readonly<Record<string, JsonSchema>>)
    .filter(([, schema]) => 'default' in schema)
    .map(([name, schema]) => [name, schema['default']] as const);
  return {...Object.fromEntries(inner), ...value};
}
