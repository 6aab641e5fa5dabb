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
import {rebuildIndex} from '#server/catalog/change-index.ts';
import {
  createFunction,
  createTrigger,
  dropFunction,
  dropTrigger,
} from '#server/catalog/change-routine.ts';
import {setDatabaseSetting} from '#server/catalog/database-settings.ts';
import {type IndexDefinition, triggerLanguages} from '#server/catalog/definition.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {SchemaCommand} from '#server/plan/statement.ts';
import {
  type CommandOf as Command,
  nothing,
  one,
  type PlannedChange,
  row,
  type SchemaFacts,
} from '../preparation/planned-change.ts';
import {planAlterType, planCreateType, planDropType, requireMovable} from './type-command.ts';
import {planAlterView, planCreateView, planDropView, planRefreshView} from './view-command.ts';
import {planAlterProperty, planCreateProperty, planDropProperty} from './property-command.ts';
import {
  planCompactIndex,
  planCreateIndex,
  planCreateManualIndex,
  planDropIndex,
  planRebuildIndex,
  rebuilt,
} from './index-command.ts';

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
