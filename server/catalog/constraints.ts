/**
 * Constraints that were given names: custom attributes of their types, one each.
 *
 * The rules themselves are indexes and attributes of properties; what is kept here says which of
 * them belong to which name.
 */
import type {Catalog} from './catalog.ts';

export type ConstraintKind = 'UNIQUE' | 'KEY' | 'NOT_NULL' | 'TYPED';

export interface StoredConstraint {
  readonly kind: ConstraintKind;
  readonly properties: readonly string[];
  /** The unique index that keeps it. */
  readonly index?: string;
  /** The type of a typed property, as it was written. */
  readonly propertyType?: string;
}

export interface NamedConstraint extends StoredConstraint {
  readonly name: string;
  readonly typeName: string;
  readonly entity: 'NODE' | 'RELATIONSHIP';
}

const prefix = 'cypher.constraint.';

/** The custom attribute that holds a constraint. */
export function constraintKey(name: string): string {
  return `${prefix}${name}`;
}

/** All of a schema, by name. An attribute of another form is passed over. */
export function constraintsOf(catalog: Catalog): readonly NamedConstraint[] {
  const found: NamedConstraint[] = [];
  for (const type of catalog.types) {
    for (const [key, value] of type.definition.custom) {
      const stored = key.startsWith(prefix) ? parse(value) : undefined;
      if (stored === undefined) continue;
      const entity = type.kind === 'edge' ? 'RELATIONSHIP' : 'NODE';
      found.push({...stored, name: key.slice(prefix.length), typeName: type.name, entity});
    }
  }
  return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function parse(value: unknown): StoredConstraint | undefined {
  if (typeof value !== 'string') return undefined;
  try {
    const stored = JSON.parse(value) as StoredConstraint;
    return Array.isArray(stored.properties) ? stored : undefined;
  } catch {
    return undefined;
  }
}
