/**
 * Changes of types: create, alter, drop. Pure; see change.ts.
 *
 * A supertype has the kind of its subtype or is a document type. The graph of supertypes never
 * has a cycle, and no property means two things in one lineage.
 */
import {Refusal} from '#server/base/errors.ts';
import {parseDataType} from '#server/model/data-type.ts';
import type {MapValue, RecordKind, Value} from '#server/model/value.ts';
import type {Catalog} from './catalog.ts';
import {agree, type CatalogType} from './catalog-type.ts';
import {
  change,
  checkName,
  conflictRefusal,
  existsRefusal,
  type SchemaChange,
  withType,
} from './change.ts';
import {claimBuckets} from './change-bucket.ts';
import type {
  BucketSelection,
  EdgeTraits,
  IndexDefinition,
  PropertyDefinition,
  TypeDefinition,
  ViewDefinition,
} from './definition.ts';

const bucketsMax = 1_024;

export interface NewType {
  readonly name: string;
  readonly kind: RecordKind;
  readonly superTypes?: readonly string[];
  /** How many buckets are made for it, default 1; not together with `bucketNames`. */
  readonly bucketCount?: number;
  /** Buckets to use: free ones are taken, absent ones are made. */
  readonly bucketNames?: readonly string[];
  readonly lightweight?: boolean;
  readonly unique?: boolean;
  readonly unidirectional?: boolean;
  readonly custom?: MapValue;
  readonly view?: ViewDefinition;
}

export function createType(catalog: Catalog, requested: NewType): SchemaChange {
  checkName(requested.name, 'type');
  if (catalog.type(requested.name) !== undefined) throw existsRefusal('TYPE', requested.name);
  const superTypes = (requested.superTypes ?? []).map(name => catalog.requireType(name));
  const id = catalog.data.typeIdNext;
  checkEdgeTraits(requested);
  const bucketCount = requested.bucketCount ?? 1;
  if (!Number.isInteger(bucketCount) || bucketCount < 1 || bucketCount > bucketsMax) {
    throw new Refusal('argument', `a type has 1 to ${bucketsMax} buckets, not ${bucketCount}`);
  }
  const claimed = claimBuckets(catalog, requested.name, requested.bucketNames ?? bucketCount);
  const definition: TypeDefinition = {
    id,
    name: requested.name,
    kind: requested.kind,
    superTypeIds: [...new Set(superTypes.map(type => type.id))],
    properties: [],
    bucketIds: claimed.bucketIds,
    aliases: [],
    bucketSelection: {kind: 'round-robin'},
    edge: {
      lightweight: requested.lightweight ?? false,
      unique: requested.unique ?? false,
      unidirectional: requested.unidirectional ?? false,
    },
    custom: requested.custom ?? new Map(),
    ...(requested.view && {view: requested.view}),
  };
  checkSuperTypes(definition, superTypes);
  return change(catalog, {
    types: [...catalog.data.types, definition],
    typeIdNext: id + 1,
    ...claimed.changes,
  });
}

export function renameType(catalog: Catalog, name: string, newName: string): SchemaChange {
  const type = catalog.requireType(name);
  checkName(newName, 'type');
  if (catalog.type(newName) !== undefined) throw existsRefusal('TYPE', newName);
  const types = withType(catalog, type.id, {name: newName});
  return change(catalog, {types: withElements(types, type.name, newName)});
}

/** Properties that hold documents or records OF a type, under its new name or of any type. */
function withElements(
  types: readonly TypeDefinition[],
  name: string,
  newName: string | undefined,
): readonly TypeDefinition[] {
  return types.map(type => {
    if (!type.properties.some(property => isOfType(property, name))) return type;
    const properties = type.properties.map(property => {
      if (!isOfType(property, name)) return property;
      const {ofType: _, ...rest} = property;
      return newName === undefined ? rest : {...rest, ofType: newName};
    });
    return {...type, properties};
  });
}

