/** Commands about indexes, as changes of the catalog. */
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {
  automaticIndexName,
  createIndex,
  dropIndex,
  replaceIndex,
  sameIndex,
} from '#server/catalog/change-index.ts';
import {createManualIndex} from '#server/catalog/manual-index.ts';
import type {IndexDefinition, IndexProperty} from '#server/catalog/definition.ts';
import {indexOptions} from '#server/catalog/index-families.ts';
import {jsonText} from '#server/model/json.ts';
import type {MapValue} from '#server/model/value.ts';
import type {IndexPart} from '#server/plan/statement.ts';
import {
  type CommandOf as Command,
  nothing,
  one,
  type PlannedChange,
  row,
  type SchemaFacts,
} from '../preparation/planned-change.ts';

function indexProperty(part: IndexPart): IndexProperty {
  return {
    name: part.name,
    ignoreCase: part.collate === 'ci',
    ...(part.by === undefined ? {} : {by: part.by}),
  };
}

export function planCreateIndex(catalog: Catalog, command: Command<'create-index'>): PlannedChange {
  const type = catalog.requireType(command.type);
  const properties = command.parts.map(indexProperty);
  if (command.ifNotExists) {
    const named = command.name === undefined ? undefined : catalog.index(command.name);
    const twin = named ?? sameIndex(catalog, type, {properties, kind: command.indexKind});
    if (twin !== undefined) {
      requireAtLeast(catalog, twin, command, {typeId: type.id, properties});
      return nothing(createdIndexRow(catalog, twin, false));
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
  return one(change, made === undefined ? row({}) : createdIndexRow(catalog, made, true));
}

/**
 * IF NOT EXISTS asks for an index that keeps a promise. One that promises more is as good: a unique
 * one where any is asked for, an ordered one for a hash index.
 */
function requireAtLeast(
  {families}: Catalog,
  {name, typeId, properties, unique, kind, nullStrategy, options}: IndexDefinition,
  requested: Command<'create-index'>,
  on: Pick<IndexDefinition, 'typeId' | 'properties'>,
): void {
  const family = families.of({kind});
  const wanted = families.of({kind: requested.indexKind});
  const isOnSame =
    typeId === on.typeId &&
    automaticIndexName('', properties) === automaticIndexName('', on.properties) &&
    properties.every(({ignoreCase}, at) => ignoreCase === on.properties[at]?.ignoreCase);
  const lack = !isOnSame
    ? 'indexes other properties, or these in another way'
    : requested.unique && !unique
      ? 'is not unique'
      : wanted.isOrdered && family.isKeyed && !family.isOrdered
        ? 'is a hash index'
        : family !== wanted && !(family.isKeyed && wanted.isKeyed)
          ? `is a ${family.typeName} index`
          : requested.nullStrategy !== 'SKIP' && nullStrategy !== requested.nullStrategy
            ? `has NULL_STRATEGY ${nullStrategy}`
            : optionsText(options) !==
                optionsText(indexOptions(wanted, requested.metadata, properties))
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

export function planCreateManualIndex(
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
      return nothing(createdIndexRow(catalog, twin, false));
    throw new Refusal('argument', `index '${name}' exists and is another one: drop it first`, {
      detail: {index: name},
    });
  }
  const requested = {name, keyTypes, kind: indexKind, unique, nullStrategy};
  const nameId = (property: string): number => names.idOf(property).id;
  const changes = createManualIndex(catalog, {...requested, nameId});
  const made = changes.at(-1)?.catalog.requireIndex(name);
  const answer = made === undefined ? row({}) : createdIndexRow(catalog, made, true);
  return {changes, row: answer, bucketIdsEmptied: []};
}

function createdIndexRow({families}: Catalog, index: IndexDefinition, created: boolean): MapValue {
  return row({
    operation: 'create index',
    name: index.name,
    type: families.of(index).typeName,
    created,
    totalIndexed: 0,
  });
}

export function planDropIndex(catalog: Catalog, command: Command<'drop-index'>): PlannedChange {
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

export function planRebuildIndex(
  catalog: Catalog,
  command: Command<'rebuild-index' | 'compact-index'>,
): PlannedChange {
  const names = namesOf(catalog, command.name);
  const operation = 'rebuild index';
  const answer = row({operation, indexes: names, totalIndexed: 0, recordsMisplaced: 0});
  return {changes: rebuilt(catalog, names), row: answer, bucketIdsEmptied: []};
}

/** The store compacts by itself, in the background: nothing is left to do, and the row says so. */
export function planCompactIndex(
  catalog: Catalog,
  command: Command<'rebuild-index' | 'compact-index'>,
): PlannedChange {
  const indexes = namesOf(catalog, command.name);
  return nothing(row({operation: 'compact index', indexes, compacted: false}));
}

/** Indexes to be built anew, one change after another. */
export function rebuilt(
  catalog: Catalog,
  names: Iterable<string>,
  rebuild: (catalog: Catalog, name: string) => SchemaChange = replaceIndex,
): readonly SchemaChange[] {
  const changes: SchemaChange[] = [];
  for (const name of names) changes.push(rebuild(changes.at(-1)?.catalog ?? catalog, name));
  return changes;
}
