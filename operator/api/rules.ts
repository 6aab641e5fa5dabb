/**
 * A rule over several fields of a spec, said twice side by side: in CEL for the API server, and as
 * a function for the operator, which checks again what reached it past an API server that skipped
 * its rules. A test evaluates both over the same cases.
 */

export interface Rule<Spec> {
  /** Field of the resource at which the rule is put into its schema, such as `spec.storage`. */
  readonly path: string;
  readonly cel: string;
  /** What is wrong and what to do. */
  readonly message: string;
  /** `old`: the spec before; undefined for a new resource and where the operator knows none. */
  readonly holds: (spec: Spec, old: Spec | undefined) => boolean;
}

/** CEL: an optional field does not change. */
export function unchanged(name: string): string {
  const [now, before] = [`self.${name}`, `oldSelf.${name}`];
  return `has(${now}) == has(${before}) && (!has(${now}) || ${now} == ${before})`;
}