/** Whether a property is declared OF the type; a data type of that name is another thing. */
function isOfType({ofType, type}: PropertyDefinition, name: string): boolean {
  if (ofType !== name) return false;
  return type === 'LINK' || type === 'EMBEDDED' || parseDataType(ofType) === undefined;
}

/** Another type's property declared OF the type: `T.p`. */
export function propertyOf(catalog: Catalog, type: CatalogType): string | undefined {
  for (const other of catalog.types) {
    const {properties} = other.definition;
    const property =
      other === type ? undefined : properties.find(each => isOfType(each, type.name));
    if (property !== undefined) return `${other.name}.${property.name}`;
  }
  return undefined;
}

/** Replaces the supertypes. A type that becomes indexed by an inherited index has it rebuilt. */
export function setSuperTypes(
  catalog: Catalog,
  name: string,
  superTypeNames: readonly string[],
): SchemaChange {
  const type = catalog.requireType(name);
  const superTypes = superTypeNames.map(superName => catalog.requireType(superName));
  for (const superType of superTypes) {
    if (superType.lineage.includes(type)) {
      throw conflictRefusal(`type '${name}' cannot be below itself (through '${superType.name}')`);
    }
  }
  checkSuperTypes(type.definition, superTypes);
  const superTypeIds = [...new Set(superTypes.map(superType => superType.id))];
  const next = change(catalog, {types: withType(catalog, type.id, {superTypeIds})});
  return rebuildWhereScopeChanged(catalog, next);
}

/** Adds or removes one supertype. */
export function addSuperType(catalog: Catalog, name: string, superName: string): SchemaChange {
  const names = catalog.requireType(name).superTypes.map(type => type.name);
  return setSuperTypes(catalog, name, [...names, catalog.requireType(superName).name]);
}

export function removeSuperType(catalog: Catalog, name: string, superName: string): SchemaChange {
  const names = catalog.requireType(name).superTypes.map(type => type.name);
  const removed = catalog.requireType(superName).name;
  if (!names.includes(removed)) {
    throw conflictRefusal(`'${superName}' is not a supertype of '${name}'`);
  }
  return setSuperTypes(
    catalog,
    name,
    names.filter(other => other !== removed),
  );
}

export function setAliases(
  catalog: Catalog,
  name: string,
  aliases: readonly string[],
): SchemaChange {
  const type = catalog.requireType(name);
  for (const alias of aliases) {
    checkName(alias, 'type');
    const holder = catalog.type(alias);
    if (holder !== undefined && (holder !== type || alias === type.name)) {
      throw existsRefusal('TYPE', alias);
    }
  }
  return change(catalog, {types: withType(catalog, type.id, {aliases: [...new Set(aliases)]})});
}

/** Sets one custom attribute; null removes it. */
export function setTypeCustom(
  catalog: Catalog,
  name: string,
  key: string,
  value: Value,
): SchemaChange {
  const type = catalog.requireType(name);
  const custom = withEntry(type.definition.custom, key, value);
  return change(catalog, {types: withType(catalog, type.id, {custom})});
}

/** Records that are there stay where they are; `settle` tells when all lie where they belong. */
export function setBucketSelection(
  catalog: Catalog,
  name: string,
  requested: BucketSelection,
  {hasRecords}: HasRecords,
): SchemaChange {
  const type = catalog.requireType(name);
  let bucketSelection = requested;
  if (requested.kind === 'partitioned') {
    const {kind, properties} = requested;
    const unique = type.indexes.some(
      index =>
        index.unique &&
        index.properties.length === properties.length &&
        index.properties.every((property, at) => property.name === properties[at]),
    );
    if (!unique) {
      throw conflictRefusal(
        `partitioning '${name}' by ${properties.join(', ')} needs a unique index on exactly that`,
      );
    }
    const {bucketSelection: old} = type.definition;
    const isSame = old.kind === kind && old.properties.join() === properties.join();
    const isSettled = !hasRecords || (isSame && old.settled === true);
    bucketSelection = {kind, properties, ...(isSettled && {settled: true})};
  }
  return change(catalog, {types: withType(catalog, type.id, {bucketSelection})});
}

