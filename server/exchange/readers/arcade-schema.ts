/**
 * The schema in an export of ArcadeDB as SQL that makes it here, and what it says about values.
 *
 * What is there a bucket and an index of each bucket is one index here. Functions, views and
 * triggers come behind the records.
 */
import {quoteString} from '#server/languages/sql/literal.ts';
import {printName} from '#server/languages/sql/printer.ts';
import {type DataType, parseDataType} from '#server/model/data-type.ts';
import {jsonText} from '#server/model/json.ts';
import type {MapValue, RecordKind, Value} from '#server/model/value.ts';
import {malformed} from '../exchanged-record.ts';
import {plainText} from '../ids.ts';

/** What a property declares. */
export interface ArcadeProperty {
  readonly type: DataType;
  readonly of: string | undefined;
}

export interface ArcadeType {
  readonly kind: RecordKind;
  readonly parents: readonly string[];
  readonly properties: ReadonlyMap<string, ArcadeProperty>;
}

export interface ArcadeSchema {
  /** Types but for the views, whose records are made again. */
  readonly types: ReadonlyMap<string, ArcadeType>;
  readonly before: readonly string[];
  readonly behind: readonly string[];
  /** What cannot be made here, in words. */
  readonly left: readonly string[];
}

const kinds: ReadonlyMap<Value | undefined, RecordKind> = new Map([
  ['v', 'vertex'],
  ['e', 'edge'],
  ['d', 'document'],
]);

/** @throws {Refusal} `source.malformed` for what it cannot be. */
export function readArcadeSchema(schema: MapValue, place: number): ArcadeSchema {
  const views = mapIn(schema.get('materializedViews'));
  const rows = [...mapIn(schema.get('types'))].filter(([name]) => !views.has(name));
  const left: string[] = [];
  const types = new Map<string, ArcadeType>();
  const indexes: string[] = [];
  const traits = new Map<string, MapValue>();
  for (const [name, value] of rows) {
    const map = mapIn(value);
    const kind = kinds.get(map.get('type'));
    if (kind === undefined) {
      left.push(`the type '${name}', which holds neither documents nor vertices nor edges`);
      continue;
    }
    const properties = new Map<string, ArcadeProperty>();
    for (const [property, about] of mapIn(map.get('properties'))) {
      properties.set(property, propertyOf(`${name}.${property}`, mapIn(about), place));
    }
    types.set(name, {kind, parents: textsIn(map.get('parents')), properties});
    traits.set(name, map);
    indexes.push(...indexesOf(name, mapIn(map.get('indexes')), left));
  }
  const names = inOrder(types);
  const before = [
    ...names.map(name => createType(name, types, mapIn(traits.get(name)))),
    ...names.flatMap(name => [
      ...propertiesOf(name, types, mapIn(traits.get(name))),
      ...alterType(name, mapIn(traits.get(name))),
    ]),
    ...indexes,
  ];
  return {types, before, behind: [...programs(schema, left), ...createViews(views)], left};
}

function propertyOf(place: string, about: MapValue, line: number): ArcadeProperty {
  const written = plainText(about.get('type'));
  const of = about.get('of');
  const array = /^([A-Z]+)\[\]$/.exec(written)?.[1];
  const type = parseDataType(array === undefined ? written : `ARRAY_OF_${array}S`);
  if (type !== undefined) return {type, of: typeof of === 'string' ? of : undefined};
  throw malformed(line, `the property ${place} is of the unknown type '${written}'`);
}

/** Each type behind those that it extends. */
function inOrder(types: ReadonlyMap<string, ArcadeType>): readonly string[] {
  const ordered = new Set<string>();
  const add = (name: string, depth: number): void => {
    // A circle ends here, and is refused by the statements.
    if (ordered.has(name) || !types.has(name) || depth > types.size) return;
    for (const parent of types.get(name)?.parents ?? []) add(parent, depth + 1);
    ordered.add(name);
  };
  for (const name of types.keys()) add(name, 0);
  return [...ordered];
}

function createType(name: string, types: ReadonlyMap<string, ArcadeType>, about: MapValue): string {
  const {kind = 'document', parents = []} = types.get(name) ?? {};
  const buckets = textsIn(about.get('buckets')).length;
  return [
    `CREATE ${kind.toUpperCase()} TYPE ${printName(name)} IF NOT EXISTS`,
    parents.length > 0 && `EXTENDS ${parents.map(printName).join(', ')}`,
    buckets > 1 && `BUCKETS ${buckets}`,
    about.get('bidirectional') === false && 'UNIDIRECTIONAL',
    about.get('lightweight') === true && 'LIGHTWEIGHT',
  ]
    .filter(part => part !== false)
    .join(' ');
}

function propertiesOf(
  name: string,
  types: ReadonlyMap<string, ArcadeType>,
  about: MapValue,
): readonly string[] {
  const given = mapIn(about.get('properties'));
  return [...(types.get(name)?.properties ?? [])].map(([property, {type, of}]) => {
    const path = `${printName(name)}.${printName(property)}`;
    const kind = of === undefined ? type : `${type} OF ${parseDataType(of) ?? printName(of)}`;
    const map = mapIn(given.get(property));
    const rules = rulesOf(map);
    const list = rules.length === 0 ? '' : ` (${rules.join(', ')})`;
    return `CREATE PROPERTY ${path} IF NOT EXISTS ${kind}${list}${custom(map.get('custom'))}`;
  });
}

