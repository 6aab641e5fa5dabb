/**
 * The schema as rows: `schema:types`, `schema:indexes` and the other tables of
 * plan/functions/schema.ts.
 *
 * Rows come from the catalog that the statement was bound with; counts of records from the
 * counters of the snapshot it reads. What belongs to models that are not there yet has no rows.
 */
import {Refusal} from '#server/base/errors.ts';
import {settingRows} from '#server/base/settings.ts';
import {refreshModes} from '#server/catalog/change-view.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {
  type BucketDefinition,
  type FunctionDefinition,
  type IndexDefinition,
  type IndexProperty,
  type PropertyDefinition,
  type TriggerDefinition,
  triggerLanguages,
} from '#server/catalog/definition.ts';
import {byName} from '#server/catalog/names.ts';
import type {MapValue, Value} from '#server/model/value.ts';
import {type CallContext, shownSchema} from '../context.ts';
import {plainText} from '../expressions/arithmetic.ts';
import type {FunctionFamily, TableFunction} from '../function-registry.ts';

function table(rowsOf: (call: CallContext, name: string) => readonly MapValue[]): TableFunction {
  return {
    outputs: ['row'],
    rows: ([name], call) => rowsOf(call, typeof name === 'string' ? name : '').map(row => [row]),
  };
}

/** A map of the entries that are there. */
function mapOf(entries: Readonly<Record<string, Value | undefined>>): MapValue {
  const map = new Map<string, Value>();
  for (const [key, value] of Object.entries(entries)) if (value !== undefined) map.set(key, value);
  return map;
}

/** Own records of the type; null for who may not read them. */
function countOf(type: CatalogType, call: CallContext): number | null {
  try {
    return call.graph.countType(type.name, false);
  } catch (error) {
    if (error instanceof Refusal && error.code === 'security.denied') return null;
    throw error;
  }
}

function typeRow(type: CatalogType, call: CallContext): MapValue {
  const {definition} = type;
  const shown = shownSchema(call);
  const {bucketSelection: selection} = definition;
  return mapOf({
    name: type.name,
    type: type.kind,
    ...(type.kind === 'edge' ? edgeTraits(type) : {}),
    records: countOf(type, call),
    buckets: type.bucketIds.map(id => call.catalog.bucketById(id)?.name ?? null),
    bucketSelectionStrategy: selection.kind,
    needsRepartition: selection.kind === 'partitioned' && selection.settled !== true,
    parentTypes: [...shown.parentsOf(type)],
    aliases: definition.aliases.length > 0 ? [...definition.aliases] : undefined,
    properties: byName(definition.properties).map(propertyRow),
    indexes: shown.indexesOf(type).map(index => typeIndexRow(index, type, call)),
    custom: definition.custom,
  });
}

function edgeTraits({edge}: CatalogType): Readonly<Record<string, boolean>> {
  const {lightweight, unidirectional, unique} = edge;
  return {lightweight, bidirectional: !unidirectional, unique};
}

function propertyRow(property: PropertyDefinition): MapValue {
  const text = (value: Value | undefined): string | undefined =>
    value === undefined || value === null ? undefined : plainText(value);
  return mapOf({
    id: property.id,
    name: property.name,
    type: property.type,
    ofType: property.ofType,
    mandatory: property.mandatory || undefined,
    readOnly: property.readonly || undefined,
    notNull: property.notNull || undefined,
    hidden: property.hidden || undefined,
    external: property.external,
    compression: property.compression,
    min: text(property.min),
    max: text(property.max),
    default: property.defaultText,
    regexp: property.regexp,
    custom: property.custom,
  });
}

/** An index as part of its type. */
function typeIndexRow(index: IndexDefinition, type: CatalogType, {catalog}: CallContext): MapValue {
  const family = catalog.families.of(index);
  return mapOf({
    name: index.name,
    typeName: type.name,
    type: family.typeName,
    unique: index.unique,
    properties: index.properties.map(part => part.name),
    automatic: true,
    ...Object.fromEntries(family.traits?.(index) ?? []),
  });
}

function indexRow(index: IndexDefinition, call: CallContext): MapValue {
  const type = call.catalog.typeById(index.typeId);
  const family = call.catalog.families.of(index);
  return mapOf({
    name: index.name,
    indexType: family.typeName,
    typeName: index.manual === true ? undefined : type?.name,
    properties: index.manual === true ? [] : [index.properties.map(partText)],
    keyTypes: index.properties.map(part => keyType(part, type)),
    unique: index.unique,
    automatic: index.manual !== true,
    compacting: false,
    valid: index.state === 'ready',
    supportsOrderedIterations: family.isOrdered,
    nullStrategy: index.nullStrategy,
  });
}

function partText(part: IndexProperty): string {
  return part.by === undefined ? part.name : `${part.name} by ${part.by}`;
}

function keyType(part: IndexProperty, type: CatalogType | undefined): string {
  if (part.name.startsWith('@')) return 'LINK';
  const property = type?.properties.get(part.name);
  if (part.by === 'key') return 'STRING';
  if (part.by !== undefined) return property?.ofType ?? 'STRING';
  return property?.type ?? 'STRING';
}