/** All records of the type lie where their values lead. */
export function settle(catalog: Catalog, typeId: number): SchemaChange {
  const bucketSelection = catalog.typeById(typeId)?.definition.bucketSelection;
  if (bucketSelection?.kind !== 'partitioned') return change(catalog, {});
  const settled = {...bucketSelection, settled: true as const};
  return change(catalog, {types: withType(catalog, typeId, {bucketSelection: settled})});
}

export interface HasRecords {
  /** Whether any record lies in the type's own buckets. */
  readonly hasRecords: boolean;
}

/** Changes the buckets of a type; with another number of them values lead to other ones. */
function withBuckets(
  type: CatalogType,
  bucketIds: readonly number[],
  {hasRecords}: HasRecords,
): Partial<TypeDefinition> {
  const {bucketSelection} = type.definition;
  if (bucketSelection.kind !== 'partitioned' || !hasRecords) return {bucketIds};
  const {kind, properties} = bucketSelection;
  return {bucketIds, bucketSelection: {kind, properties}};
}

export function addTypeBucket(
  catalog: Catalog,
  name: string,
  bucketName: string,
  records: HasRecords,
): SchemaChange {
  const type = catalog.requireType(name);
  const claimed = claimBuckets(catalog, name, [bucketName]);
  const bucketIds = [...type.bucketIds, ...claimed.bucketIds];
  const types = withType(catalog, type.id, withBuckets(type, bucketIds, records));
  return change(catalog, {types, ...claimed.changes});
}

/** The bucket stays, as nobody's; the caller has seen that it is empty. */
export function removeTypeBucket(
  catalog: Catalog,
  name: string,
  bucketName: string,
  records: HasRecords,
): SchemaChange {
  const type = catalog.requireType(name);
  const bucket = catalog.requireBucket(bucketName);
  if (!type.bucketIds.includes(bucket.id)) {
    throw conflictRefusal(`bucket '${bucketName}' does not belong to type '${name}'`);
  }
  if (type.bucketIds.length === 1) {
    throw conflictRefusal(`type '${name}' needs at least one bucket`);
  }
  const bucketIds = type.bucketIds.filter(id => id !== bucket.id);
  return change(catalog, {
    types: withType(catalog, type.id, withBuckets(type, bucketIds, records)),
  });
}

/**
 * Changes what is promised of the edges of a type.
 *
 * @throws {Refusal} `schema.conflict` where edges that are there may not keep the promise.
 */
export function setEdgeTraits(
  catalog: Catalog,
  name: string,
  traits: Partial<EdgeTraits>,
  {hasRecords}: HasRecords,
): SchemaChange {
  const type = catalog.requireType(name);
  const edge = {...type.edge, ...traits};
  checkEdgeTraits({name, kind: type.kind, ...traits});
  const isKept = edge.lightweight === type.edge.lightweight && edge.unique === type.edge.unique;
  if (hasRecords && !isKept) {
    throw conflictRefusal(
      `edge type '${name}' has edges: whether they have records and may repeat is said before`,
    );
  }
  if (edge.lightweight && (type.properties.size > 0 || type.indexes.length > 0)) {
    throw conflictRefusal(`edge type '${name}' has properties or indexes, so it cannot be light`);
  }
  return change(catalog, {types: withType(catalog, type.id, {edge})});
}

/**
 * Subtypes stay and become roots, properties OF the type take any. Inherited indexes are rebuilt
 * when the type has records, which vanish bucket by bucket, without a look at their keys.
 */
