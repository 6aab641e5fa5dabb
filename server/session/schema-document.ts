/**
 * The schema of a database as one JSON document, for those who ask in order to write statements:
 * types by name with their own properties and indexes. What is empty or false is left out.
 */
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {IndexDefinition, PropertyDefinition} from '#server/catalog/definition.ts';
import {byName} from '#server/catalog/names.ts';
import type {ShownSchema} from '#server/catalog/shown-schema.ts';
import {jsonText} from '#server/model/json.ts';
import type {Value} from '#server/model/value.ts';

/** @returns JSON text. Cost: the whole schema. */
export function schemaDocument(database: string, schema: ShownSchema): string {
  const types = schema.types.map(type => typeEntry(type, schema));
  return JSON.stringify({database, types});
}

function typeEntry(type: CatalogType, schema: ShownSchema): object {
  return {
    name: type.name,
    category: type.kind,
    parentTypes: unlessEmpty(schema.parentsOf(type)),
    properties: unlessEmpty(byName(type.definition.properties).map(propertyEntry)),
    indexes: unlessEmpty(schema.indexesOf(type).map(one => indexEntry(one, schema))),
  };
}

function propertyEntry(property: PropertyDefinition): object {
  return {
    name: property.name,
    type: property.type,
    ofType: property.ofType,
    mandatory: property.mandatory || undefined,
    readonly: property.readonly || undefined,
    notNull: property.notNull || undefined,
    default: property.defaultText,
    min: bound(property.min),
    max: bound(property.max),
  };
}

function indexEntry(index: IndexDefinition, {catalog}: ShownSchema): object {
  return {
    name: index.name,
    type: catalog.families.of(index).typeName,
    properties: index.properties.map(({name}) => name),
    unique: index.unique,
  };
}

/** A bound as it is written in a statement, without quotes. */
function bound(value: Value | undefined): string | undefined {
  if (value === undefined || value === null) return undefined;
  return typeof value === 'string' ? value : jsonText(value).replaceAll('"', '');
}

function unlessEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length === 0 ? undefined : list;
}
