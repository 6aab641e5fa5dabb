/**
 * The statements that write records: INSERT, UPDATE, DELETE, MOVE VERTEX, CREATE VERTEX, CREATE
 * EDGE. RETURN may stand on either side of WHERE, and DELETE may leave out FROM.
 */

import type {Expression, ProjectionItem, Target} from './ast.ts';
import type {
  Assignable,
  Assignment,
  AssignmentOperator,
  Body,
  CreateEdge,
  CreateVertex,
  Delete,
  Insert,
  MoveVertex,
  Query,
  Update,
  UpdateOperation,
} from './ast-statement.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseBinary, parseExpression} from './parser-expression.ts';
import {parseSuffixes} from './parser-suffix.ts';
import {parseMatch} from './parser-match.ts';
import {
  parseBucket,
  parseInsertTarget,
  parseNames,
  parseProjection,
  parseSelect,
  parseTarget,
  parseTimeout,
  parseTraverse,
} from './parser-select.ts';

/** SELECT, TRAVERSE or MATCH, with or without parentheses. */
export function parseQuery(c: Cursor): Query {
  if (c.is('SELECT')) return parseSelect(c);
  if (c.is('TRAVERSE')) return parseTraverse(c);
  if (c.is('MATCH')) return parseMatch(c);
  c.expect('(');
  c.enter();
  const query = parseQuery(c);
  c.leave();
  c.expect(')');
  return query;
}

export function parseInsert(c: Cursor): Insert {
  const at = c.at;
  c.expect('INSERT');
  c.expect('INTO');
  const target = parseInsertTarget(c);
  const bucket = c.accept('BUCKET') ? parseBucket(c) : undefined;
  let body = parseBody(c);
  let returning = parseReturning(c);
  if (body.kind === 'nothing' && (c.is('FROM') || startsQuery(c))) {
    const fromAt = c.at;
    c.accept('FROM');
    body = {kind: 'from', at: fromAt, query: parseQuery(c)};
    returning ??= parseReturning(c);
  }
  return {kind: 'insert', at, target, bucket, body, returning, unsafe: c.accept('UNSAFE')};
}

function parseReturning(c: Cursor): readonly ProjectionItem[] | undefined {
  return c.accept('RETURN') ? parseProjection(c) : undefined;
}

/** `INSERT INTO T (SELECT ...)` and without parentheses. */
function startsQuery(c: Cursor): boolean {
  return c.is('SELECT') || (c.lexeme === '(' && c.lexemeAhead(1) === 'SELECT');
}

/** (columns) VALUES, SET, CONTENT, MERGE, or nothing at all. */
export function parseBody(c: Cursor): Body {
  const at = c.at;
  if (c.lexeme === '(' && c.lexemeAhead(1) !== 'SELECT') return parseValues(c);
  if (c.accept('SET')) return {kind: 'set', at, items: parseAssignments(c)};
  if (c.accept('CONTENT')) return {kind: 'content', at, value: parseExpression(c)};
  if (c.accept('MERGE')) return {kind: 'merge', at, value: parseExpression(c)};
  c.note('(');
  return {kind: 'nothing', at};
}

function parseValues(c: Cursor): Body {
  const at = c.at;
  c.expect('(');
  const columns = parseNames(c, 'the name of a property');
  c.expect(')');
  c.expect('VALUES');
  const rows: (readonly Expression[])[] = [];
  do {
    c.expect('(');
    const row = [parseExpression(c)];
    while (c.accept(',')) row.push(parseExpression(c));
    c.expect(')');
    rows.push(row);
  } while (c.accept(','));
  return {kind: 'values', at, columns, rows};
}

export function parseAssignments(c: Cursor): readonly Assignment[] {
  const items = [parseAssignment(c)];
  while (c.acceptAnother(',', items.length)) items.push(parseAssignment(c));
  return items;
}

const assignmentOperators = ['=', '+=', '-=', '*=', '/='] as const;

function parseAssignment(c: Cursor): Assignment {
  const at = c.at;
  const target = parseAssignable(c);
  const operator: AssignmentOperator | undefined = assignmentOperators.find(each => c.is(each));
  if (operator === undefined) return c.fail();
  c.advance();
  return {at, target, operator, value: parseExpression(c)};
}

/** A name, or a path of fields and selectors on one. */
function parseAssignable(c: Cursor): Assignable {
  const at = c.at;
  // Any word is a name here: `SET from = 1`.
  const {text} = c.name('the name of a property');
  const target = parseSuffixes(c, {kind: 'name', at, name: text});
  if (target.kind === 'name') return target;
  if (target.kind === 'path' && target.base.kind === 'name') {
    const bad = target.steps.find(step => step.kind !== 'field' && step.kind !== 'select');
    if (bad === undefined) return target;
  }
  return c.reject(at, 'only a property, or a path of properties and [..], can be changed');
}

