/**
 * One schema command as a change of the catalog and the row that says what was done.
 *
 * Pure: a command and a catalog in, the next catalog and a row out. Writing it is
 * schema-executor.ts's task. Rows have the shape that clients of the reference know.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {
  createBucket,
  dropBucket,
  renameBucket,
  setBucketCustom,
} from '#server/catalog/change-bucket.ts';
import {
  automaticIndexName,
  createIndex,
  dropIndex,
  rebuildIndex,
  replaceIndex,
  sameIndex,
} from '#server/catalog/change-index.ts';
import {createManualIndex} from '#server/catalog/manual-index.ts';
import {
  createFunction,
  createTrigger,
  dropFunction,
  dropTrigger,
} from '#server/catalog/change-routine.ts';
import {setDatabaseSetting} from '#server/catalog/database-settings.ts';
import {
  alterProperty,
  createProperty,
  dropProperty,
  type PropertyAttributes as CatalogAttributes,
  renameProperty,
  setPropertyCustom,
  setPropertyType,
} from '#server/catalog/change-property.ts';
import {
  type IndexDefinition,
  type IndexProperty,
  type PropertyDefinition,
  triggerLanguages,
} from '#server/catalog/definition.ts';
import {familyOf, indexOptions} from '#server/catalog/index-families.ts';
import {jsonText} from '#server/model/json.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {IndexPart, PropertyAttributes, SchemaCommand} from '#server/plan/statement.ts';
import {
  type CommandOf as Command,
  nothing,
  one,
  type PlannedChange,
  row,
  type SchemaFacts,
  shown,
} from '../statements/planned-change.ts';
import {planAlterType, planCreateType, planDropType, requireMovable} from './type-command.ts';
import {planAlterView, planCreateView, planDropView, planRefreshView} from './view-command.ts';

/** A command that changes the catalog. */
export type SchemaChangeCommand = Exclude<SchemaCommand, {readonly kind: 'check-database'}>;

export function planSchemaCommand(
  catalog: Catalog,
  command: SchemaChangeCommand,
  facts: SchemaFacts,
): PlannedChange {
  switch (command.kind) {
    case 'create-type':
      return planCreateType(catalog, command);
    case 'alter-type':
      return planAlterType(catalog, command, facts);
    case 'drop-type':
      return planDropType(catalog, command, facts);
    case 'truncate-type':
      return planTruncateType(catalog, command, facts);
    case 'create-property':
      return planCreateProperty(catalog, command, facts);
    case 'alter-property':
      return planAlterProperty(catalog, command, facts);
    case 'drop-property':
      return planDropProperty(catalog, command);
    case 'create-index':
      return planCreateIndex(catalog, command);
    case 'create-manual-index':
      return planCreateManualIndex(catalog, command, facts);
    case 'drop-index':
      return planDropIndex(catalog, command);
    case 'rebuild-index':
      return planRebuildIndex(catalog, command);
    case 'compact-index':
      return planCompactIndex(catalog, command);
    case 'rebuild-type':
      return planRebuildType(catalog, command, facts);
    case 'create-bucket':
      return planCreateBucket(catalog, command);
    case 'alter-bucket':
      return planAlterBucket(catalog, command);
    case 'drop-bucket':
      return planDropBucket(catalog, command);
    case 'truncate-bucket':
      return planTruncateBucket(catalog, command, facts);
    case 'alter-database':
      return planAlterDatabase(catalog, command, facts);
    case 'create-function':
    case 'drop-function':
    case 'create-trigger':
    case 'drop-trigger':
      return planRoutineCommand(catalog, command);
    case 'create-view':
      return planCreateView(catalog, command);
    case 'alter-view':
      return planAlterView(catalog, command);
    case 'refresh-view':
      return planRefreshView(catalog, command);
    case 'drop-view':
      return planDropView(catalog, command);
    default:
      return unreachable(command);
  }
}

function planTruncateType(
  catalog: Catalog,
  command: Command<'truncate-type'>,
  facts: SchemaFacts,
): PlannedChange {
  const type = catalog.requireType(command.name);
  const bucketIds = command.polymorphic ? type.familyBucketIds : type.bucketIds;
  const count = bucketIds.reduce((sum, id) => sum + facts.recordCount(id), 0);
  if (count > 0 && type.kind !== 'document' && !command.unsafe) {
    throw new Refusal(
      'query.execution',
      `type '${type.name}' holds ${count} records that edges may point at: ` +
        'use DELETE, or add UNSAFE to leave dangling edges behind',
    );
  }
  const family = command.polymorphic ? type.family : [type];
  const answer = row({operation: 'truncate type', typeName: type.name, transactional: true});
  return emptied(catalog, bucketIds, family, answer);
}

