/**
 * The SQL front end: text to syntax tree. A hand-written recursive descent.
 *
 * The folder is a pipeline. keyword.ts and lexer.ts make tokens, the parser files make the tree of
 * ast.ts and ast-statement.ts (one file an area, this one chooses the statement), printer.ts turns
 * a tree back into text, and the bind files turn it into the plan algebra. The whole dialect is
 * parsed, sqlscript included; what the server cannot do yet is refused by the binder, by name.
 *
 * The dialect is a superset of the reference's: HAVING, OFFSET, conditions as values, `''` in
 * strings, methods on literals, `NOT CONTAINS`, DELETE without FROM, `(a, b)` as a list.
 *
 * Guarantees for any text: an answer in time linear in its length, no deeper stack than
 * `depthMax` levels need, and a `sql.syntax` refusal with line, column and what was expected.
 */

import {Refusal} from '#server/base/errors.ts';
import {runToCompletion, type Cooperative} from '#server/base/cooperative.ts';
import type {Expression} from './ast.ts';
import type {RecordClass, Script, Statement} from './ast-statement.ts';
import type {ParseLimits} from '../limits.ts';
import {defaultLimits} from '../limits.ts';
import {ParseStop} from '../place.ts';
import {Cursor} from './cursor.ts';
import {TokenKind, tokenize} from './lexer.ts';
import {
  parseAlterDatabase,
  parseBegin,
  parseCheckDatabase,
  parseCommit,
  parseConsole,
  parseExplain,
  parseFindReferences,
  parseForeach,
  parseIf,
  parseLet,
  parseLock,
  parseRestore,
  parseReturn,
  parseSetGlobal,
  parseSleep,
  parseStatements,
  parseTransfer,
  parseWhile,
} from './parser-admin.ts';
import {parseExpression} from './parser-expression.ts';
import {parseMatch} from './parser-match.ts';
import {
  parseAlterBucket,
  parseAlterProperty,
  parseAlterType,
  parseCreateBucket,
  parseCreateIndex,
  parseCreateProperty,
  parseCreateType,
  parseRebuild,
  parseTruncate,
} from './parser-schema.ts';
import {parseSelect, parseTraverse} from './parser-select.ts';
import {
  parseAlterTimeSeries,
  parseAlterView,
  parseCreateGraphView,
  parseCreateTimeSeries,
  parseCreateTrigger,
  parseCreateView,
  parseDefineFunction,
  parseDrop,
  parseDropFunction,
  parseRefreshView,
} from './parser-view.ts';
import {
  parseCreateEdge,
  parseCreateVertex,
  parseDelete,
  parseInsert,
  parseMoveVertex,
  parseUpdate,
} from './parser-write.ts';

/**
 * Parses one statement; a `;` may follow it.
 *
 * @throws {Refusal} `sql.syntax` with the place.
 */
export function parseStatement(text: string, limits: ParseLimits = defaultLimits): Statement {
  return runToCompletion(parsingStatement(text, limits));
}

/** Works like `parseStatement`, in portions. */
export function* parsingStatement(text: string, limits: ParseLimits): Cooperative<Statement> {
  return yield* running(text, limits, c => {
    const statement = parseAny(c);
    while (c.accept(';')) {
      // A trailing semicolon, or several, end nothing more.
    }
    expectEnd(c);
    return statement;
  });
}

/**
 * Parses statements separated by `;`; there may be none.
 *
 * @throws {Refusal} `sql.syntax` with the place.
 */
export function parseScript(text: string, limits: ParseLimits = defaultLimits): Script {
  return run(text, limits, c => {
    const statements = parseStatements(c, undefined);
    expectEnd(c);
    return {statements};
  });
}

/**
 * Parses one expression, such as the default of a property.
 *
 * @throws {Refusal} `sql.syntax` with the place.
 */
export function parseLoneExpression(text: string, limits: ParseLimits = defaultLimits): Expression {
  return run(text, limits, c => {
    const expression = parseExpression(c);
    expectEnd(c);
    return expression;
  });
}

function expectEnd(c: Cursor): void {
  if (c.kind === TokenKind.end) return;
  c.note('the end of the statement');
  c.fail();
}

/** Runs `rule`, and once more to learn what it expected when it stops (see cursor.ts). */
function run<T>(text: string, limits: ParseLimits, rule: (c: Cursor) => T): T {
  return runToCompletion(running(text, limits, rule));
}

function* running<T>(text: string, limits: ParseLimits, rule: (c: Cursor) => T): Cooperative<T> {
  if (text.length > limits.textLengthMax) {
    throw new Refusal(
      'sql.syntax',
      `the statement has ${text.length} characters; at most ${limits.textLengthMax} are read`,
      {place: {line: 1, column: 1}, detail: {line: 1, column: 1}},
    );
  }
  const tokens = tokenize(text);
  yield;
  const start = {text, tokens, limits, statementRule: parseAny};
  let failure = -1;
  try {
    return rule(new Cursor({...start, failure}));
  } catch (stop) {
    if (!(stop instanceof ParseStop)) throw stop;
    failure = stop.index;
  }
  return rule(new Cursor({...start, failure}));
}

/** Any statement; EXPLAIN, subqueries and blocks come back here. */
function parseAny(c: Cursor): Statement {
  const rule = rules.find(([word]) => c.is(word));
  if (rule === undefined) return c.fail();
  return rule[1](c);
}

