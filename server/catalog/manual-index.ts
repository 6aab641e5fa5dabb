/**
 * Indexes that are filled by hand: `CREATE INDEX words UNIQUE STRING`. Pure; see change.ts.
 *
 * The entries of such an index are the records of a document type of its name: the parts of a key
 * and the id that it leads to. So they are written, read, indexed, checked, granted and rolled back
 * as records are, and there is no second kind of index.
 */
import type {DataType} from '#server/model/data-type.ts';
import type {Catalog} from './catalog.ts';
import type {CatalogType} from './catalog-type.ts';
import {conflictRefusal, existsRefusal, type SchemaChange} from './change.ts';
import {createIndex, type NewIndex} from './change-index.ts';
import {createProperty} from './change-property.ts';
import {createType} from './change-type.ts';
import type {IndexDefinition} from './definition.ts';

export interface NewManualIndex extends Pick<NewIndex, 'kind' | 'unique' | 'nullStrategy'> {
  readonly name: string;
  /** Data types of the parts of a key. */
  readonly keyTypes: readonly DataType[];
  /** Id of a property's name in the dictionary. */
  readonly nameId: (name: string) => number;
}

/** The property of an entry that holds the id. */
export const entryRid = 'rid';

/** The changes, one after another. */
export function createManualIndex(
  catalog: Catalog,
  requested: NewManualIndex,
): readonly SchemaChange[] {
  const {name: typeName, keyTypes, nameId, kind, unique, nullStrategy} = requested;
  if (catalog.index(typeName) !== undefined) throw existsRefusal('INDEX', typeName);
  const changes = [createType(catalog, {name: typeName, kind: 'document'})];
  const last = (): Catalog => changes.at(-1)?.catalog ?? catalog;
  const keys = keyTypes.map((type, at) => ({
    name: keyTypes.length === 1 ? 'key' : `key${at}`,
    type,
  }));
  for (const {name, type} of [...keys, {name: entryRid, type: 'LINK' as const}]) {
    const attributes = name === entryRid ? {mandatory: true, notNull: true} : {};
    const property = {typeName, name, nameId: nameId(name), type, attributes};
    changes.push(createProperty(last(), property));
  }
  const properties = keys.map(({name}) => ({name, ignoreCase: false}));
  const index = {name: typeName, typeName, properties, kind, unique, nullStrategy, manual: true};
  changes.push(createIndex(last(), index));
  return changes;
}

/** The index whose entries are the records of the type, if it is such a type. */
export function manualIndexOf(catalog: Catalog, type: CatalogType): IndexDefinition | undefined {
  return catalog.ownIndexes(type.id).find(index => index.manual === true);
}

/** Refuses what would part the index from its type. @throws {Refusal} `schema.conflict`. */
export function requireNoManualIndex(catalog: Catalog, name: string): void {
  const type = catalog.requireType(name);
  const index = manualIndexOf(catalog, type);
  if (index === undefined) return;
  throw conflictRefusal(
    `type '${name}' holds the entries of an index that is filled by hand: DROP INDEX drops both`,
  );
}