function planTruncateBucket(
  catalog: Catalog,
  command: Command<'truncate-bucket'>,
  facts: SchemaFacts,
): PlannedChange {
  const bucket = catalog.requireBucket(command.name);
  const type = catalog.typeOfBucket(bucket.id);
  const count = facts.recordCount(bucket.id);
  if (count > 0 && type !== undefined && type.kind !== 'document' && !command.unsafe) {
    throw new Refusal(
      'query.execution',
      `bucket '${bucket.name}' holds ${count} records that edges may point at: ` +
        'use DELETE, or add UNSAFE to leave dangling edges behind',
    );
  }
  const {id: bucketId, name: bucketName} = bucket;
  const answer = row({operation: 'truncate bucket', bucketName, bucketId, transactional: true});
  return emptied(catalog, [bucket.id], type === undefined ? [] : [type], answer);
}

/** Records go bucket by bucket, without a look at their keys: their indexes are rebuilt. */
function emptied(
  catalog: Catalog,
  bucketIds: readonly number[],
  types: readonly {readonly indexes: readonly IndexDefinition[]}[],
  answer: MapValue,
): PlannedChange {
  const names = new Set(types.flatMap(type => type.indexes.map(index => index.name)));
  const changes = rebuilt(catalog, names, rebuildIndex);
  return {changes, row: answer, bucketIdsEmptied: bucketIds};
}

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

