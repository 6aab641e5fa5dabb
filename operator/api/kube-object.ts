/**
 * Kubernetes objects as the operator's pure parts see them: plain JSON, with the metadata that is
 * the same for all kinds.
 *
 * Invariant: nothing here holds a `Date` or a class; what the API server sent and what is sent to
 * it are the same shapes, so that they can be compared.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonMap;

export interface JsonMap {
  readonly [key: string]: Json | undefined;
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  /** RFC 3339. */
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec?: JsonMap;
  readonly status?: JsonMap;
  readonly data?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** The value of an annotation or label; undefined where it is absent. */
export function annotationOf({metadata}: Pick<KubeObject, 'metadata'>, name: string) {
  return metadata.annotations?.[name];
}

export function labelOf({metadata}: Pick<KubeObject, 'metadata'>, name: string) {
  return metadata.labels?.[name];
}

/** Reads a path of a JSON value; undefined as soon as something on the way is no object. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let here: unknown = value;
  for (const key of path) {
    if (typeof here !== 'object' || here === null || Array.isArray(here)) return undefined;
    here = (here as Record<string, unknown>)[key];
  }
  return here;
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

export function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? (found as readonly unknown[]) : [];
}

/** JSON with the keys of every object in order: equal values print equally. Undefined is absent. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  const printed = entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${printed.join(',')}}`;
}

/**
 * Twelve letters and digits that stand for a value. Not cryptographic: it tells templates of one
 * cluster apart, and a person who forges one only restarts his own pods.
 */
export function hashOf(value: unknown): string {
  const text = canonicalJson(value);
  let low = 0x811c9dc5;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) ^ (high >>> 13);
  }
  const part = (word: number): string => (word >>> 0).toString(36).padStart(7, '0').slice(-6);
  return part(low) + part(high);
}
