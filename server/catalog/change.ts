/**
 * What a change of the schema gives: the next catalog and the physical work that goes with it.
 *
 * Changes are pure functions of a catalog; whoever runs one writes the encoded catalog and does
 * the work in the same commit (or, for builds and large drops, in a resumable sequence).
 */
import {Refusal} from '#server/base/errors.ts';
import {Catalog} from './catalog.ts';
import type {CatalogData, IndexDefinition, TypeDefinition} from './definition.ts';

export interface SchemaChange {
  readonly catalog: Catalog;
  /** Buckets whose records and counters are to be removed; the caller saw that they are free. */
  readonly bucketIdsDropped: readonly number[];
  /** Indexes whose keys are to be removed. */
  readonly indexIdsDropped: readonly number[];
  /** Indexes in state `building`, to be filled from the records and then marked ready. */
  readonly indexesToBuild: readonly IndexDefinition[];
}

type Work = Partial<Omit<SchemaChange, 'catalog'>>;

/** The next version of the catalog with `changes` applied. */
export function change(
  catalog: Catalog,
  changes: Partial<Omit<CatalogData, 'version'>>,
  work: Work = {},
): SchemaChange {
  const data = {...catalog.data, ...changes, version: catalog.data.version + 1};
  return {
    catalog: new Catalog(data, catalog.families),
    bucketIdsDropped: work.bucketIdsDropped ?? [],
    indexIdsDropped: work.indexIdsDropped ?? [],
    indexesToBuild: work.indexesToBuild ?? [],
  };
}

/** The types with one replaced. */
export function withType(
  catalog: Catalog,
  id: number,
  update: Partial<TypeDefinition>,
): readonly TypeDefinition[] {
  return catalog.data.types.map(type => (type.id === id ? {...type, ...update} : type));
}

const nameLengthMax = 256;

/** Parts of a line or paragraph, and what turns the direction of text around it or is not seen. */
const unseen = /[\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

/**
 * Refuses what cannot name something of the schema. Names of every script are allowed, in one form
 * of Unicode, so that two names that look the same are the same.
 */
export function checkName(
  name: string,
  what: 'type' | 'property' | 'index' | 'bucket' | 'function' | 'trigger',
): void {
  // Control characters, quotes of names and what separates names in statements and files.
  const allowed =
    what === 'index' ? /^[^\u0000-\u001f\u007f`]+$/ : /^[^\u0000-\u001f\u007f`,:/\\]+$/;
  const fault =
    name.length > nameLengthMax
      ? `it has more than ${nameLengthMax} characters`
      : name.trim() !== name || name === ''
        ? 'it begins or ends with a blank, or is empty'
        : !allowed.test(name)
          ? 'it has a character that names cannot have'
          : !name.isWellFormed() || unseen.test(name)
            ? 'it has a character that nobody sees'
            : name.normalize('NFC') !== name
              ? `letters and their marks are written as one (NFC): '${name.normalize('NFC')}'`
              : undefined;
  if (fault !== undefined) {
    const shown = name.slice(0, 80).toWellFormed();
    throw new Refusal('argument', `'${shown}' cannot be the name of a ${what}: ${fault}`, {
      detail: {name: shown},
    });
  }
  if (what !== 'index' && name.startsWith('@')) {
    throw new Refusal('argument', `'${name}' cannot be the name of a ${what}: @ is reserved`);
  }
}

/** `schema.exists` with the kind that clients of the documented protocols look for. */
export function existsRefusal(
  kind: 'TYPE' | 'PROPERTY' | 'INDEX' | 'BUCKET' | 'FUNCTION' | 'TRIGGER' | 'MATERIALIZED_VIEW',
  name: string,
): Refusal {
  const word = kind.charAt(0) + kind.slice(1).toLowerCase().replace('_', ' ');
  return new Refusal('schema.exists', `${word} '${name}' already exists`, {
    detail: {args: kind, name},
  });
}

export function conflictRefusal(message: string): Refusal {
  return new Refusal('schema.conflict', message);
}
