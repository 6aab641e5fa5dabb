/**
 * The schema of a database as SQL that makes it again: types before those that extend them, then
 * properties and indexes; functions, views and triggers behind the records, so that nothing fires
 * while they come.
 */
import type {Catalog} from '#server/catalog/catalog.ts';
import type {CatalogType} from '#server/catalog/catalog-type.ts';
import {
  type FunctionDefinition,
  type IndexDefinition,
  type PropertyDefinition,
  triggerLanguages,
  type TriggerDefinition,
  type ViewDefinition,
} from '#server/catalog/definition.ts';
import {quoteString} from '#server/languages/sql/literal.ts';
import {printName} from '#server/languages/sql/printer.ts';
import {jsonText} from '#server/model/json.ts';
import {labelsOf} from '#server/model/labels.ts';
import type {MapValue, Value} from '#server/model/value.ts';

/** What must be there before the records. */
export function schemaBefore(catalog: Catalog): readonly string[] {
  const types = inOrder(catalog);
  return [
    // A type of several labels is made with the first record that has them.
    ...types.filter(({name}) => labelsOf(name).length <= 1).map(createType),
    ...types.flatMap(type => type.definition.properties.map(own => createProperty(type, own))),
    ...catalog.indexes
      .filter(({manual}) => manual !== true)
      .map(index => createIndex(catalog, index)),
    // A partition needs its index.
    ...types.flatMap(alterType),
  ];
}

/** What comes behind them. */
export function schemaBehind(catalog: Catalog): readonly string[] {
  const views = [...catalog.types].flatMap(({name, definition}) =>
    definition.view === undefined ? [] : [createView(name, definition.view)],
  );
  const triggers = catalog.triggers.map(trigger => createTrigger(catalog, trigger));
  return [...catalog.functions.map(defineFunction), ...views, ...triggers];
}

/** The types of records, without the views; each comes behind the types that it extends. */
export function recordTypes(catalog: Catalog): readonly CatalogType[] {
  return inOrder(catalog);
}

function inOrder(catalog: Catalog): readonly CatalogType[] {
  const ordered = new Set<CatalogType>();
  const add = (type: CatalogType): void => {
    for (const above of type.superTypes) add(above);
    if (type.definition.view === undefined) ordered.add(type);
  };
  for (const type of catalog.types) add(type);
  return [...ordered];
}

function createType({name, kind, superTypes, bucketIds, edge}: CatalogType): string {
  const parts = [`CREATE ${kind.toUpperCase()} TYPE ${printName(name)} IF NOT EXISTS`];
  if (superTypes.length > 0) {
    parts.push(`EXTENDS ${superTypes.map(above => printName(above.name)).join(', ')}`);
  }
  if (bucketIds.length > 1) parts.push(`BUCKETS ${bucketIds.length}`);
  if (edge.unidirectional) parts.push('UNIDIRECTIONAL');
  if (edge.lightweight) parts.push('LIGHTWEIGHT');
  if (edge.unique) parts.push('UNIQUE');
  return parts.join(' ');
}

function createProperty({name}: CatalogType, property: PropertyDefinition): string {
  const {type, ofType, custom} = property;
  const of = ofType === undefined ? '' : ` OF ${printName(ofType)}`;
  const attributes = attributesOf(property);
  const rules = attributes.length === 0 ? '' : ` (${attributes.join(', ')})`;
  const path = `${printName(name)}.${printName(property.name)}`;
  return `CREATE PROPERTY ${path} IF NOT EXISTS ${type}${of}${rules}${customOf(custom)}`;
}

function attributesOf(property: PropertyDefinition): readonly string[] {
  const {mandatory, notNull, hidden, min, max, regexp, defaultText} = property;
  const {external, compression} = property;
  return [
    mandatory && 'mandatory true',
    notNull && 'notnull true',
    property.readonly && 'readonly true',
    hidden && 'hidden true',
    external === true && 'external true',
    compression !== undefined && `compression ${quoteString(compression)}`,
    min !== undefined && `min ${literal(min)}`,
    max !== undefined && `max ${literal(max)}`,
    regexp !== undefined && `regexp ${quoteString(regexp)}`,
    defaultText !== undefined && `default ${quoteString(defaultText)}`,
  ].filter(part => part !== false);
}

function alterType({name, definition}: CatalogType): readonly string[] {
  const {aliases, custom, bucketSelection} = definition;
  const begin = `ALTER TYPE ${printName(name)}`;
  const strategy =
    bucketSelection.kind === 'partitioned'
      ? `partitioned(${bucketSelection.properties.map(one => `'${one}'`).join(', ')})`
      : bucketSelection.kind;
  return [
    aliases.length > 0 && `${begin} ALIASES ${aliases.map(printName).join(', ')}`,
    custom.size > 0 && `${begin}${customOf(custom)}`,
    strategy !== 'round-robin' && `${begin} BUCKETSELECTIONSTRATEGY ${printName(strategy)}`,
  ].filter(part => part !== false);
}

function customOf(custom: MapValue): string {
  if (custom.size === 0) return '';
  const entries = [...custom].map(([key, value]) => `${printName(key)} = ${literal(value)}`);
  return ` CUSTOM ${entries.join(', ')}`;
}

function createIndex(catalog: Catalog, index: IndexDefinition): string {
  const {name, typeId, properties, unique, nullStrategy, options} = index;
  const family = catalog.families.of(index);
  const items = properties.map(({name: property, by, ignoreCase}) => {
    const path = property.startsWith('@') ? property : property.split('.').map(printName).join('.');
    return path + (by === undefined ? '' : ` BY ${by}`) + (ignoreCase ? ' COLLATE CI' : '');
  });
  const word = unique ? (family.uniqueWord ?? family.word) : family.word;
  const type = printName(catalog.typeById(typeId)?.name ?? '');
  return [
    `CREATE INDEX ${printName(name)} IF NOT EXISTS ON ${type} (${items.join(', ')}) ${word}`,
    family.isKeyed ? ` NULL_STRATEGY ${nullStrategy}` : '',
    options === undefined ? '' : ` METADATA ${jsonText(options)}`,
  ].join('');
}

function defineFunction({name, language, parameters, code}: FunctionDefinition): string {
  const path = name.split('.').map(printName).join('.');
  const names = parameters.length === 0 ? '' : ` PARAMETERS [${parameters.join(', ')}]`;
  return `DEFINE FUNCTION ${path} ${quoteString(code)}${names} LANGUAGE ${language}`;
}

function createView(name: string, {query, refresh}: ViewDefinition): string {
  const when =
    refresh.kind === 'periodic'
      ? `EVERY ${Math.max(1, Math.round(refresh.everyMs / 1_000))} SECOND`
      : refresh.kind.toUpperCase();
  return `CREATE MATERIALIZED VIEW IF NOT EXISTS ${printName(name)} AS ${query} REFRESH ${when}`;
}

function createTrigger(catalog: Catalog, trigger: TriggerDefinition): string {
  const {name, typeId, when, event, language, code} = trigger;
  const type = printName(catalog.typeById(typeId)?.name ?? '');
  const moment = `${when.toUpperCase()} ${event.toUpperCase()}`;
  const run = `EXECUTE ${triggerLanguages[language]} ${quoteString(code)}`;
  return `CREATE TRIGGER IF NOT EXISTS ${printName(name)} ${moment} ON ${type} ${run}`;
}

function literal(value: Value): string {
  return typeof value === 'string' ? quoteString(value) : jsonText(value);
}
