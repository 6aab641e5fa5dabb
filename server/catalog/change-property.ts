/**
 * Changes of properties: create, alter, drop. Pure; see change.ts.
 *
 * A change of data type does not rewrite records: stored values keep their own tags and are
 * converted when the record is written next.
 */
import {Refusal} from '#server/base/errors.ts';
import {type DataType, parseDataType, takesOfType} from '#server/model/data-type.ts';
import {regularExpressionTest} from '#server/model/regular-expression.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {Catalog} from './catalog.ts';
import {type CatalogType, isCompressed} from './catalog-type.ts';
import {
  change,
  checkName,
  conflictRefusal,
  existsRefusal,
  type SchemaChange,
  withType,
} from './change.ts';
import {checkSuperTypes, withEntry} from './change-type.ts';
import type {Compression, PropertyDefinition} from './definition.ts';
import {nearestNameHint} from './nearest-name.ts';

/** What may be declared beside name and data type; absent keys keep what is there. */
export interface PropertyAttributes {
  readonly mandatory?: boolean;
  readonly notNull?: boolean;
  readonly readonly?: boolean;
  readonly hidden?: boolean;
  readonly external?: boolean;
  readonly compression?: Compression | 'none';
  /** Null removes the attribute, as for the next three. */
  readonly min?: Value;
  readonly max?: Value;
  readonly regexp?: string | null;
  readonly defaultText?: string | null;
  readonly custom?: MapValue;
}

export interface NewProperty {
  readonly typeName: string;
  readonly name: string;
  /** Id of the name in the database's dictionary. */
  readonly nameId: number;
  readonly type: DataType;
  readonly ofType?: string | undefined;
  readonly attributes?: PropertyAttributes;
}

export function createProperty(catalog: Catalog, requested: NewProperty): SchemaChange {
  const type = catalog.requireType(requested.typeName);
  checkName(requested.name, 'property');
  if (type.edge.lightweight) {
    throw conflictRefusal(`light edge type '${type.name}' has no properties`);
  }
  for (const relative of type.family) {
    const isDeclared = type.lineage.includes(relative)
      ? relative.properties.has(requested.name)
      : relative.definition.properties.some(property => property.name === requested.name);
    if (isDeclared) throw existsRefusal('PROPERTY', `${relative.name}.${requested.name}`);
  }
  const blank: PropertyDefinition = {
    name: requested.name,
    id: requested.nameId,
    type: requested.type,
    mandatory: false,
    notNull: false,
    readonly: false,
    hidden: false,
    custom: new Map(),
  };
  const typed = withDataType(catalog, blank, requested.type, requested.ofType);
  const property = withAttributes(typed, requested.attributes ?? {});
  const properties = [...type.definition.properties, property];
  return agreed(type, withProperties(catalog, type, properties));
}

/** Once a property is compressed the catalog says so for good: records may be written so. */
function withProperties(
  catalog: Catalog,
  type: CatalogType,
  properties: readonly PropertyDefinition[],
): SchemaChange {
  const types = withType(catalog, type.id, {properties});
  return change(catalog, {types, ...(properties.some(isCompressed) && {foldsValues: true})});
}

/** What subtypes inherit from elsewhere must still fit. */
function agreed(type: CatalogType, changed: SchemaChange): SchemaChange {
  for (const {id} of type.family) {
    const relative = changed.catalog.typeById(id);
    if (relative !== undefined) checkSuperTypes(relative.definition, relative.superTypes);
  }
  return changed;
}

export function alterProperty(
  catalog: Catalog,
  typeName: string,
  name: string,
  attributes: PropertyAttributes,
): SchemaChange {
  return replaceProperty(catalog, typeName, name, old => withAttributes(old, attributes));
}

export function setPropertyType(
  catalog: Catalog,
  typeName: string,
  name: string,
  type: DataType,
  ofType?: string,
): SchemaChange {
  refusePartitioning(catalog.requireType(typeName), name);
  const changed = replaceProperty(catalog, typeName, name, old =>
    withDataType(catalog, old, type, ofType),
  );
  return agreed(catalog.requireType(typeName), changed);
}

/** Sets one custom attribute; null removes it. */
export function setPropertyCustom(
  catalog: Catalog,
  typeName: string,
  name: string,
  entry: {readonly key: string; readonly value: Value},
): SchemaChange {
  return replaceProperty(catalog, typeName, name, old => ({
    ...old,
    custom: withEntry(old.custom, entry.key, entry.value),
  }));
}

