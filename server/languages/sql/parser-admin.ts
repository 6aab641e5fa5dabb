/**
 * The statements that run the database, and the control flow of scripts.
 */

import type {TransferCommand} from '#server/plan/statement.ts';
import type {BucketReference, Expression, Name} from './ast.ts';
import type {AdminStatement, CheckDatabase, RecordClass, Statement} from './ast-statement.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {readString} from './literal.ts';
import {parseExpression, parsePrimary, readVariableName} from './parser-expression.ts';
import {parseSettings, readDottedName} from './parser-schema.ts';
import {parseBucket, parseLetItems, parseNames, parseValueOrStatement} from './parser-select.ts';
import {parseBody} from './parser-write.ts';

/** Reads what stands behind ALTER DATABASE. */
export function parseAlterDatabase(c: Cursor, at: number): AdminStatement {
  const settingAt = c.at;
  const text = c.kind === TokenKind.string ? readString(c) : readDottedName(c);
  c.accept('=');
  return {
    kind: 'alter-database',
    at,
    setting: {at: settingAt, text},
    value: parseExpression(c),
  };
}

/** Reads what stands behind CHECK DATABASE. */
export function parseCheckDatabase(c: Cursor, at: number): CheckDatabase {
  const draft: {-readonly [K in keyof CheckDatabase]: CheckDatabase[K]} = {
    kind: 'check-database',
    at,
    types: [],
    buckets: [],
    records: [],
    fix: false,
    deleteOrphans: false,
    reclaim: false,
    deep: false,
    compress: false,
  };
  while (parseCheckClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

function parseCheckClause(
  c: Cursor,
  draft: {-readonly [K in keyof CheckDatabase]: CheckDatabase[K]},
): boolean {
  if (draft.types.length === 0 && c.accept('TYPE')) {
    draft.types = parseNames(c, 'the name of a type');
  } else if (draft.buckets.length === 0 && c.accept('BUCKET')) draft.buckets = parseBucketList(c);
  else if (draft.records.length === 0 && c.accept('RECORD')) draft.records = parseList(c);
  else if (!draft.fix && c.accept('FIX')) draft.fix = true;
  else if (!draft.deleteOrphans && c.acceptPair('DELETE', 'ORPHANS')) draft.deleteOrphans = true;
  else if (!draft.reclaim && c.acceptPair('RECLAIM', 'UNREFERENCED')) {
    c.expect('FILES');
    draft.reclaim = true;
  } else if (!draft.deep && c.accept('DEEP')) draft.deep = true;
  else if (!draft.compress && c.accept('COMPRESS')) draft.compress = true;
  else return false;
  return true;
}

function parseBucketList(c: Cursor): readonly BucketReference[] {
  const buckets = [parseBucket(c)];
  while (c.accept(',')) buckets.push(parseBucket(c));
  return buckets;
}

function parseList(c: Cursor): readonly Expression[] {
  const items = [parseExpression(c)];
  while (c.accept(',')) items.push(parseExpression(c));
  return items;
}

/** Reads what stands behind IMPORT, EXPORT or BACKUP DATABASE: a URL, bare or quoted, settings. */
export function parseTransfer(
  c: Cursor,
  at: number,
  what: TransferCommand['what'],
): AdminStatement {
  const bare = c.is('WITH') || c.kind === TokenKind.end || c.lexeme === ';';
  const url = bare ? undefined : parseUrl(c);
  return {kind: 'transfer-database', at, what, url, settings: parseSettings(c)};
}

/** `file://a/b.csv` without quotes is read up to the next blank. */
function parseUrl(c: Cursor): Expression {
  const at = c.at;
  if (c.kind !== TokenKind.word) return parseExpression(c);
  let end = 0;
  while (c.isJoined(end) && c.kindAhead(end + 1) > TokenKind.bad) end++;
  let value = '';
  for (let i = 0; i <= end; i++) {
    value += c.raw;
    c.advance();
  }
  return {kind: 'literal', at, value};
}

export function parseRestore(c: Cursor): AdminStatement {
  const at = c.at;
  c.expect('RESTORE');
  const recordClass: RecordClass = c.accept('DOCUMENT')
    ? 'document'
    : c.accept('VERTEX')
      ? 'vertex'
      : c.accept('EDGE')
        ? 'edge'
        : c.fail();
  const type = c.name('the name of a type');
  c.expect('RID');
  const rid = parseExpression(c);
  const from = c.accept('FROM') ? parseExpression(c) : undefined;
  if (from !== undefined) c.expect('TO');
  const to = from === undefined ? undefined : parseExpression(c);
  return {kind: 'restore-record', at, recordClass, type, rid, from, to, body: parseBody(c)};
}

const holdsIds: ReadonlySet<string> = new Set<Expression['kind']>([
  'rid',
  'list',
  'parameter',
  'variable',
  'subquery',
]);

/**
 * FIND REFERENCES ids [[types]]. The types look like a selector, so the ids are written without
 * suffixes.
 */
export function parseFindReferences(c: Cursor): AdminStatement {
  const at = c.at;
  c.expect('FIND');
  c.expect('REFERENCES');
  const idsAt = c.at;
  const what = parsePrimary(c);
  if (!holdsIds.has(what.kind)) {
    c.reject(idsAt, 'FIND REFERENCES takes an id, a list of ids, a parameter or a query in ( )');
  }
  let types: readonly Name[] = [];
  if (c.accept('[')) {
    types = parseNames(c, 'the name of a type');
    c.expect(']');
  }
  return {kind: 'find-references', at, what, types};
}

export function parseExplain(c: Cursor): AdminStatement {
  const at = c.at;
  const profile = c.lexeme === 'PROFILE';
  c.advance();
  c.enter();
  const statement = c.statementRule(c);
  c.leave();
  return {kind: 'explain', at, profile, statement};
}

/** LOCK TYPE a, b or LOCK BUCKET a, b. */
export function parseLock(c: Cursor): AdminStatement {
  const at = c.at;
  c.expect('LOCK');
  const what = c.accept('TYPE') ? 'type' : c.accept('BUCKET') ? 'bucket' : c.fail();
  return {kind: 'lock', at, what, names: parseNames(c, 'a name')};
}

// Scripts.

export function parseBegin(c: Cursor): Statement {
  const at = c.at;
  c.expect('BEGIN');
  if (!c.accept('ISOLATION')) return {kind: 'begin', at, isolation: undefined};
  if (c.acceptWord('READ_COMMITTED')) return {kind: 'begin', at, isolation: 'read-committed'};
  if (c.acceptWord('REPEATABLE_READ')) return {kind: 'begin', at, isolation: 'repeatable-read'};
  return c.fail();
}

/** COMMIT [RETRY n [ELSE {..} [AND] FAIL or CONTINUE]]. */
export function parseCommit(c: Cursor): Statement {
  const at = c.at;
  c.expect('COMMIT');
  const retry = c.accept('RETRY') ? parseExpression(c) : undefined;
  const hasElse = retry !== undefined && c.accept('ELSE');
  const otherwise = hasElse ? parseBlock(c) : [];
  const joined = hasElse && c.accept('AND');
  const then =
    hasElse && c.accept('FAIL') ? 'fail' : hasElse && c.accept('CONTINUE') ? 'continue' : undefined;
  if (joined && then === undefined) c.fail();
  return {kind: 'commit', at, retry, otherwise, then};
}

export function parseLet(c: Cursor): Statement {
  const at = c.at;
  c.expect('LET');
  return {kind: 'let', at, items: parseLetItems(c)};
}

/** SET GLOBAL $v = e. */
export function parseSetGlobal(c: Cursor): Statement {
  const at = c.at;
  c.expect('SET');
  c.expect('GLOBAL');
  const name = c.kind === TokenKind.variable ? readVariableName(c) : c.name('a variable');
  c.expect('=');
  return {kind: 'set-global', at, name: name.text, value: parseValueOrStatement(c)};
}

export function parseIf(c: Cursor): Statement {
  const at = c.at;
  c.expect('IF');
  c.expect('(');
  const condition = parseExpression(c);
  c.expect(')');
  const then = parseBlock(c);
  if (!c.accept('ELSE')) return {kind: 'if', at, condition, then, otherwise: []};
  if (!c.is('IF')) return {kind: 'if', at, condition, then, otherwise: parseBlock(c)};
  c.enter();
  const otherwise = [parseIf(c)];
  c.leave();
  return {kind: 'if', at, condition, then, otherwise};
}

/** FOREACH ($v IN e) {..}. */
export function parseForeach(c: Cursor): Statement {
  const at = c.at;
  c.expect('FOREACH');
  c.expect('(');
  const variable = c.kind === TokenKind.variable ? readVariableName(c) : c.name('a variable');
  c.expect('IN');
  const source = parseExpression(c);
  c.expect(')');
  return {kind: 'foreach', at, variable: variable.text, source, body: parseBlock(c)};
}

export function parseWhile(c: Cursor): Statement {
  const at = c.at;
  c.expect('WHILE');
  c.expect('(');
  const condition = parseExpression(c);
  c.expect(')');
  return {kind: 'while', at, condition, body: parseBlock(c)};
}

export function parseReturn(c: Cursor): Statement {
  const at = c.at;
  c.expect('RETURN');
  const bare = c.kind === TokenKind.end || c.lexeme === ';' || c.lexeme === '}';
  return {kind: 'return', at, value: bare ? undefined : parseValueOrStatement(c)};
}

export function parseSleep(c: Cursor): Statement {
  const at = c.at;
  c.expect('SLEEP');
  return {kind: 'sleep', at, milliseconds: parseExpression(c)};
}

const consoleLevels = ['log', 'output', 'error', 'warn', 'debug'] as const;

export function parseConsole(c: Cursor): Statement {
  const at = c.at;
  c.expect('CONSOLE');
  c.expect('.');
  const level = consoleLevels.find(each => c.acceptWord(each));
  if (level === undefined) return c.fail();
  return {kind: 'console', at, level, value: parseExpression(c)};
}

/** `{ statement; statement }`. */
export function parseBlock(c: Cursor): readonly Statement[] {
  c.expect('{');
  c.enter();
  const statements = parseStatements(c, '}');
  c.expect('}');
  c.leave();
  return statements;
}

const blockEnds: ReadonlySet<string> = new Set(['if', 'foreach', 'while']);

/** Statements up to `end` (not taken) or the end of the text; a block needs no `;` after it. */
export function parseStatements(c: Cursor, end: '}' | undefined): readonly Statement[] {
  const statements: Statement[] = [];
  for (;;) {
    while (c.accept(';')) {
      // Empty statements are allowed.
    }
    if (c.kind === TokenKind.end || (end !== undefined && c.lexeme === end)) return statements;
    const statement = c.statementRule(c);
    statements.push(statement);
    if (c.kind === TokenKind.end || c.is(';') || blockEnds.has(statement.kind)) continue;
    if (end !== undefined && c.is(end)) continue;
    c.note('the end of the text');
    c.fail();
  }
}