export function parseUpdate(c: Cursor): Update {
  const at = c.at;
  c.expect('UPDATE');
  const target = parseTarget(c);
  const operations: UpdateOperation[] = [];
  for (let next = parseOperation(c); next !== undefined; next = parseOperation(c)) {
    operations.push(next);
  }
  if (operations.length === 0) c.fail();
  const draft: {-readonly [K in keyof Update]: Update[K]} = {
    kind: 'update',
    at,
    target,
    operations,
    upsert: false,
    applyDefaults: false,
    returning: undefined,
    where: undefined,
    limit: undefined,
    batch: undefined,
    timeout: undefined,
  };
  while (parseUpdateClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

function parseOperation(c: Cursor): UpdateOperation | undefined {
  const at = c.at;
  if (c.accept('SET')) return {kind: 'set', at, items: parseAssignments(c)};
  if (c.accept('ADD')) return {kind: 'add', at, items: parseAssignments(c)};
  if (c.accept('INCREMENT')) return {kind: 'increment', at, items: parseAssignments(c)};
  if (c.accept('MERGE')) return {kind: 'merge', at, value: parseExpression(c)};
  if (c.accept('CONTENT')) return {kind: 'content', at, value: parseExpression(c)};
  if (c.accept('PUT')) return parsePut(c, at);
  if (c.accept('REMOVE')) return parseRemove(c, at);
  return undefined;
}

/** `PUT map = key, value, ...`. */
function parsePut(c: Cursor, at: number): UpdateOperation {
  const items: {at: number; target: Assignable; key: Expression; value: Expression}[] = [];
  do {
    const itemAt = c.at;
    const target = parseAssignable(c);
    c.expect('=');
    const key = parseExpression(c);
    c.expect(',');
    items.push({at: itemAt, target, key, value: parseExpression(c)});
  } while (c.accept(','));
  return {kind: 'put', at, items};
}

/** `REMOVE property, list = value`. */
function parseRemove(c: Cursor, at: number): UpdateOperation {
  const items: {at: number; target: Assignable; value: Expression | undefined}[] = [];
  do {
    const itemAt = c.at;
    const target = parseAssignable(c);
    items.push({at: itemAt, target, value: c.accept('=') ? parseExpression(c) : undefined});
  } while (c.accept(','));
  return {kind: 'remove', at, items};
}

function parseUpdateClause(c: Cursor, draft: {-readonly [K in keyof Update]: Update[K]}): boolean {
  if (!draft.upsert && c.accept('UPSERT')) draft.upsert = true;
  else if (!draft.applyDefaults && c.acceptPair('APPLY', 'DEFAULTS')) draft.applyDefaults = true;
  else if (draft.returning === undefined && c.is('RETURN')) draft.returning = parseUpdateReturn(c);
  else if (draft.where === undefined && c.accept('WHERE')) draft.where = parseExpression(c);
  else if (draft.limit === undefined && c.accept('LIMIT')) draft.limit = parseExpression(c);
  else if (draft.batch === undefined && c.accept('BATCH')) draft.batch = parseExpression(c);
  else if (draft.timeout === undefined && c.is('TIMEOUT')) draft.timeout = parseTimeout(c);
  else return false;
  return true;
}

const afterReturn: ReadonlySet<string> = new Set([
  '',
  ';',
  ')',
  'WHERE',
  'LIMIT',
  'BATCH',
  'TIMEOUT',
  'UPSERT',
  'APPLY',
]);

function parseUpdateReturn(c: Cursor): Update['returning'] {
  const at = c.at;
  c.expect('RETURN');
  const what = c.accept('BEFORE')
    ? 'before'
    : c.accept('AFTER')
      ? 'after'
      : c.accept('COUNT')
        ? 'count'
        : c.fail();
  const open = c.kind !== TokenKind.end && !(c.kind === TokenKind.word && endsReturn(c));
  const items = open && !isClosing(c) ? parseProjection(c) : [];
  return {at, what, items};
}

function endsReturn(c: Cursor): boolean {
  return c.lexeme !== '' && afterReturn.has(c.lexeme);
}

function isClosing(c: Cursor): boolean {
  return c.lexeme === ';' || c.lexeme === ')' || c.lexeme === '}';
}

export function parseDelete(c: Cursor): Delete {
  const at = c.at;
  c.expect('DELETE');
  const what = deleteKind(c);
  let target: Target | undefined;
  let from: Expression | undefined;
  let to: Expression | undefined;
  if (what !== 'edge') {
    c.accept('FROM');
    target = parseTarget(c);
  } else {
    if (!c.is('FROM') && !c.is('TO')) target = parseTarget(c);
    if (c.accept('FROM')) {
      // `DELETE EDGE FROM T` without an end names the type, as `DELETE FROM T` does.
      const only = target === undefined && c.isName() && c.lexemeAhead(1) !== '(';
      if (only) target = parseTarget(c);
      else from = parseBinary(c, 0);
    }
    if (c.accept('TO')) to = parseBinary(c, 0);
  }
  const draft: {-readonly [K in keyof Delete]: Delete[K]} = {
    kind: 'delete',
    at,
    what,
    target,
    from,
    to,
    returnBefore: false,
    where: undefined,
    limit: undefined,
    batch: undefined,
    unsafe: false,
  };
  while (parseDeleteClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

/** VERTEX and EDGE are words of the statement unless they are the type: `DELETE FROM Edge`. */
function deleteKind(c: Cursor): Delete['what'] {
  const next = c.kindAhead(1);
  const more = next !== TokenKind.end && c.lexemeAhead(1) !== ';' && c.lexemeAhead(1) !== 'WHERE';
  if (more && c.accept('VERTEX')) return 'vertex';
  if (more && c.accept('EDGE')) return 'edge';
  c.note('FROM');
  return 'record';
}

function parseDeleteClause(c: Cursor, draft: {-readonly [K in keyof Delete]: Delete[K]}): boolean {
  if (!draft.returnBefore && c.acceptPair('RETURN', 'BEFORE')) draft.returnBefore = true;
  else if (draft.where === undefined && c.accept('WHERE')) draft.where = parseExpression(c);
  else if (draft.limit === undefined && c.accept('LIMIT')) draft.limit = parseExpression(c);
  else if (draft.batch === undefined && c.accept('BATCH')) draft.batch = parseExpression(c);
  else if (!draft.unsafe && c.accept('UNSAFE')) draft.unsafe = true;
  else return false;
  return true;
}

/** `MOVE VERTEX x TO TYPE:T` or `TO BUCKET:b`. */
export function parseMoveVertex(c: Cursor): MoveVertex {
  const at = c.at;
  c.expect('MOVE');
  c.expect('VERTEX');
  const source = parseExpression(c);
  c.expect('TO');
  const kind = c.accept('TYPE') ? 'type' : c.accept('BUCKET') ? 'bucket' : c.fail();
  c.expect(':');
  const name = c.name(`the name of a ${kind}`);
  const body = parseBody(c);
  const batch = c.accept('BATCH') ? parseExpression(c) : undefined;
  return {kind: 'move-vertex', at, source, to: {kind, name}, body, batch};
}

/** Reads what stands behind CREATE VERTEX. */
export function parseCreateVertex(c: Cursor, at: number): CreateVertex {
  const hasType = c.isName() && c.lexeme !== 'SET' && c.lexeme !== 'CONTENT';
  const type = hasType ? c.name('the name of a type') : undefined;
  const bucket = c.accept('BUCKET') ? parseBucket(c) : undefined;
  const body = parseBody(c);
  return {kind: 'create-vertex', at, type, bucket, body, returning: parseReturning(c)};
}

/** Reads what stands behind CREATE EDGE. */
export function parseCreateEdge(c: Cursor, at: number): CreateEdge {
  const type = c.isName() && c.lexeme !== 'FROM' ? c.name('the name of a type') : undefined;
  const bucket = c.accept('BUCKET') ? parseBucket(c) : undefined;
  c.expect('FROM');
  const from = parseBinary(c, 0);
  c.expect('TO');
  const to = parseBinary(c, 0);
  const draft: {-readonly [K in keyof CreateEdge]: CreateEdge[K]} = {
    kind: 'create-edge',
    at,
    type,
    bucket,
    from,
    to,
    ifNotExists: false,
    unidirectional: false,
    body: {kind: 'nothing', at: c.at},
    retry: undefined,
    wait: undefined,
  };
  while (parseEdgeClause(c, draft)) {
    // Each turn takes one clause.
  }
  return draft;
}

function parseEdgeClause(
  c: Cursor,
  draft: {-readonly [K in keyof CreateEdge]: CreateEdge[K]},
): boolean {
  if (!draft.ifNotExists && acceptIfNotExists(c)) draft.ifNotExists = true;
  else if (!draft.unidirectional && c.accept('UNIDIRECTIONAL')) draft.unidirectional = true;
  else if (draft.retry === undefined && c.accept('RETRY')) draft.retry = parseExpression(c);
  else if (draft.wait === undefined && c.accept('WAIT')) draft.wait = parseExpression(c);
  else if (draft.body.kind === 'nothing') {
    draft.body = parseBody(c);
    return draft.body.kind !== 'nothing';
  } else return false;
  return true;
}

export function acceptIfNotExists(c: Cursor): boolean {
  if (!c.isPair('IF', 'NOT')) return false;
  c.advance();
  c.advance();
  c.expect('EXISTS');
  return true;
}
