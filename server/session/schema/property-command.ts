/** Commands about properties, as changes of the catalog. */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {rebuildIndex} from '#server/catalog/change-index.ts';
import {
  alterProperty,
  createProperty,
  dropProperty,
  type PropertyAttributes as CatalogAttributes,
  renameProperty,
  setPropertyCustom,
  setPropertyType,
} from '#server/catalog/change-property.ts';
import type {PropertyDefinition} from '#server/catalog/definition.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {PropertyAttributes} from '#server/plan/statement.ts';
import {
  type CommandOf as Command,
  nothing,
  one,
  type PlannedChange,
  row,
  type SchemaFacts,
  shown,
} from '../preparation/planned-change.ts';

function catalogAttributes(attributes: PropertyAttributes): CatalogAttributes {
  const {mandatory, notNull, readOnly, hidden, external, compression, min, max, regexp} =
    attributes;
  return {
    ...(mandatory === undefined ? {} : {mandatory}),
    ...(notNull === undefined ? {} : {notNull}),
    ...(readOnly === undefined ? {} : {readonly: readOnly}),
    ...(hidden === undefined ? {} : {hidden}),
    ...(external === undefined ? {} : {external}),
    ...(compression === undefined ? {} : {compression}),
    ...(min === undefined ? {} : {min}),
    ...(max === undefined ? {} : {max}),
    ...(regexp === undefined ? {} : {regexp}),
    ...(attributes.default === undefined ? {} : {defaultText: attributes.default}),
  };
}

/** Attributes as a row shows them: those that were given. */
function shownAttributes(attributes: PropertyAttributes): Record<string, Value | undefined> {
  return {
    mandatory: attributes.mandatory,
    notnull: attributes.notNull,
    readonly: attributes.readOnly,
    hidden: attributes.hidden,
    external: attributes.external,
    compression: attributes.compression,
    min: attributes.min,
    max: attributes.max,
    regexp: attributes.regexp,
    default: attributes.default,
  };
}

export function planCreateProperty(
  catalog: Catalog,
  command: Command<'create-property'>,
  facts: SchemaFacts,
): PlannedChange {
  const answer = (created: boolean): MapValue =>
    row({
      operation: 'create property',
      typeName: command.type,
      propertyName: command.name,
      of: command.ofType,
      created,
      ...shownAttributes(command.attributes),
    });
  const type = catalog.requireType(command.type);
  if (command.ifNotExists && type.properties.has(command.name)) return nothing(answer(false));
  const change = createProperty(catalog, {
    typeName: type.name,
    name: command.name,
    nameId: facts.names.idOf(command.name).id,
    type: command.dataType,
    ofType: command.ofType,
    attributes: {...catalogAttributes(command.attributes), custom: command.custom},
  });
  return one(change, answer(true));
}

export function planAlterProperty(
  catalog: Catalog,
  command: Command<'alter-property'>,
  facts: SchemaFacts,
): PlannedChange {
  const {type, attributes, newName} = command;
  const {name} = command;
  const changes: SchemaChange[] = [];
  const current = (): Catalog => changes.at(-1)?.catalog ?? catalog;
  if (command.dataType !== undefined) {
    changes.push(setPropertyType(current(), type, name, command.dataType, command.ofType));
    // Keys tell values by the declared type: those of the old one are made anew.
    const family = new Set(catalog.requireType(type).family.map(relative => relative.id));
    for (const index of catalog.indexes) {
      const isOn = index.properties.some(property => property.name === name);
      if (isOn && family.has(index.typeId)) changes.push(rebuildIndex(current(), index.name));
    }
  }
  if (Object.keys(attributes).length > 0) {
    changes.push(alterProperty(current(), type, name, catalogAttributes(attributes)));
  }
  for (const [key, value] of command.custom) {
    changes.push(setPropertyCustom(current(), type, name, {key, value: value ?? null}));
  }
  if (newName !== undefined) {
    const renamed = {name: newName, nameId: facts.names.idOf(newName).id};
    changes.push(renameProperty(current(), type, name, renamed));
  }
  const before = catalog.requireType(type).properties.get(name);
  const what = alteredProperty(command, before);
  return {
    changes,
    row: row({operation: 'alter property', type, property: name, ...what}),
    bucketIdsEmptied: [],
  };
}

/** What an ALTER PROPERTY row says of its (last) change. */
function alteredProperty(
  {attributes, custom, dataType, newName}: Command<'alter-property'>,
  before: PropertyDefinition | undefined,
): Readonly<Record<string, Value | undefined>> {
  const [key, value = null] = [...custom].at(-1) ?? [];
  if (key !== undefined) {
    const oldValue = before?.custom.get(key) ?? null;
    const operation = 'alter property custom';
    return {operation, customAttribute: key, oldValue, newValue: value};
  }
  if (newName !== undefined) {
    return {attribute: 'name', oldValue: before?.name ?? null, newValue: newName};
  }
  if (dataType !== undefined) {
    return {attribute: 'type', oldValue: before?.type ?? null, newValue: dataType};
  }
  const old = before === undefined ? {} : shownProperty(before);
  const [attribute, newValue = null] = Object.entries(shownAttributes(attributes)).find(
    ([, given]) => given !== undefined,
  ) ?? ['none'];
  return {attribute, oldValue: old[attribute] ?? null, newValue};
}

/** A property's attributes by the names that rows use; limits as the text that is stored. */
function shownProperty(property: PropertyDefinition): Readonly<Record<string, Value | undefined>> {
  const {mandatory, notNull, readonly, hidden, min, max, regexp, defaultText} = property;
  const {external = false, compression = 'none'} = property;
  const text = (limit: Value | undefined): Value =>
    limit === undefined || limit === null ? null : shown(limit);
  return {
    mandatory,
    notnull: notNull,
    readonly,
    hidden,
    external,
    compression,
    min: text(min),
    max: text(max),
    regexp,
    default: defaultText,
  };
}

export function planDropProperty(
  catalog: Catalog,
  command: Command<'drop-property'>,
): PlannedChange {
  const answer = (dropped: boolean): MapValue =>
    row({
      operation: 'drop property',
      typeName: command.type,
      propertyName: command.name,
      dropped,
    });
  const type = catalog.requireType(command.type);
  if (command.ifExists && !type.properties.has(command.name)) return nothing(answer(false));
  return one(dropProperty(catalog, type.name, command.name, {force: command.force}), answer(true));
}