function bucketRow(bucket: BucketDefinition, call: CallContext): MapValue {
  const type = call.catalog.typeOfBucket(bucket.id);
  // Records are counted by type; a type of several buckets does not know its shares.
  const alone = type !== undefined && type.bucketIds.length === 1;
  return mapOf({
    name: bucket.name,
    fileId: bucket.id,
    records: alone ? countOf(type, call) : type === undefined ? 0 : null,
    purpose: 'PRIMARY',
    custom: bucket.custom,
  });
}

function databaseRow({catalog, databaseName, format}: CallContext): MapValue {
  return mapOf({
    name: databaseName,
    mode: 'READ_WRITE',
    dateFormat: format.datePattern ?? settingRows['svc.dateFormat'].default,
    dateTimeFormat: format.dateTimePattern ?? settingRows['svc.dateTimeFormat'].default,
    encoding: 'UTF-8',
    settings: catalog.settings,
  });
}

function dictionaryRow(call: CallContext): MapValue {
  const entries = new Map<string, Value>();
  for (const type of shownSchema(call).types) {
    for (const property of type.definition.properties) entries.set(property.name, property.id);
  }
  return mapOf({totalEntries: entries.size, entries});
}

function statsRow(call: CallContext): MapValue {
  const {types, buckets, indexes} = shownSchema(call);
  let records = 0;
  for (const type of types) records += countOf(type, call) ?? 0;
  return mapOf({
    databaseName: call.databaseName,
    types: types.length,
    buckets: buckets.length,
    indexes: indexes.length,
    records,
    schemaVersion: call.catalog.version,
  });
}

function triggerRow(trigger: TriggerDefinition, call: CallContext): MapValue {
  return mapOf({
    name: trigger.name,
    typeName: call.catalog.typeById(trigger.typeId)?.name,
    timing: trigger.when.toUpperCase(),
    event: trigger.event.toUpperCase(),
    actionType: triggerLanguages[trigger.language],
    actionCode: trigger.code,
    owner: trigger.owner ?? null,
  });
}

function functionRow({name, language, parameters, code}: FunctionDefinition): MapValue {
  return mapOf({name, language, parameters: [...parameters], code});
}

/** One row for a type that is a view. */
function viewRows(type: CatalogType, call: CallContext): readonly MapValue[] {
  const {view} = type.definition;
  if (view === undefined) return [];
  const {refresh, sourceTypeIds} = view;
  const shown = shownSchema(call);
  const figures = call.viewFigures?.(type.id);
  const count = figures?.refreshCount ?? 0;
  const totalMs = figures?.totalMs ?? 0;
  const row = mapOf({
    name: type.name,
    query: view.query,
    backingType: type.name,
    refreshMode: refreshModes[refresh.kind],
    simpleQuery: view.isSimple,
    lastRefreshTime: figures?.lastAt,
    status: figures?.hasFailed === true ? 'ERROR' : 'VALID',
    sourceTypes: sourceTypeIds
      .filter(id => shown.isShown(id))
      .map(id => call.catalog.typeById(id)?.name ?? null),
    refreshInterval: refresh.kind === 'periodic' ? refresh.everyMs : 0,
    refreshCount: count,
    refreshTotalTimeMs: totalMs,
    refreshMinTimeMs: figures?.minMs ?? 0,
    refreshMaxTimeMs: figures?.maxMs ?? 0,
    refreshAvgTimeMs: count === 0 ? 0 : Math.round(totalMs / count),
    owner: view.owner ?? 'root',
    errorCount: figures?.errorCount ?? 0,
    lastRefreshDurationMs: figures?.lastMs ?? 0,
  });
  return [row];
}

const empty = table(() => []);

export const schemaTableFunctions: FunctionFamily = {
  tables: {
    'schema:types': table(call => shownSchema(call).types.map(type => typeRow(type, call))),
    'schema:indexes': table(call => shownSchema(call).indexes.map(index => indexRow(index, call))),
    'schema:index': table((call, name) => [indexRow(shownSchema(call).requireIndex(name), call)]),
    'schema:buckets': table(call =>
      shownSchema(call).buckets.map(bucket => bucketRow(bucket, call)),
    ),
    'schema:bucket': table((call, name) => [
      bucketRow(shownSchema(call).requireBucket(name), call),
    ]),
    'schema:database': table(call => [databaseRow(call)]),
    'schema:dictionary': table(call => [dictionaryRow(call)]),
    'schema:stats': table(call => [statsRow(call)]),
    'schema:materializedViews': table(call =>
      shownSchema(call).types.flatMap(type => viewRows(type, call)),
    ),
    'schema:continuousAggregates': empty,
    'schema:graphAnalyticalViews': empty,
    'schema:triggers': table(call => shownSchema(call).triggers.map(one => triggerRow(one, call))),
    'schema:functions': table(call => byName(call.catalog.functions).map(functionRow)),
  },
};
