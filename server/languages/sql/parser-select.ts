/**
 * SELECT and TRAVERSE, their targets, and the clauses that SELECT shares with MATCH.
 *
 * Clauses follow one order; UNWIND and ORDER BY, and those after them, may be exchanged.
 */

import type {
  BucketReference,
  Expression,
  LetItem,
  Name,
  OrderItem,
  Parameter,
  ProjectionItem,
  Select,
  Tail,
  Target,
  Timeout,
  Traverse,
  UnwindItem,
} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {readInteger} from './literal.ts';
import {
  isStatementStart,
  parseExpression,
  parseParameter,
  readVariableName,
} from './parser-expression.ts';
import {parseProjectionItem} from './parser-suffix.ts';

export function parseSelect(c: Cursor): Select {
  const at = c.at;
  c.expect('SELECT');
  const distinct = c.accept('DISTINCT');
  const items = startsClause(c) ? [] : parseProjection(c);
  const from = c.accept('FROM') ? parseTarget(c) : undefined;
  const earlyLets = parseLets(c);
  const where = c.accept('WHERE') ? parseExpression(c) : undefined;
  const lets = earlyLets.length > 0 ? earlyLets : parseLets(c);
  const tail = parseTail(c);
  const parallel = c.accept('PARALLEL');
  return {kind: 'select', at, distinct, items, from, lets, where, ...tail, parallel};
}

/** Whether the projection is left out: `SELECT FROM T`. */
function startsClause(c: Cursor): boolean {
  return c.is('FROM') || c.kind === TokenKind.end || c.lexeme === ';' || c.lexeme === ')';
}

export function parseProjection(c: Cursor): readonly ProjectionItem[] {
  const items = [parseProjectionItem(c)];
  while (c.acceptAnother(',', items.length)) items.push(parseProjectionItem(c));
  return items;
}

function parseLets(c: Cursor): readonly LetItem[] {
  return c.accept('LET') ? parseLetItems(c) : [];
}

/** `$a = expression, b = (query)`; a statement may stand without its parentheses. */
export function parseLetItems(c: Cursor): readonly LetItem[] {
  const items: LetItem[] = [];
  do {
    const at = c.at;
    const name = c.kind === TokenKind.variable ? readVariableName(c) : c.name('a variable');
    c.expect('=');
    items.push({at, name: name.text, value: parseValueOrStatement(c)});
  } while (c.acceptAnother(',', items.length));
  return items;
}

/** An expression, or a bare statement as if it stood in parentheses. */
export function parseValueOrStatement(c: Cursor): Expression {
  if (!isStatementStart(c)) return parseExpression(c);
  const at = c.at;
  c.enter();
  const statement = c.statementRule(c);
  c.leave();
  return {kind: 'subquery', at, statement};
}

const targetForms = ['index', 'indexvalues', 'indexvaluesasc', 'indexvaluesdesc'] as const;

/** What comes after FROM or UPDATE. */
export function parseTarget(c: Cursor): Target {
  return parseTargetAt(c, true);
}

/** A parenthesis opens the columns after INTO: `INSERT INTO T (a, b)` calls no function. */
export function parseInsertTarget(c: Cursor): Target {
  return parseTargetAt(c, false);
}

function parseTargetAt(c: Cursor, calls: boolean): Target {
  const at = c.at;
  if (c.isName()) {
    if (c.lexemeAhead(1) === ':' && c.kind === TokenKind.word && c.lexemeAhead(2) !== '{') {
      return parsePrefixedTarget(c);
    }
    const next = c.lexemeAhead(1);
    if ((next !== '(' || !calls) && next !== '.' && next !== '[') {
      return {kind: 'type-target', at, name: targetName(c)};
    }
  }
  c.note('the name of a type');
  return {kind: 'expression-target', at, expression: parseExpression(c)};
}

/** A clause's word here means that the target was forgotten. */
function targetName(c: Cursor): string {
  const forgotten =
    c.lexeme === 'WHERE' ||
    c.lexeme === 'SET' ||
    c.isPairAhead('ORDER', 'BY') ||
    c.isPairAhead('GROUP', 'BY');
  if (forgotten) {
    c.note('the name of a type');
    c.fail();
  }
  return c.name('the name of a type').text;
}

function parsePrefixedTarget(c: Cursor): Target {
  const at = c.at;
  const prefix = c.raw.toLowerCase();
  if (prefix === 'bucket') {
    c.advance();
    c.advance();
    return {kind: 'bucket-target', at, buckets: parseBuckets(c)};
  }
  if (prefix === 'schema') {
    c.advance();
    c.advance();
    const subject = c.name('a subject such as types').text;
    const name = c.accept(':') ? c.name('a name') : undefined;
    return {kind: 'schema-target', at, subject, name};
  }
  const form = targetForms.find(known => known === prefix);
  if (form === undefined) {
    c.note('bucket:');
    c.note('index:');
    c.note('schema:');
    c.note('the name of a type');
    c.fail();
  }
  c.advance();
  c.advance();
  return {kind: 'index-target', at, name: parseIndexName(c), form};
}