function planCreateProperty(
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

function planAlterProperty(
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

function planDropProperty(catalog: Catalog, command: Command<'drop-property'>): PlannedChange {
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

function indexProperty(part: IndexPart): IndexProperty {
  return {
    name: part.name,
    ignoreCase: part.collate === 'ci',
    ...(part.by === undefined ? {} : {by: part.by}),
  };
}

function planCreateIndex(catalog: Catalog, command: Command<'create-index'>): PlannedChange {
  const type = catalog.requireType(command.type);
  const properties = command.parts.map(indexProperty);
  if (command.ifNotExists) {
    const named = command.name === undefined ? undefined : catalog.index(command.name);
    const twin = named ?? sameIndex(catalog, type, {properties, kind: command.indexKind});
    if (twin !== undefined) {
      requireAtLeast(twin, command, {typeId: type.id, properties});
      return nothing(createdIndexRow(twin, false));
    }
  }
  const change = createIndex(catalog, {
    name: command.name,
    typeName: type.name,
    properties,
    kind: command.indexKind,
    unique: command.unique,
    nullStrategy: command.nullStrategy,
    metadata: command.metadata,
  });
  const [made] = change.indexesToBuild;
  return one(change, made === undefined ? row({}) : createdIndexRow(made, true));
}

/**
 * IF NOT EXISTS asks for an index that keeps a promise. One that promises more is as good: a unique
 * one where any is asked for, an ordered one for a hash index.
 */
function requireAtLeast(
  {name, typeId, properties, unique, kind, nullStrategy, options}: IndexDefinition,
  requested: Command<'create-index'>,
  on: Pick<IndexDefinition, 'typeId' | 'properties'>,
): void {
  const isOnSame =
    typeId === on.typeId &&
    automaticIndexName('', properties) === automaticIndexName('', on.properties) &&
    properties.every(({ignoreCase}, at) => ignoreCase === on.properties[at]?.ignoreCase);
  const lack = !isOnSame
    ? 'indexes other properties, or these in another way'
    : requested.unique && !unique
      ? 'is not unique'
      : requested.indexKind === 'ordered' && kind === 'hash'
        ? 'is a hash index'
        : kind !== requested.indexKind &&
            !(familyOf({kind}).isKeyed && familyOf({kind: requested.indexKind}).isKeyed)
          ? `is a ${familyOf({kind}).typeName} index`
          : requested.nullStrategy !== 'SKIP' && nullStrategy !== requested.nullStrategy
            ? `has NULL_STRATEGY ${nullStrategy}`
            : optionsText(options) !==
                optionsText(indexOptions(requested.indexKind, requested.metadata, properties))
              ? 'has other METADATA'
              : undefined;
  if (lack === undefined) return;
  throw new Refusal('argument', `index '${name}' exists and ${lack}: drop it first`, {
    detail: {index: name},
  });
}

function optionsText(options: MapValue | undefined): string {
  return options === undefined ? '' : jsonText(options);
}

function planCreateManualIndex(
  catalog: Catalog,
  command: Command<'create-manual-index'>,
  {names}: SchemaFacts,
): PlannedChange {
  const {name, keyTypes, indexKind, unique, nullStrategy} = command;
  const twin = catalog.index(name);
  if (command.ifNotExists && twin !== undefined) {
    const declared = catalog.typeById(twin.typeId)?.properties;
    const found = twin.properties.map(part => declared?.get(part.name)?.type);
    const isAsRequested = twin.manual === true && twin.unique === unique && twin.kind === indexKind;
    if (isAsRequested && found.join() === keyTypes.join())
      return nothing(createdIndexRow(twin, false));
    throw new Refusal('argument', `index '${name}' exists and is another one: drop it first`, {
      detail: {index: name},
    });
  }
  const requested = {name, keyTypes, kind: indexKind, unique, nullStrategy};
  const nameId = (property: string): number => names.idOf(property).id;
  const changes = createManualIndex(catalog, {...requested, nameId});
  const made = changes.at(-1)?.catalog.requireIndex(name);
  const answer = made === undefined ? row({}) : createdIndexRow(made, true);
  return {changes, row: answer, bucketIdsEmptied: []};
}

function createdIndexRow(index: IndexDefinition, created: boolean): MapValue {
  return row({
    operation: 'create index',
    name: index.name,
    type: familyOf(index).typeName,
    created,
    totalIndexed: 0,
  });
}

function planDropIndex(catalog: Catalog, command: Command<'drop-index'>): PlannedChange {
  const answer = row({operation: 'drop index', indexName: command.name});
  if (command.name === '*') {
    const changes: SchemaChange[] = [];
    for (const index of catalog.indexes) {
      changes.push(dropIndex(changes.at(-1)?.catalog ?? catalog, index.name));
    }
    return {changes, row: answer, bucketIdsEmptied: []};
  }
  if (command.ifExists && catalog.index(command.name) === undefined) return nothing(answer);
  return one(dropIndex(catalog, command.name), answer);
}

function namesOf(catalog: Catalog, name: string): readonly string[] {
  if (name === '*') return catalog.indexes.map(index => index.name);
  return [catalog.requireIndex(name).name];
}

function planRebuildIndex(
  catalog: Catalog,
  command: Command<'rebuild-index' | 'compact-index'>,
): PlannedChange {
  const names = namesOf(catalog, command.name);
  const operation = 'rebuild index';
  const answer = row({operation, indexes: names, totalIndexed: 0, recordsMisplaced: 0});
  return {changes: rebuilt(catalog, names), row: answer, bucketIdsEmptied: []};
}

/** The store compacts by itself, in the background: nothing is left to do, and the row says so. */
function planCompactIndex(
  catalog: Catalog,
  command: Command<'rebuild-index' | 'compact-index'>,
): PlannedChange {
  const indexes = namesOf(catalog, command.name);
  return nothing(row({operation: 'compact index', indexes, compacted: false}));
}

/** What is kept beside the records is made anew: a record itself is read by any later schema. */
function planRebuildType(
  catalog: Catalog,
  command: Command<'rebuild-type'>,
  facts: SchemaFacts,
): PlannedChange {
  const {polymorphic, repartition} = command;
  const type = catalog.requireType(command.name);
  const types = polymorphic ? type.family : [type];
  const bucketIds = polymorphic ? type.familyBucketIds : type.bucketIds;
  const indexes = new Set(types.flatMap(each => each.indexes.map(index => index.name)));
  const answer = row({
    operation: 'rebuild type',
    typeName: type.name,
    polymorphic,
    repartition,
    recordsRebuilt: bucketIds.reduce((sum, id) => sum + facts.recordCount(id), 0),
    recordsMoved: repartition ? 0 : undefined,
  });
  const repartitioned = repartition ? types.map(({name}) => name) : [];
  if (repartition) for (const each of types) requireMovable(each, each.name);
  return {changes: rebuilt(catalog, indexes), row: answer, bucketIdsEmptied: [], repartitioned};
}

/** Indexes to be built anew, one change after another. */
function rebuilt(
  catalog: Catalog,
  names: Iterable<string>,
  rebuild: (catalog: Catalog, name: string) => SchemaChange = replaceIndex,
): readonly SchemaChange[] {
  const changes: SchemaChange[] = [];
  for (const name of names) changes.push(rebuild(changes.at(-1)?.catalog ?? catalog, name));
  return changes;
}

function planCreateBucket(catalog: Catalog, command: Command<'create-bucket'>): PlannedChange {
  const answer = (created: boolean, id: number): MapValue =>
    row({operation: 'create bucket', bucketName: command.name, bucketId: id, created});
  const known = catalog.bucket(command.name);
  if (command.ifNotExists && known !== undefined) return nothing(answer(false, known.id));
  const change = createBucket(catalog, command.name);
  return one(change, answer(true, change.catalog.requireBucket(command.name).id));
}

function planAlterBucket(catalog: Catalog, command: Command<'alter-bucket'>): PlannedChange {
  let {name} = command;
  const changes: SchemaChange[] = [];
  const current = (): Catalog => changes.at(-1)?.catalog ?? catalog;
  for (const [key, value] of command.custom ?? []) {
    changes.push(setBucketCustom(current(), name, key, value ?? null));
  }
  if (command.newName !== undefined) {
    changes.push(renameBucket(current(), name, command.newName));
    name = command.newName;
  }
  const answer = row({operation: 'alter bucket', bucketName: name, result: 'OK'});
  return {changes, row: answer, bucketIdsEmptied: []};
}

function planDropBucket(catalog: Catalog, command: Command<'drop-bucket'>): PlannedChange {
  const known = catalog.bucket(command.name);
  const answer = (dropped: boolean): MapValue =>
    row({operation: 'drop bucket', bucketName: command.name, bucketId: known?.id, dropped});
  if (command.ifExists && known === undefined) return nothing(answer(false));
  return one(dropBucket(catalog, command.name), answer(true));
}

/** The row shows the values in force: the database's own, else that of the server. */
function planAlterDatabase(
  catalog: Catalog,
  command: Command<'alter-database'>,
  facts: SchemaFacts,
): PlannedChange {
  const {setting, value} = command;
  const change = setDatabaseSetting(catalog, setting, value);
  const inForce = ({settings}: Catalog): Value =>
    settings.get(setting) ?? facts.settings.get(setting);
  const answer = row({
    operation: 'alter database',
    attribute: setting,
    oldValue: inForce(catalog),
    newValue: inForce(change.catalog),
  });
  return one(change, answer);
}

function planRoutineCommand(
  catalog: Catalog,
  command: Command<'create-function' | 'drop-function' | 'create-trigger' | 'drop-trigger'>,
): PlannedChange {
  switch (command.kind) {
    case 'create-function': {
      const change = createFunction(catalog, command.definition);
      return one(change, functionRow('create function', command.definition.name));
    }
    case 'drop-function':
      return one(dropFunction(catalog, command.name), functionRow('delete function', command.name));
    case 'create-trigger': {
      const operation = 'create trigger';
      const {name, when, event, typeName, language} = command.trigger;
      if (command.ifNotExists && catalog.trigger(name) !== undefined) {
        return nothing(row({operation, name, created: false}));
      }
      const answer = {
        operation,
        name,
        timing: when.toUpperCase(),
        event: event.toUpperCase(),
        typeName,
        actionType: triggerLanguages[language],
        created: true,
      };
      return one(createTrigger(catalog, command.trigger), row(answer));
    }
    case 'drop-trigger': {
      const {name: triggerName, ifExists} = command;
      const answer = (dropped: boolean): MapValue =>
        row({operation: 'drop trigger', triggerName, dropped});
      if (ifExists && catalog.trigger(triggerName) === undefined) return nothing(answer(false));
      return one(dropTrigger(catalog, triggerName), answer(true));
    }
    default:
      return unreachable(command);
  }
}

function functionRow(operation: string, name: string): MapValue {
  const dot = name.indexOf('.');
  return row({operation, libraryName: name.slice(0, dot), functionName: name.slice(dot + 1)});
}
