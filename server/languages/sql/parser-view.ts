/**
 * Triggers, views of all kinds, time-series types, functions, and DROP of everything.
 */

import type {Name} from './ast.ts';
import type {
  AlterTimeSeries,
  AlterView,
  Column,
  CreateGraphView,
  CreateTimeSeries,
  CreateTrigger,
  CreateView,
  DefineFunction,
  Drop,
  DropFunction,
  GraphViewOptions,
  Refresh,
  RefreshView,
  Span,
} from './ast-statement.ts';
import type {Cursor} from './cursor.ts';
import type {Keyword} from './keyword.ts';
import {TokenKind} from './lexer.ts';
import {readString} from './literal.ts';
import {parseExpression} from './parser-expression.ts';
import {parsePropertyName} from './parser-schema.ts';
import {parseIndexName, parseNames} from './parser-select.ts';
import {acceptIfNotExists, parseQuery} from './parser-write.ts';

const viewName = 'the name of a view';
const triggerEvents = ['CREATE', 'READ', 'UPDATE', 'DELETE'] as const;

/** Reads what stands behind CREATE TRIGGER. */
export function parseCreateTrigger(c: Cursor, at: number): CreateTrigger {
  const early = acceptIfNotExists(c);
  const name = c.name('the name of a trigger');
  const ifNotExists = acceptIfNotExists(c) || early;
  const when = c.accept('BEFORE') ? 'before' : c.accept('AFTER') ? 'after' : c.fail();
  const event = acceptOneOf(c, triggerEvents);
  c.expect('ON');
  if (c.lexeme === 'TYPE' && c.lexemeAhead(1) !== 'EXECUTE') c.advance();
  const type = c.name('the name of a type');
  c.expect('EXECUTE');
  const language = c.name('SQL, JAVASCRIPT or JAVA');
  const code = expectString(c, 'the code as a string');
  return {kind: 'create-trigger', at, name, ifNotExists, when, event, type, language, code};
}

/** Takes one of `words` and gives it in lower case. */
function acceptOneOf<W extends Keyword>(c: Cursor, words: readonly W[]): Lowercase<W> {
  const word = words.find(each => c.is(each));
  if (word === undefined) return c.fail();
  c.advance();
  return word.toLowerCase() as Lowercase<W>;
}

function expectString(c: Cursor, what: string): string {
  if (c.kind !== TokenKind.string) {
    c.note(what);
    c.fail();
  }
  return readString(c);
}

/** Reads what stands behind CREATE MATERIALIZED VIEW and CREATE CONTINUOUS AGGREGATE. */
export function parseCreateView(c: Cursor, at: number, what: CreateView['what']): CreateView {
  const early = acceptIfNotExists(c);
  const name = c.name(viewName);
  const ifNotExists = acceptIfNotExists(c) || early;
  c.expect('AS');
  const query = parseQuery(c);
  const view = what === 'materialized-view';
  const refresh = view && c.accept('REFRESH') ? parseRefresh(c) : undefined;
  const buckets = view && c.accept('BUCKETS') ? parseExpression(c) : undefined;
  return {kind: 'create-view', at, what, name, ifNotExists, query, refresh, buckets};
}

function parseRefresh(c: Cursor): Refresh {
  if (c.accept('MANUAL')) return {kind: 'manual'};
  if (c.accept('INCREMENTAL')) return {kind: 'incremental'};
  c.expect('EVERY');
  return {kind: 'every', span: parseSpan(c)};
}

const units: readonly (readonly [Keyword, Span['unit']])[] = [
  ['SECOND', 'second'],
  ['SECONDS', 'second'],
  ['MINUTE', 'minute'],
  ['MINUTES', 'minute'],
  ['HOUR', 'hour'],
  ['HOURS', 'hour'],
  ['DAY', 'day'],
  ['DAYS', 'day'],
];

/** A number and a unit of time. */
function parseSpan(c: Cursor): Span {
  const at = c.at;
  const amount = parseExpression(c);
  const found = units.find(([word]) => c.accept(word));
  if (found === undefined) return c.fail();
  return {at, amount, unit: found[1]};
}