/** The declaration moves to another name; stored values stay under the old one. */
export function renameProperty(
  catalog: Catalog,
  typeName: string,
  name: string,
  renamed: {readonly name: string; readonly nameId: number},
): SchemaChange {
  const type = catalog.requireType(typeName);
  checkName(renamed.name, 'property');
  if (type.family.some(relative => relative.properties.has(renamed.name))) {
    throw existsRefusal('PROPERTY', `${typeName}.${renamed.name}`);
  }
  refuseIndexed(catalog, type, name);
  refusePartitioning(type, name);
  return replaceProperty(catalog, typeName, name, old => ({
    ...old,
    name: renamed.name,
    id: renamed.nameId,
  }));
}

/** Values stay in the records, undeclared. Indexes on it are in the way unless `force`. */
export function dropProperty(
  catalog: Catalog,
  typeName: string,
  name: string,
  options: {readonly force?: boolean} = {},
): SchemaChange {
  const type = catalog.requireType(typeName);
  requireOwnProperty(type, name);
  refusePartitioning(type, name);
  const using = indexesOn(catalog, type, name);
  if (options.force !== true) refuseIndexed(catalog, type, name);
  const properties = type.definition.properties.filter(property => property.name !== name);
  const dropped = new Set(using.map(index => index.id));
  return change(
    catalog,
    {
      types: withType(catalog, type.id, {properties}),
      indexes: catalog.data.indexes.filter(index => !dropped.has(index.id)),
    },
    {indexIdsDropped: [...dropped]},
  );
}

function replaceProperty(
  catalog: Catalog,
  typeName: string,
  name: string,
  update: (old: PropertyDefinition) => PropertyDefinition,
): SchemaChange {
  const type = catalog.requireType(typeName);
  const old = requireOwnProperty(type, name);
  const properties = type.definition.properties.map(property =>
    property === old ? update(old) : property,
  );
  return withProperties(catalog, type, properties);
}

/** @throws {Refusal} `schema.unknown-property`; inherited ones are altered where declared. */
export function requireOwnProperty(type: CatalogType, name: string): PropertyDefinition {
  const own = type.definition.properties.find(property => property.name === name);
  if (own !== undefined) return own;
  const hint = nearestNameHint(name, type.properties.keys());
  throw new Refusal(
    'schema.unknown-property',
    type.properties.has(name)
      ? `property '${name}' is inherited by type '${type.name}': change it where it is declared`
      : `Property '${name}' was not found on type '${type.name}'${hint}`,
    {detail: {type: type.name, property: name}},
  );
}

function withDataType(
  catalog: Catalog,
  old: PropertyDefinition,
  type: DataType,
  ofType: string | undefined,
): PropertyDefinition {
  const {ofType: _dropped, ...rest} = old;
  if (ofType === undefined) return {...rest, type};
  if (!takesOfType(type)) {
    throw new Refusal('argument', `a property of type ${type} cannot be declared OF another type`);
  }
  const element = parseDataType(ofType);
  if (element !== undefined && type !== 'LINK' && type !== 'EMBEDDED') {
    return {...rest, type, ofType: element};
  }
  return {...rest, type, ofType: catalog.requireType(ofType).name};
}

function withAttributes(
  old: PropertyDefinition,
  attributes: PropertyAttributes,
): PropertyDefinition {
  // Made to be refused here when it is none.
  if (typeof attributes.regexp === 'string') regularExpressionTest(attributes.regexp);
  const {external, compression, ...others} = attributes;
  const wished = {
    ...others,
    ...(external !== undefined && {external: external ? true : null}),
    ...(compression !== undefined && {compression: compression === 'none' ? null : compression}),
  };
  const merged: Record<string, unknown> = {...old};
  for (const [key, value] of Object.entries(wished)) {
    if (value === null) delete merged[key];
    else if (value !== undefined) merged[key] = value;
  }
  return merged as unknown as PropertyDefinition;
}

function indexesOn(catalog: Catalog, type: CatalogType, name: string) {
  return catalog.data.indexes.filter(
    index =>
      type.familyIds.has(index.typeId) && index.properties.some(property => property.name === name),
  );
}

function refuseIndexed(catalog: Catalog, type: CatalogType, name: string): void {
  const [index] = indexesOn(catalog, type, name);
  if (index === undefined) return;
  throw conflictRefusal(
    `property '${type.name}.${name}' is used by index '${index.name}': drop that first`,
  );
}

/** Where records lie follows from these values, read by their declared type. */
function refusePartitioning(type: CatalogType, name: string): void {
  const partitioned = type.family.find(({definition: {bucketSelection}}) => {
    return bucketSelection.kind === 'partitioned' && bucketSelection.properties.includes(name);
  });
  if (partitioned === undefined) return;
  throw conflictRefusal(
    `property '${name}' decides the buckets of type '${partitioned.name}' (partitioned): ` +
      'choose another bucket selection first',
  );
}
