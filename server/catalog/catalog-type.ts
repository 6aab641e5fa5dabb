/**
 * One type with everything that follows from its place among the other types.
 *
 * Computed once per catalog value (catalog.ts) and never changed: a lookup is a field or a map.
 */
import type {RecordKind} from '#server/model/value.ts';
import type {
  CatalogData,
  EdgeTraits,
  IndexDefinition,
  PropertyDefinition,
  TriggerDefinition,
  TypeDefinition,
} from './definition.ts';

export interface CatalogType {
  readonly definition: TypeDefinition;
  readonly id: number;
  readonly name: string;
  readonly kind: RecordKind;
  readonly edge: EdgeTraits;
  /** Direct supertypes, in order of declaration. */
  readonly superTypes: readonly CatalogType[];
  /** Direct subtypes, in order of creation. */
  readonly subTypes: readonly CatalogType[];
  /** This type and every type above it, nearest first. */
  readonly lineage: readonly CatalogType[];
  /** This type and every type below it; their ids for a quick test. */
  readonly family: readonly CatalogType[];
  readonly familyIds: ReadonlySet<number>;
  /** Own buckets. */
  readonly bucketIds: readonly number[];
  /** Buckets of the whole family, in order of the types' creation. */
  readonly familyBucketIds: readonly number[];
  /** Own and inherited properties by name. */
  readonly properties: ReadonlyMap<string, PropertyDefinition>;
  /** The same by dictionary id. */
  readonly propertiesById: ReadonlyMap<number, PropertyDefinition>;
  /** Properties that a record must be checked against (mandatory, notNull, ...) or filled in. */
  readonly ruledProperties: readonly PropertyDefinition[];
  /**
   * Properties whose values are kept compressed (layout/compressed-value.ts): external or
   * compressed.
   */
  readonly compressedProperties: readonly PropertyDefinition[];
  /** Indexes that a record of this type has keys in: own and inherited, any state. */
  readonly indexes: readonly IndexDefinition[];
  /** Own and inherited ones, in order of creation. */
  readonly triggers: readonly TriggerDefinition[];
}

interface Draft {
  readonly definition: TypeDefinition;
  readonly superTypes: CatalogType[];
  readonly subTypes: CatalogType[];
  readonly lineage: CatalogType[];
  readonly family: CatalogType[];
  readonly familyIds: Set<number>;
  readonly familyBucketIds: number[];
  readonly properties: Map<string, PropertyDefinition>;
  readonly propertiesById: Map<number, PropertyDefinition>;
  readonly ruledProperties: PropertyDefinition[];
  readonly compressedProperties: PropertyDefinition[];
  readonly indexes: IndexDefinition[];
  readonly triggers: TriggerDefinition[];
}

/** Links the definitions to types. Cost: types times their depth; the schema has no cycles. */
export function linkTypes({
  types: definitions,
  indexes,
  triggers,
}: CatalogData): ReadonlyMap<number, CatalogType> {
  const types = new Map<number, CatalogType & Draft>();
  for (const definition of definitions) types.set(definition.id, draft(definition));
  for (const type of types.values()) {
    for (const id of type.definition.superTypeIds) {
      const superType = types.get(id);
      if (superType === undefined) continue;
      type.superTypes.push(superType);
      superType.subTypes.push(type);
    }
  }
  for (const type of types.values()) collectLineage(type, type.lineage);
  for (const type of types.values()) {
    for (const ancestor of type.lineage) {
      const above = types.get(ancestor.id);
      above?.family.push(type);
      above?.familyIds.add(type.id);
      above?.familyBucketIds.push(...type.bucketIds);
    }
    collectProperties(type);
    const lineageIds = new Set(type.lineage.map(ancestor => ancestor.id));
    type.indexes.push(...indexes.filter(index => lineageIds.has(index.typeId)));
    type.triggers.push(...triggers.filter(trigger => lineageIds.has(trigger.typeId)));
  }
  return types;
}

function draft(definition: TypeDefinition): CatalogType & Draft {
  const {id, name, kind, edge, bucketIds} = definition;
  return {
    definition,
    id,
    name,
    kind,
    edge,
    bucketIds,
    superTypes: [],
    subTypes: [],
    lineage: [],
    family: [],
    familyIds: new Set(),
    familyBucketIds: [],
    properties: new Map(),
    propertiesById: new Map(),
    ruledProperties: [],
    compressedProperties: [],
    indexes: [],
    triggers: [],
  };
}

function collectLineage(type: CatalogType, into: CatalogType[]): void {
  if (into.includes(type)) return;
  into.push(type);
  for (const superType of type.superTypes) collectLineage(superType, into);
}

/** Inherited properties come first; what several supertypes declare follows all their rules. */
function collectProperties(type: CatalogType & Draft): void {
  for (const ancestor of [...type.lineage].reverse()) {
    for (const property of ancestor.definition.properties) {
      const other = ancestor === type ? undefined : type.properties.get(property.name);
      type.properties.set(property.name, other === undefined ? property : both(other, property));
    }
  }
  for (const property of type.properties.values()) {
    type.propertiesById.set(property.id, property);
    if (hasRule(property)) type.ruledProperties.push(property);
    if (isCompressed(property)) type.compressedProperties.push(property);
  }
}

/** Whether two supertypes may both declare a property: then the rules of both hold. */
export function agree(left: PropertyDefinition, right: PropertyDefinition): boolean {
  if (left.type === 'ANY' || right.type === 'ANY') return true;
  return left.type === right.type && left.ofType === right.ofType;
}

function both(left: PropertyDefinition, right: PropertyDefinition): PropertyDefinition {
  const [declared, other] = left.type === 'ANY' ? [right, left] : [left, right];
  return {
    ...other,
    ...declared,
    mandatory: left.mandatory || right.mandatory,
    notNull: left.notNull || right.notNull,
    readonly: left.readonly || right.readonly,
  };
}

/** Whether records do not hold values of the property as they are. */
export function isCompressed({external, compression}: PropertyDefinition): boolean {
  return external === true || compression !== undefined;
}

function hasRule(property: PropertyDefinition): boolean {
  return (
    property.mandatory ||
    property.notNull ||
    property.readonly ||
    property.min !== undefined ||
    property.max !== undefined ||
    property.regexp !== undefined ||
    property.defaultText !== undefined
  );
}
