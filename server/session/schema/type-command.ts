/**
 * The schema commands that make, alter, drop and rebuild types; see schema-command.ts.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import type {SchemaChange} from '#server/catalog/change.ts';
import {
  addSuperType,
  addTypeBucket,
  createType,
  dropType,
  propertyOf,
  removeSuperType,
  removeTypeBucket,
  renameType,
  setAliases,
  setBucketSelection,
  setEdgeTraits,
  setTypeCustom,
} from '#server/catalog/change-type.ts';
import {requireNoView} from '#server/catalog/change-view.ts';
import {requireNoManualIndex} from '#server/catalog/manual-index.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import type {TypeChange} from '#server/plan/statement.ts';
import {
  type CommandOf as Command,
  nothing,
  one,
  type PlannedChange,
  row,
  type SchemaFacts,
  shown,
} from '../preparation/planned-change.ts';

export function planCreateType(catalog: Catalog, command: Command<'create-type'>): PlannedChange {
  const answer = (created: boolean): MapValue =>
    row({
      operation: `create ${command.recordKind} type`,
      typeName: command.name,
      created,
      custom: command.custom.size > 0 ? command.custom : undefined,
    });
  if (command.ifNotExists && catalog.type(command.name) !== undefined) {
    return nothing(answer(false));
  }
  const change = createType(catalog, {
    name: command.name,
    kind: command.recordKind,
    superTypes: command.supertypes,
    custom: command.custom,
    lightweight: command.lightweight,
    unique: command.unique,
    unidirectional: command.unidirectional,
    ...(command.buckets === undefined ? {} : {bucketNames: command.buckets}),
    ...(command.bucketCount === undefined ? {} : {bucketCount: command.bucketCount}),
  });
  return one(change, answer(true));
}

export function planAlterType(
  catalog: Catalog,
  command: Command<'alter-type'>,
  facts: SchemaFacts,
): PlannedChange {
  let name = catalog.requireType(command.name).name;
  const changes: SchemaChange[] = [];
  const answer = new Map<string, Value>();
  for (const requested of command.changes) {
    const change = alterType(changes.at(-1)?.catalog ?? catalog, name, requested, facts);
    if (requested.kind === 'name') name = requested.name;
    changes.push(change);
    const [key, value] = altered(change.catalog, name, requested);
    answer.set(key, value);
  }
  answer.set('operation', 'ALTER TYPE');
  answer.set('typeName', command.name);
  answer.set('result', 'OK');
  const repartitioned = command.repartition === true ? [name] : [];
  for (const type of repartitioned) requireMovable(catalog.requireType(command.name), type);
  return {changes, row: answer, bucketIdsEmptied: [], repartitioned};
}

function alterType(
  catalog: Catalog,
  name: string,
  requested: TypeChange,
  facts: SchemaFacts,
): SchemaChange {
  const {bucketIds} = catalog.requireType(name);
  const records = {hasRecords: bucketIds.some(id => facts.recordCount(id) > 0)};
  switch (requested.kind) {
    case 'name':
      requireNoView(catalog, name, 'renamed');
      requireNoManualIndex(catalog, name);
      return renameType(catalog, name, requested.name);
    case 'add-supertype':
      return addSuperType(catalog, name, requested.name);
    case 'remove-supertype':
      return removeSuperType(catalog, name, requested.name);
    case 'add-bucket':
      return addTypeBucket(catalog, name, requested.name, records);
    case 'remove-bucket':
      return removeTypeBucket(catalog, name, requested.name, records);
    case 'bucket-selection':
      return setBucketSelection(
        catalog,
        name,
        requested.strategy === 'partitioned'
          ? {kind: 'partitioned', properties: requested.properties}
          : {kind: requested.strategy},
        records,
      );
    case 'edge-trait':
      return setEdgeTraits(catalog, name, {[requested.trait]: requested.value}, records);
    case 'custom':
      return setTypeCustom(catalog, name, requested.name, requested.value ?? null);
    case 'aliases':
      return setAliases(catalog, name, requested.names);
    default:
      return unreachable(requested);
  }
}

/** What an ALTER TYPE row says of one change: its name and the value now in force. */
function altered(catalog: Catalog, name: string, requested: TypeChange): readonly [string, Value] {
  const type = catalog.requireType(name);
  switch (requested.kind) {
    case 'name':
      return ['name', requested.name];
    case 'add-supertype':
    case 'remove-supertype':
      return ['supertype', type.superTypes.map(superType => superType.name)];
    case 'add-bucket':
      return ['addBucket', requested.name];
    case 'remove-bucket':
      return ['removeBucket', requested.name];
    case 'bucket-selection':
      return ['bucketSelectionStrategy', requested.strategy];
    case 'custom':
      return [
        'custom',
        `${requested.name}=${requested.value === undefined ? 'null' : shown(requested.value)}`,
      ];
    case 'edge-trait':
      return [requested.trait, requested.value];
    case 'aliases':
      return ['aliases', type.definition.aliases];
    default:
      return unreachable(requested);
  }
}

export function planDropType(
  catalog: Catalog,
  command: Command<'drop-type'>,
  facts: SchemaFacts,
): PlannedChange {
  const answer = (dropped: boolean): MapValue =>
    row({operation: 'drop type', typeName: command.name, dropped});
  if (command.ifExists && catalog.type(command.name) === undefined) return nothing(answer(false));
  const type = catalog.requireType(command.name);
  requireNoView(catalog, command.name, 'dropped');
  requireNoManualIndex(catalog, command.name);
  const hasRecords = type.bucketIds.some(id => facts.recordCount(id) > 0);
  if (hasRecords && type.kind !== 'document' && !command.unsafe) {
    throw new Refusal(
      'query.execution',
      `type '${type.name}' holds ${type.kind === 'vertex' ? 'vertices' : 'edges'}: ` +
        'delete them first, or add UNSAFE to leave dangling edges behind',
    );
  }
  const property = propertyOf(catalog, type);
  if (property !== undefined && !command.unsafe) {
    throw new Refusal(
      'schema.conflict',
      `property '${property}' holds values OF type '${type.name}': change or drop it first, or ` +
        'add UNSAFE to let it hold any',
    );
  }
  return one(dropType(catalog, command.name, {hasRecords}), answer(true));
}

/**
 * Refuses to give records new ids where edges and other ends hold the old ones.
 *
 * @throws {Refusal} `schema.conflict`.
 */
export function requireMovable({kind}: CatalogType, name: string): void {
  if (kind === 'document') return;
  throw new Refusal(
    'schema.conflict',
    `records of the ${kind} type '${name}' cannot be moved to other buckets: the bucket is part ` +
      'of the id that edges hold. Partition the type before its first record, or load it anew',
  );
}