const rules = [
  ['SELECT', parseSelect],
  ['MATCH', parseMatch],
  ['TRAVERSE', parseTraverse],
  ['INSERT', parseInsert],
  ['UPDATE', parseUpdate],
  ['DELETE', parseAnyDelete],
  ['CREATE', parseCreate],
  ['ALTER', parseAlter],
  ['DROP', parseDrop],
  ['TRUNCATE', parseTruncate],
  ['EXPLAIN', parseExplain],
  ['PROFILE', parseExplain],
  ['MOVE', parseMoveVertex],
  ['LET', parseLet],
  ['RETURN', parseReturn],
  ['IF', parseIf],
  ['FOREACH', parseForeach],
  ['WHILE', parseWhile],
  ['BREAK', parseBreak],
  ['BEGIN', parseBegin],
  ['COMMIT', parseCommit],
  ['ROLLBACK', parseRollback],
  ['REBUILD', parseRebuild],
  ['COMPACT', parseRebuild],
  ['REFRESH', parseRefreshView],
  ['DEFINE', parseDefineFunction],
  ['ALIGN', parseDatabaseStatement],
  ['CHECK', parseDatabaseStatement],
  ['IMPORT', parseDatabaseStatement],
  ['EXPORT', parseDatabaseStatement],
  ['BACKUP', parseDatabaseStatement],
  ['RESTORE', parseRestore],
  ['FIND', parseFindReferences],
  ['SLEEP', parseSleep],
  ['CONSOLE', parseConsole],
  ['LOCK', parseLock],
  ['SET', parseSetGlobal],
] as const;

function parseBreak(c: Cursor): Statement {
  const at = c.at;
  c.advance();
  return {kind: 'break', at};
}

function parseRollback(c: Cursor): Statement {
  const at = c.at;
  c.advance();
  return {kind: 'rollback', at};
}

function parseAnyDelete(c: Cursor): Statement {
  return c.lexemeAhead(1) === 'FUNCTION' && c.kindAhead(2) === TokenKind.word
    ? parseDropFunction(c)
    : parseDelete(c);
}

/** ALIGN, CHECK, IMPORT, EXPORT and BACKUP DATABASE. */
function parseDatabaseStatement(c: Cursor): Statement {
  const at = c.at;
  const verb = c.lexeme;
  c.advance();
  c.expect('DATABASE');
  switch (verb) {
    case 'ALIGN':
      return {kind: 'align-database', at};
    case 'CHECK':
      return parseCheckDatabase(c, at);
    case 'IMPORT':
      return parseTransfer(c, at, 'import');
    case 'EXPORT':
      return parseTransfer(c, at, 'export');
    default:
      return parseTransfer(c, at, 'backup');
  }
}

function parseCreate(c: Cursor): Statement {
  const at = c.at;
  c.expect('CREATE');
  if (c.acceptPair('DOCUMENT', 'TYPE')) return parseCreateType(c, at, 'document');
  if (isTypeAhead(c, 'VERTEX')) return parseCreateClass(c, at, 'vertex');
  if (isTypeAhead(c, 'EDGE')) return parseCreateClass(c, at, 'edge');
  if (c.accept('VERTEX')) return parseCreateVertex(c, at);
  if (c.accept('EDGE')) return parseCreateEdge(c, at);
  if (c.accept('PROPERTY')) return parseCreateProperty(c, at);
  if (c.accept('INDEX')) return parseCreateIndex(c, at);
  if (c.accept('BUCKET')) return parseCreateBucket(c, at);
  if (c.accept('TRIGGER')) return parseCreateTrigger(c, at);
  if (c.acceptPair('MATERIALIZED', 'VIEW')) return parseCreateView(c, at, 'materialized-view');
  if (c.acceptPair('CONTINUOUS', 'AGGREGATE')) {
    return parseCreateView(c, at, 'continuous-aggregate');
  }
  if (c.acceptPair('TIMESERIES', 'TYPE')) return parseCreateTimeSeries(c, at);
  c.expect('GRAPH');
  c.expect('ANALYTICAL');
  c.expect('VIEW');
  return parseCreateGraphView(c, at);
}

/** CREATE VERTEX TYPE n makes a type; CREATE VERTEX TYPE SET a = 1 a vertex of a type `Type`. */
function isTypeAhead(c: Cursor, word: 'VERTEX' | 'EDGE'): boolean {
  if (!c.isPair(word, 'TYPE')) return false;
  const next = c.kindAhead(2);
  const after = c.lexemeAhead(2);
  const named = next === TokenKind.word || next === TokenKind.quoted;
  return after !== '(' && (!named || (after !== 'SET' && after !== 'CONTENT' && after !== 'FROM'));
}

function parseCreateClass(c: Cursor, at: number, recordClass: RecordClass): Statement {
  c.advance();
  c.advance();
  return parseCreateType(c, at, recordClass);
}

function parseAlter(c: Cursor): Statement {
  const at = c.at;
  c.expect('ALTER');
  if (c.accept('TYPE')) return parseAlterType(c, at);
  if (c.accept('PROPERTY')) return parseAlterProperty(c, at);
  if (c.accept('BUCKET')) return parseAlterBucket(c, at);
  if (c.accept('DATABASE')) return parseAlterDatabase(c, at);
  if (c.acceptPair('MATERIALIZED', 'VIEW')) return parseAlterView(c, at, 'materialized-view');
  if (c.acceptPair('TIMESERIES', 'TYPE')) return parseAlterTimeSeries(c, at);
  c.expect('GRAPH');
  c.expect('ANALYTICAL');
  c.expect('VIEW');
  return parseAlterView(c, at, 'graph-analytical-view');
}