/** Reads what stands behind CREATE TIMESERIES TYPE. */
export function parseCreateTimeSeries(c: Cursor, at: number): CreateTimeSeries {
  const early = acceptIfNotExists(c);
  const name = c.name('the name of a type');
  const draft: {-readonly [K in keyof CreateTimeSeries]: CreateTimeSeries[K]} = {
    kind: 'create-timeseries',
    at,
    name,
    ifNotExists: acceptIfNotExists(c) || early,
    timestamp: undefined,
    precision: undefined,
    tags: [],
    fields: [],
    shards: undefined,
    retention: undefined,
    compactionInterval: undefined,
  };
  while (parseTimeSeriesClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

const precisions = ['NANOSECOND', 'MICROSECOND', 'MILLISECOND', 'SECOND'] as const;

function parseTimeSeriesClause(
  c: Cursor,
  draft: {-readonly [K in keyof CreateTimeSeries]: CreateTimeSeries[K]},
): boolean {
  if (draft.timestamp === undefined && c.accept('TIMESTAMP')) {
    draft.timestamp = c.name('the name of a column');
    if (c.accept('PRECISION')) draft.precision = acceptOneOf(c, precisions);
  } else if (draft.tags.length === 0 && c.accept('TAGS')) draft.tags = parseColumns(c);
  else if (draft.fields.length === 0 && c.accept('FIELDS')) draft.fields = parseColumns(c);
  else if (draft.shards === undefined && c.accept('SHARDS')) draft.shards = parseExpression(c);
  else if (draft.retention === undefined && c.accept('RETENTION')) draft.retention = parseSpan(c);
  else if (draft.compactionInterval === undefined && c.accept('COMPACTION_INTERVAL')) {
    draft.compactionInterval = parseSpan(c);
  } else return false;
  return true;
}

function parseColumns(c: Cursor): readonly Column[] {
  const columns: Column[] = [];
  c.expect('(');
  do {
    const at = c.at;
    const name = c.name('the name of a column').text;
    columns.push({at, name, dataType: c.name('a data type')});
  } while (c.accept(','));
  c.expect(')');
  return columns;
}

/** Reads what stands behind ALTER TIMESERIES TYPE. */
export function parseAlterTimeSeries(c: Cursor, at: number): AlterTimeSeries {
  const name = c.name('the name of a type');
  const kind = 'alter-timeseries';
  if (c.accept('DROP')) {
    c.expect('DOWNSAMPLING');
    c.expect('POLICY');
    return {kind, at, name, tiers: []};
  }
  c.expect('ADD');
  c.expect('DOWNSAMPLING');
  c.expect('POLICY');
  const tiers: {after: Span; granularity: Span}[] = [];
  c.expect('AFTER');
  do {
    const after = parseSpan(c);
    c.expect('GRANULARITY');
    tiers.push({after, granularity: parseSpan(c)});
  } while (c.accept('AFTER'));
  return {kind, at, name, tiers};
}

/** Reads what stands behind CREATE GRAPH ANALYTICAL VIEW. */
export function parseCreateGraphView(c: Cursor, at: number): CreateGraphView {
  const early = acceptIfNotExists(c);
  const name = c.name(viewName);
  const ifNotExists = acceptIfNotExists(c) || early;
  return {kind: 'create-graph-view', at, name, ifNotExists, options: parseGraphOptions(c)};
}

function parseGraphOptions(c: Cursor): GraphViewOptions {
  const draft: {-readonly [K in keyof GraphViewOptions]: GraphViewOptions[K]} = {
    vertexTypes: [],
    edgeTypes: [],
    properties: [],
    edgeProperties: [],
    updateMode: undefined,
    compactionThreshold: undefined,
  };
  while (parseGraphOption(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

const updateModes = ['OFF', 'SYNCHRONOUS', 'ASYNCHRONOUS'] as const;

function parseGraphOption(
  c: Cursor,
  draft: {-readonly [K in keyof GraphViewOptions]: GraphViewOptions[K]},
): boolean {
  if (draft.vertexTypes.length === 0 && c.acceptPair('VERTEX', 'TYPES')) {
    draft.vertexTypes = parseNameList(c);
  } else if (draft.edgeTypes.length === 0 && c.acceptPair('EDGE', 'TYPES')) {
    draft.edgeTypes = parseNameList(c);
  } else if (draft.edgeProperties.length === 0 && c.acceptPair('EDGE', 'PROPERTIES')) {
    draft.edgeProperties = parseNameList(c);
  } else if (draft.properties.length === 0 && c.accept('PROPERTIES')) {
    draft.properties = parseNameList(c);
  } else if (draft.updateMode === undefined && c.acceptPair('UPDATE', 'MODE')) {
    draft.updateMode = acceptOneOf(c, updateModes);
  } else if (draft.compactionThreshold === undefined && c.acceptPair('COMPACTION', 'THRESHOLD')) {
    draft.compactionThreshold = parseExpression(c);
  } else return false;
  return true;
}

function parseNameList(c: Cursor): readonly Name[] {
  c.expect('(');
  const names = parseNames(c, 'a name');
  c.expect(')');
  return names;
}

/** Reads what stands behind ALTER MATERIALIZED VIEW or ALTER GRAPH ANALYTICAL VIEW. */
export function parseAlterView(c: Cursor, at: number, what: AlterView['what']): AlterView {
  const name = c.name(viewName);
  if (what === 'graph-analytical-view') {
    return {kind: 'alter-view', at, what, name, options: parseGraphOptions(c)};
  }
  c.expect('REFRESH');
  return {kind: 'alter-view', at, what, name, refresh: parseRefresh(c)};
}

export function parseRefreshView(c: Cursor): RefreshView {
  const at = c.at;
  c.expect('REFRESH');
  const what = c.acceptPair('MATERIALIZED', 'VIEW')
    ? 'materialized-view'
    : c.acceptPair('CONTINUOUS', 'AGGREGATE')
      ? 'continuous-aggregate'
      : c.fail();
  return {kind: 'refresh-view', at, what, name: c.name(viewName)};
}

/** DEFINE FUNCTION lib.fn "body" [PARAMETERS [a, b]] [LANGUAGE l]. */
export function parseDefineFunction(c: Cursor): DefineFunction {
  const at = c.at;
  c.expect('DEFINE');
  c.expect('FUNCTION');
  const {library, name} = parseFunctionName(c);
  const code = expectString(c, 'the body as a string');
  const parameters = c.accept('PARAMETERS') ? parseParameterNames(c) : [];
  const language = c.accept('LANGUAGE') ? c.name('the name of a language') : undefined;
  return {kind: 'define-function', at, library, name, code, parameters, language};
}

function parseParameterNames(c: Cursor): readonly Name[] {
  c.expect('[');
  if (c.accept(']')) return [];
  const names = parseNames(c, 'the name of a parameter');
  c.expect(']');
  return names;
}

function parseFunctionName(c: Cursor): {readonly library: Name; readonly name: Name} {
  const library = c.name('the name of a library');
  c.expect('.');
  return {library, name: c.name('the name of a function')};
}

/** DELETE FUNCTION lib.fn. */
export function parseDropFunction(c: Cursor): DropFunction {
  const at = c.at;
  c.expect('DELETE');
  c.expect('FUNCTION');
  return {kind: 'drop-function', at, ...parseFunctionName(c)};
}

export function parseDrop(c: Cursor): Drop {
  const at = c.at;
  c.expect('DROP');
  const what = parseDropped(c);
  // Views and triggers are asked for before their names, everything else behind.
  const early = c.acceptPair('IF', 'EXISTS');
  let name: Name | undefined;
  let property: Name | undefined;
  if (what === 'property') {
    const both = parsePropertyName(c);
    name = both.type;
    property = both.property;
  } else if (what === 'index') {
    name = c.accept('*') ? undefined : {at: c.at, text: parseIndexName(c)};
  } else {
    name = c.name('a name');
  }
  const ifExists = early || c.acceptPair('IF', 'EXISTS');
  const unsafe = what === 'type' && c.accept('UNSAFE');
  const force = what === 'property' && c.accept('FORCE');
  return {kind: 'drop', at, what, name, property, ifExists, unsafe, force};
}

function parseDropped(c: Cursor): Drop['what'] {
  if (c.accept('TYPE')) return 'type';
  if (c.accept('PROPERTY')) return 'property';
  if (c.accept('INDEX')) return 'index';
  if (c.accept('BUCKET')) return 'bucket';
  if (c.accept('TRIGGER')) return 'trigger';
  if (c.acceptPair('MATERIALIZED', 'VIEW')) return 'materialized-view';
  if (c.acceptPair('CONTINUOUS', 'AGGREGATE')) return 'continuous-aggregate';
  if (c.acceptPair('TIMESERIES', 'TYPE')) return 'timeseries-type';
  c.expect('GRAPH');
  c.expect('ANALYTICAL');
  c.expect('VIEW');
  return 'graph-analytical-view';
}
