/**
 * The statements on types, properties, indexes, buckets, and their removal.
 *
 * Views, time series, triggers and functions are in parser-view.ts.
 */

import type {IndexedPart} from '#server/catalog/definition.ts';
import type {Expression, Name} from './ast.ts';
import type {
  AlterBucket,
  AlterProperty,
  AlterType,
  CreateBucket,
  CreateIndex,
  CreateProperty,
  CreateType,
  IndexedProperty,
  Option,
  Rebuild,
  RecordClass,
  Signed,
  Truncate,
  TruncateRecord,
  TypeChange,
} from './ast-statement.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseExpression, parseMap} from './parser-expression.ts';
import {isParameter, parseBucket, parseIndexName, parseNames} from './parser-select.ts';
import {acceptIfNotExists} from './parser-write.ts';
import {readString} from './literal.ts';

const typeName = 'the name of a type';

/** Reads what stands behind CREATE .. TYPE. */
export function parseCreateType(c: Cursor, at: number, recordClass: RecordClass): CreateType {
  const early = acceptIfNotExists(c);
  const name = c.name(typeName);
  const ifNotExists = acceptIfNotExists(c) || early;
  const draft: {-readonly [K in keyof CreateType]: CreateType[K]} = {
    kind: 'create-type',
    at,
    recordClass,
    name,
    ifNotExists,
    parents: [],
    bucketNames: [],
    bucketCount: undefined,
    pageSize: undefined,
    custom: [],
    unidirectional: false,
    lightweight: false,
    unique: false,
  };
  while (parseTypeClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

function parseTypeClause(
  c: Cursor,
  draft: {-readonly [K in keyof CreateType]: CreateType[K]},
): boolean {
  if (draft.parents.length === 0 && c.accept('EXTENDS')) draft.parents = parseNames(c, typeName);
  else if (draft.bucketNames.length === 0 && c.accept('BUCKET')) {
    const names = [parseBucket(c)];
    while (c.accept(',')) names.push(parseBucket(c));
    draft.bucketNames = names;
  } else if (draft.bucketCount === undefined && c.accept('BUCKETS')) {
    draft.bucketCount = parseExpression(c);
  } else if (draft.pageSize === undefined && c.accept('PAGESIZE')) {
    draft.pageSize = parseExpression(c);
  } else if (draft.custom.length === 0 && c.accept('CUSTOM')) draft.custom = parseOptions(c);
  else if (draft.recordClass === 'edge') return parseEdgeTypeClause(c, draft);
  else return false;
  return true;
}

function parseEdgeTypeClause(
  c: Cursor,
  draft: {-readonly [K in keyof CreateType]: CreateType[K]},
): boolean {
  if (!draft.unidirectional && c.accept('UNIDIRECTIONAL')) draft.unidirectional = true;
  else if (!draft.lightweight && c.accept('LIGHTWEIGHT')) draft.lightweight = true;
  else if (!draft.unique && c.accept('UNIQUE')) draft.unique = true;
  else return false;
  return true;
}

/** `k = v, k2 = v2`. */
export function parseOptions(c: Cursor): readonly Option[] {
  const options: Option[] = [];
  do {
    const at = c.at;
    const name = readOptionName(c);
    c.expect('=');
    options.push({at, name, value: parseExpression(c)});
  } while (c.accept(','));
  return options;
}

function readOptionName(c: Cursor): string {
  return c.kind === TokenKind.string ? readString(c) : readDottedName(c);
}

/** `a.b.c` as one name. */
export function readDottedName(c: Cursor): string {
  let name = c.name('a name').text;
  while (c.accept('.')) name += `.${c.name('a name').text}`;
  return name;
}

/** `[WITH k = v, ...]`. */
export function parseSettings(c: Cursor): readonly Option[] {
  return c.accept('WITH') ? parseOptions(c) : [];
}

/** Reads what stands behind ALTER TYPE. */
export function parseAlterType(c: Cursor, at: number): AlterType {
  const name = c.name(typeName);
  const change = parseTypeChange(c);
  return {kind: 'alter-type', at, name, change, settings: parseSettings(c)};
}

function parseTypeChange(c: Cursor): TypeChange {
  if (c.accept('NAME')) return {kind: 'name', name: c.name('the new name')};
  if (c.accept('SUPERTYPE')) {
    return {kind: 'supertype', changes: parseSigned(c, () => c.name(typeName))};
  }
  if (c.accept('BUCKET')) return {kind: 'bucket', changes: parseSigned(c, () => parseBucket(c))};
  if (c.accept('BUCKETSELECTIONSTRATEGY')) {
    return {kind: 'bucket-selection', strategy: parseStrategy(c)};
  }
  if (c.accept('CUSTOM')) return {kind: 'custom', items: parseOptions(c)};
  c.expect('ALIASES');
  if (c.accept('NULL')) return {kind: 'aliases', names: []};
  return {kind: 'aliases', names: parseNames(c, 'an alias')};
}

/** `round-robin` is written without quotes too. */
function parseStrategy(c: Cursor): Expression {
  const at = c.at;
  const dashed = c.isName() && c.lexemeAhead(1) === '-' && c.kindAhead(2) === TokenKind.word;
  if (!dashed) return parseExpression(c);
  const first = c.name('a strategy').text;
  c.expect('-');
  return {kind: 'literal', at, value: `${first}-${c.name('a strategy').text}`};
}

function parseSigned<T>(c: Cursor, parseItem: () => T): readonly Signed<T>[] {
  const changes: Signed<T>[] = [];
  do {
    const sign = c.accept('+') ? '+' : c.accept('-') ? '-' : c.fail();
    changes.push({sign, item: parseItem()});
  } while (c.accept(','));
  return changes;
}

interface PropertyName {
  readonly type: Name;
  readonly property: Name;
}

export function parsePropertyName(c: Cursor): PropertyName {
  const type = c.name(typeName);
  c.expect('.');
  return {type, property: c.name('the name of a property')};
}

/** Reads what stands behind CREATE PROPERTY. */
export function parseCreateProperty(c: Cursor, at: number): CreateProperty {
  const {type, property} = parsePropertyName(c);
  const ifNotExists = acceptIfNotExists(c);
  const dataType = c.name('a data type');
  const ofType = c.accept('OF') ? c.name('a data type') : undefined;
  const attributes = c.is('(') ? parseAttributes(c) : [];
  const custom = c.accept('CUSTOM') ? parseOptions(c) : [];
  return {
    kind: 'create-property',
    at,
    type,
    property,
    ifNotExists,
    dataType,
    ofType,
    attributes,
    custom,
  };
}

/** `(mandatory true, min 1, readonly)`: an attribute alone means true. */
function parseAttributes(c: Cursor): readonly Option[] {
  c.expect('(');
  const attributes: Option[] = [];
  if (c.accept(')')) return attributes;
  do {
    attributes.push(parseAttribute(c));
  } while (c.accept(','));
  c.expect(')');
  return attributes;
}

function parseAttribute(c: Cursor): Option {
  const at = c.at;
  const name = c.name('the name of an attribute').text;
  const alone = c.is(',') || c.is(')');
  c.accept('=');
  const value: Expression = alone ? {kind: 'literal', at, value: true} : parseExpression(c);
  return {at, name, value};
}

/** Reads what stands behind ALTER PROPERTY. */
export function parseAlterProperty(c: Cursor, at: number): AlterProperty {
  const {type, property} = parsePropertyName(c);
  return {kind: 'alter-property', at, type, property, change: parsePropertyChange(c)};
}

function parsePropertyChange(c: Cursor): AlterProperty['change'] {
  if (c.accept('NAME')) return {kind: 'name', name: c.name('the new name')};
  if (c.accept('TYPE')) {
    const dataType = c.name('a data type');
    return {kind: 'type', dataType, ofType: c.accept('OF') ? c.name('a data type') : undefined};
  }
  if (c.accept('CUSTOM')) return {kind: 'custom', items: parseOptions(c)};
  const at = c.at;
  const name = c.name('the name of an attribute').text;
  c.accept('=');
  return {kind: 'attribute', attribute: {at, name, value: parseExpression(c)}};
}

/** Reads what stands behind CREATE INDEX. */
export function parseCreateIndex(c: Cursor, at: number): CreateIndex {
  const early = acceptIfNotExists(c);
  const named = c.isName() && !(c.lexeme === 'ON' && c.kindAhead(1) <= TokenKind.quoted);
  const name = named ? parseNameOfIndex(c) : undefined;
  const ifNotExists = acceptIfNotExists(c) || early;
  const on = c.accept('ON') ? parseIndexed(c) : undefined;
  const indexKind = c.name('the kind of the index');
  if (on === undefined) c.accept('KEY');
  const keyTypes =
    on === undefined && c.isName() && !startsIndexClause(c) ? parseNames(c, 'a data type') : [];
  const draft: {-readonly [K in keyof CreateIndex]: CreateIndex[K]} = {
    kind: 'create-index',
    at,
    name,
    ifNotExists,
    on,
    indexKind,
    keyTypes,
    nullStrategy: undefined,
    metadata: undefined,
    engine: undefined,
  };
  while (parseIndexClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

function parseNameOfIndex(c: Cursor): Name {
  const at = c.at;
  return {at, text: parseIndexName(c)};
}

function startsIndexClause(c: Cursor): boolean {
  return c.lexeme === 'NULL_STRATEGY' || c.lexeme === 'METADATA' || c.lexeme === 'ENGINE';
}

function parseIndexClause(
  c: Cursor,
  draft: {-readonly [K in keyof CreateIndex]: CreateIndex[K]},
): boolean {
  if (draft.nullStrategy === undefined && c.accept('NULL_STRATEGY')) {
    draft.nullStrategy = c.name('SKIP, ERROR or INDEX');
  } else if (draft.metadata === undefined && c.accept('METADATA')) {
    draft.metadata = isParameter(c) ? parseExpression(c) : parseMap(c);
  } else if (draft.engine === undefined && c.accept('ENGINE')) {
    draft.engine = c.name('the name of an engine');
  } else return false;
  return true;
}

function parseIndexed(c: Cursor): NonNullable<CreateIndex['on']> {
  if (c.lexeme === 'TYPE' && c.lexemeAhead(1) !== '(') c.advance();
  const type = c.name(typeName);
  c.expect('(');
  const properties = [parseIndexedProperty(c)];
  while (c.accept(',')) properties.push(parseIndexedProperty(c));
  c.expect(')');
  return {type, properties};
}

function parseIndexedProperty(c: Cursor): IndexedProperty {
  const at = c.at;
  const name = c.kind === TokenKind.attribute ? readAttributeName(c) : readDottedName(c);
  const by = c.accept('BY') ? parseBy(c) : undefined;
  const collation = c.accept('COLLATE') ? c.name('the name of a collation') : undefined;
  return {at, name, by, collation};
}

function readAttributeName(c: Cursor): string {
  const name = c.raw;
  c.advance();
  return name;
}

function parseBy(c: Cursor): IndexedPart {
  if (c.accept('KEY')) return 'key';
  if (c.accept('VALUE')) return 'value';
  c.expect('ITEM');
  return 'item';
}

/** Reads what stands behind CREATE BUCKET. */
export function parseCreateBucket(c: Cursor, at: number): CreateBucket {
  const early = acceptIfNotExists(c);
  const name = c.name('the name of a bucket');
  return {kind: 'create-bucket', at, name, ifNotExists: acceptIfNotExists(c) || early};
}

/** Reads what stands behind ALTER BUCKET: `b NAME n` or `b CUSTOM k = v`. */
export function parseAlterBucket(c: Cursor, at: number): AlterBucket {
  const name = c.name('the name of a bucket');
  if (c.accept('CUSTOM')) return {kind: 'alter-bucket', at, name, options: parseOptions(c)};
  const optionAt = c.at;
  const option = c.name('NAME or CUSTOM').text;
  c.accept('=');
  return {
    kind: 'alter-bucket',
    at,
    name,
    options: [{at: optionAt, name: option.toUpperCase(), value: parseExpression(c)}],
  };
}

export function parseTruncate(c: Cursor): Truncate | TruncateRecord {
  const at = c.at;
  c.expect('TRUNCATE');
  if (c.accept('RECORD')) {
    const records = parseExpression(c);
    // Edges of a vertex always go with it, so that UNSAFE adds nothing.
    c.accept('UNSAFE');
    return {kind: 'truncate-record', at, records};
  }
  if (c.accept('BUCKET')) {
    const name = c.name('the name of a bucket');
    const unsafe = c.accept('UNSAFE');
    return {kind: 'truncate', at, what: 'bucket', name, polymorphic: false, unsafe};
  }
  c.expect('TYPE');
  const name = c.name(typeName);
  const early = c.accept('POLYMORPHIC');
  const unsafe = c.accept('UNSAFE');
  const polymorphic = early || c.accept('POLYMORPHIC');
  return {kind: 'truncate', at, what: 'type', name, polymorphic, unsafe};
}

/** REBUILD INDEX, REBUILD TYPE, COMPACT INDEX, REBUILD GRAPH ANALYTICAL VIEW. */
export function parseRebuild(c: Cursor): Rebuild {
  const at = c.at;
  const compact = c.accept('COMPACT');
  if (!compact) c.expect('REBUILD');
  const kind = 'rebuild';
  if (!compact && c.accept('TYPE')) {
    const name = c.name(typeName);
    const polymorphic = c.accept('POLYMORPHIC');
    return {kind, at, what: 'rebuild-type', name, polymorphic, settings: parseSettings(c)};
  }
  if (!compact && c.accept('GRAPH')) {
    c.expect('ANALYTICAL');
    c.expect('VIEW');
    const name = c.name('the name of a view');
    return {kind, at, what: 'rebuild-graph-view', name, polymorphic: false, settings: []};
  }
  c.expect('INDEX');
  const name = c.accept('*') ? undefined : parseNameOfIndex(c);
  const what = compact ? 'compact-index' : 'rebuild-index';
  return {kind, at, what, name, polymorphic: false, settings: parseSettings(c)};
}