function rulesOf(about: MapValue): readonly string[] {
  const flags = ['mandatory', 'notNull', 'readonly', 'hidden'];
  const texts = ['regexp', 'default', 'min', 'max'];
  return [
    ...flags.filter(flag => about.get(flag) === true).map(flag => `${flag} true`),
    ...texts.flatMap(name => {
      const value = about.get(name);
      if (value === undefined || value === null) return [];
      const isNumber = /^-?\d+(\.\d+)?$/.test(plainText(value)) && name !== 'default';
      return [`${name} ${isNumber ? plainText(value) : quoteString(plainText(value))}`];
    }),
  ];
}

function alterType(name: string, about: MapValue): readonly string[] {
  const aliases = textsIn(about.get('aliases'));
  const own = custom(about.get('custom'));
  const begin = `ALTER TYPE ${printName(name)}`;
  return [
    aliases.length > 0 && `${begin} ALIASES ${aliases.map(printName).join(', ')}`,
    own !== '' && `${begin}${own}`,
  ].filter(part => part !== false);
}

function custom(value: Value | undefined): string {
  const entries = [...mapIn(value)].map(
    ([name, item]) =>
      `${printName(name)} = ${typeof item === 'string' ? quoteString(item) : jsonText(item)}`,
  );
  return entries.length === 0 ? '' : ` CUSTOM ${entries.join(', ')}`;
}

const kept: Readonly<Record<string, readonly string[]>> = {
  FULL_TEXT: ['analyzer', 'similarity', 'bm25_k1', 'bm25_b', 'defaultOperator'],
  LSM_VECTOR: ['dimensions', 'maxConnections', 'beamWidth', 'quantization', 'idPropertyName'],
  LSM_SPARSE_VECTOR: ['dimensions'],
};

function indexesOf(type: string, indexes: MapValue, left: string[]): readonly string[] {
  const statements = new Map<string, string>();
  for (const value of indexes.values()) {
    const about = mapIn(value);
    const properties = textsIn(about.get('properties'));
    const name = `${type}[${properties.join(',')}]`;
    const paths = properties.map(path => path.split('.').map(printName).join('.'));
    const on = `${printName(type)} (${paths.join(', ')})`;
    const begin = `CREATE INDEX ${printName(name)} IF NOT EXISTS ON ${on}`;
    const kind = plainText(about.get('type'));
    if (kind === 'LSM_TREE' || kind === 'HASH') {
      const unique = about.get('unique') === true ? 'UNIQUE' : 'NOTUNIQUE';
      const word = kind === 'HASH' ? `${unique}_HASH` : unique;
      const nulls = about.get('nullStrategy');
      const strategy = typeof nulls === 'string' ? ` NULL_STRATEGY ${printName(nulls)}` : '';
      statements.set(name, `${begin} ${word}${strategy}`);
    } else if (Object.hasOwn(kept, kind)) {
      const names = kept[kind] ?? [];
      const entries = names.flatMap(key =>
        about.has(key) ? [[key, about.get(key)] as const] : [],
      );
      const similarity = about.get('similarityFunction');
      if (typeof similarity === 'string') entries.push(['similarity', similarity]);
      const metadata = new Map(entries as [string, Value][]);
      statements.set(name, `${begin} ${kind} METADATA ${jsonText(metadata)}`);
    } else left.push(`the index '${name}' of the kind ${kind}`);
  }
  return [...statements.values()];
}

function programs(schema: MapValue, left: string[]): readonly string[] {
  const statements: string[] = [];
  for (const [library, value] of mapIn(schema.get('functions'))) {
    const language = plainText(mapIn(value).get('language'));
    for (const [name, about] of mapIn(mapIn(value).get('functions'))) {
      const code = quoteString(plainText(mapIn(about).get('code')));
      const parameters = textsIn(mapIn(about).get('parameters'));
      const list = parameters.length === 0 ? '' : ` PARAMETERS [${parameters.join(', ')}]`;
      const path = `${printName(library)}.${printName(name)}`;
      statements.push(`DEFINE FUNCTION ${path} ${code}${list} LANGUAGE ${printName(language)}`);
    }
  }
  for (const [name, value] of mapIn(schema.get('triggers'))) {
    const about = mapIn(value);
    const text = (field: string): string => plainText(about.get(field));
    const action = text('actionType').toUpperCase();
    if (action !== 'SQL' && action !== 'JAVASCRIPT') {
      left.push(`the trigger '${name}' in ${action}`);
      continue;
    }
    const moment = `${text('timing')} ${text('event')} ON ${printName(text('typeName'))}`;
    const run = `EXECUTE ${action} ${quoteString(text('actionCode'))}`;
    statements.push(`CREATE TRIGGER ${printName(name)} IF NOT EXISTS ${moment} ${run}`);
  }
  return statements;
}

function createViews(views: MapValue): readonly string[] {
  return [...views].map(([name, value]) => {
    const about = mapIn(value);
    const ms = Number(about.get('refreshInterval') ?? 0);
    const mode = plainText(about.get('refreshMode'));
    const when = mode === 'PERIODIC' ? `EVERY ${Math.max(1, Math.round(ms / 1_000))} SECOND` : mode;
    const begin = `CREATE MATERIALIZED VIEW IF NOT EXISTS ${printName(name)}`;
    return `${begin} AS ${plainText(about.get('query'))} REFRESH ${when}`;
  });
}

function mapIn(value: Value | undefined): MapValue {
  return value instanceof Map ? (value as MapValue) : new Map();
}

function textsIn(value: Value | undefined): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