/** `Type[p1,p2]` may also be written without backquotes. */
export function parseIndexName(c: Cursor): string {
  let name = c.name('the name of an index').text;
  if (!c.accept('[')) return name;
  name += `[${c.name('the name of a property').text}`;
  while (c.accept(',')) name += `,${c.name('the name of a property').text}`;
  c.expect(']');
  return `${name}]`;
}

function parseBuckets(c: Cursor): readonly BucketReference[] {
  if (!c.accept('[')) return [parseBucket(c)];
  const buckets = [parseBucket(c)];
  while (c.accept(',')) buckets.push(parseBucket(c));
  c.expect(']');
  return buckets;
}

export function parseBucket(c: Cursor): BucketReference {
  if (c.kind === TokenKind.integer) return readInteger(c, undefined);
  if (isParameter(c)) return parseParameter(c);
  return c.name('the name or number of a bucket');
}

export function isParameter(c: Cursor): boolean {
  return c.is('?') || c.is(':') || c.kind === TokenKind.numbered;
}

/** GROUP BY to TIMEOUT. */
export function parseTail(c: Cursor): Tail {
  const groupBy: Expression[] = [];
  if (c.acceptPair('GROUP', 'BY')) {
    do groupBy.push(parseExpression(c));
    while (c.acceptAnother(',', groupBy.length));
  }
  const having = c.accept('HAVING') ? parseExpression(c) : undefined;
  let orderBy: readonly OrderItem[] | undefined;
  let unwind: readonly UnwindItem[] | undefined;
  let skip: Expression | undefined;
  let limit: Expression | undefined;
  let timeout: Timeout | undefined;
  for (;;) {
    if (orderBy === undefined && c.acceptPair('ORDER', 'BY')) orderBy = parseOrder(c);
    else if (unwind === undefined && c.accept('UNWIND')) unwind = parseUnwind(c);
    else if (skip === undefined && (c.accept('SKIP') || c.accept('OFFSET'))) {
      skip = parseExpression(c);
    } else if (limit === undefined && c.accept('LIMIT')) limit = parseExpression(c);
    else if (timeout === undefined && c.is('TIMEOUT')) timeout = parseTimeout(c);
    else break;
  }
  return {groupBy, having, orderBy: orderBy ?? [], unwind: unwind ?? [], skip, limit, timeout};
}

function parseOrder(c: Cursor): readonly OrderItem[] {
  const items: OrderItem[] = [];
  do {
    const at = c.at;
    const expression = parseExpression(c);
    items.push({at, expression, direction: parseDirection(c)});
  } while (c.acceptAnother(',', items.length));
  return items;
}

function parseDirection(c: Cursor): 'asc' | 'desc' | Parameter {
  if (c.accept('ASC') || c.accept('ASCENDING')) return 'asc';
  if (c.accept('DESC') || c.accept('DESCENDING')) return 'desc';
  return isParameter(c) ? parseParameter(c) : 'asc';
}

function parseUnwind(c: Cursor): readonly UnwindItem[] {
  const items: UnwindItem[] = [];
  do {
    const at = c.at;
    const expression = parseExpression(c);
    items.push({at, expression, alias: c.accept('AS') ? c.name('an alias') : undefined});
  } while (c.acceptAnother(',', items.length));
  return items;
}

export function parseTimeout(c: Cursor): Timeout {
  const at = c.at;
  c.expect('TIMEOUT');
  const milliseconds = parseExpression(c);
  const strategy = c.accept('RETURN') ? 'return' : 'exception';
  if (strategy === 'exception') c.accept('EXCEPTION');
  return {at, milliseconds, strategy};
}

export function parseTraverse(c: Cursor): Traverse {
  const at = c.at;
  c.expect('TRAVERSE');
  const items: Expression[] = [];
  if (!c.accept('*') && !c.is('FROM')) {
    do items.push(parseExpression(c));
    while (c.accept(','));
  }
  c.expect('FROM');
  const from = parseTarget(c);
  let maxDepth: Expression | undefined;
  let condition: Expression | undefined;
  let limit: Expression | undefined;
  let strategy: Traverse['strategy'] | undefined;
  let timeout: Timeout | undefined;
  for (;;) {
    if (maxDepth === undefined && c.accept('MAXDEPTH')) maxDepth = parseExpression(c);
    else if (condition === undefined && c.accept('WHILE')) condition = parseExpression(c);
    else if (limit === undefined && c.accept('LIMIT')) limit = parseExpression(c);
    else if (strategy === undefined && c.accept('STRATEGY')) strategy = parseStrategy(c);
    else if (timeout === undefined && c.is('TIMEOUT')) timeout = parseTimeout(c);
    else break;
  }
  return {
    kind: 'traverse',
    at,
    items,
    from,
    maxDepth,
    while: condition,
    limit,
    strategy: strategy ?? 'depth-first',
    timeout,
  };
}

function parseStrategy(c: Cursor): Traverse['strategy'] {
  if (c.accept('DEPTH_FIRST')) return 'depth-first';
  if (c.accept('BREADTH_FIRST')) return 'breadth-first';
  return c.fail();
}

/** Names separated by commas. */
export function parseNames(c: Cursor, what: string): readonly Name[] {
  const names = [c.name(what)];
  while (c.acceptAnother(',', names.length)) names.push(c.name(what));
  return names;
}