export function dropType(
  catalog: Catalog,
  name: string,
  options: {readonly hasRecords: boolean},
): SchemaChange {
  const type = catalog.requireType(name);
  const types = catalog.data.types
    .filter(other => other.id !== type.id)
    .map(other => ({
      ...other,
      superTypeIds: other.superTypeIds.filter(id => id !== type.id),
    }));
  const buckets = catalog.data.buckets.filter(bucket => !type.bucketIds.includes(bucket.id));
  const indexes = catalog.data.indexes.filter(index => index.typeId !== type.id);
  const triggers = catalog.triggers.filter(trigger => trigger.typeId !== type.id);
  const next = change(
    catalog,
    {types: withElements(types, type.name, undefined), buckets, indexes, triggers},
    {
      bucketIdsDropped: type.bucketIds,
      indexIdsDropped: catalog.ownIndexes(type.id).map(index => index.id),
    },
  );
  const scopeChanged = options.hasRecords || type.subTypes.length > 0;
  return scopeChanged ? rebuildWhereScopeChanged(catalog, next) : next;
}

/** A map with one entry set, or removed when `value` is null. */
export function withEntry(map: MapValue, key: string, value: Value): MapValue {
  const next = new Map(map);
  if (value === null) next.delete(key);
  else next.set(key, value);
  return next;
}

/**
 * An index whose set of types changed holds too many or too few keys: its keys are dropped and
 * it is built again under a new id.
 */
function rebuildWhereScopeChanged(before: Catalog, next: SchemaChange): SchemaChange {
  const stale = next.catalog.data.indexes.filter(index => {
    const old = before.typeById(index.typeId);
    const now = next.catalog.typeById(index.typeId);
    return old?.familyBucketIds.join() !== now?.familyBucketIds.join();
  });
  if (stale.length === 0) return next;
  let indexIdNext = next.catalog.data.indexIdNext;
  const rebuilt = new Map<number, IndexDefinition>();
  for (const index of stale) {
    rebuilt.set(index.id, {...index, id: indexIdNext++, state: 'building'});
  }
  const indexes = next.catalog.data.indexes.map(index => rebuilt.get(index.id) ?? index);
  const changed = change(before, {...next.catalog.data, indexes, indexIdNext});
  return {
    catalog: changed.catalog,
    bucketIdsDropped: next.bucketIdsDropped,
    indexIdsDropped: [...next.indexIdsDropped, ...stale.map(index => index.id)],
    indexesToBuild: [...rebuilt.values()],
  };
}

function checkEdgeTraits(requested: Pick<NewType, 'name' | 'kind'> & Partial<EdgeTraits>): void {
  if (requested.kind === 'edge') return;
  if (requested.lightweight || requested.unique || requested.unidirectional) {
    throw conflictRefusal(
      `'${requested.name}' is no edge type, so it cannot have an edge's traits`,
    );
  }
}

/** @throws {Refusal} `schema.conflict` when what is inherited does not fit together. */
export function checkSuperTypes(type: TypeDefinition, superTypes: readonly CatalogType[]): void {
  const own = new Set(type.properties.map(property => property.name));
  const seen = new Map<string, PropertyDefinition>();
  const lineage = new Set(superTypes.flatMap(superType => superType.lineage));
  for (const superType of lineage) {
    if (superType.kind !== type.kind && superType.kind !== 'document') {
      throw conflictRefusal(
        `${type.kind} type '${type.name}' cannot extend ` +
          `the ${superType.kind} type '${superType.name}'`,
      );
    }
    if (type.edge.lightweight && superType.definition.properties.length > 0) {
      throw conflictRefusal(`light edge type '${type.name}' cannot inherit properties`);
    }
    for (const property of superType.definition.properties) {
      const other = seen.get(property.name);
      if (own.has(property.name) || (other !== undefined && !agree(other, property))) {
        throw conflictRefusal(
          `property '${property.name}' would come to '${type.name}' from two places`,
        );
      }
      seen.set(property.name, property);
    }
  }
}
