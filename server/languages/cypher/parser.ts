/**
 * The public file of Cypher's grammar: a text to its syntax tree.
 *
 * Parsing is deterministic and linear; nesting is bounded. What a query may not be made of (a
 * reading clause right after a writing one, a RETURN that is not the last) is refused here too,
 * where the place is known.
 */
import {runToCompletion, type Cooperative} from '#server/base/cooperative.ts';
import type {Expression} from './ast-expression.ts';
import type {Clause, Query, SingleQuery, Statement} from './ast.ts';
import {Cursor, syntaxRefusal} from './cursor.ts';
import {TokenKind, tokenize} from './lexer.ts';
import {defaultLimits, type ParseLimits} from '../limits.ts';
import {ParseStop} from '../place.ts';
import {everything, parseClause} from './parser-clause.ts';
import {parseExpression} from './parser-expression.ts';
import {parseDefinitions} from './parser-function.ts';
import {parsePatterns} from './parser-pattern.ts';
import {acceptSchemaCommand} from './parser-schema.ts';
import {acceptSessionCommand} from './parser-session.ts';
import {acceptUserCommand} from './parser-user.ts';

/**
 * @throws {Refusal} `cypher.syntax` with the place, and `type` and `reason` of the openCypher
 *   suite in its detail. Cost: linear; a text that is wrong is parsed twice.
 */
export function parseCypher(text: string, limits: ParseLimits = defaultLimits): Statement {
  return runToCompletion(parsingCypher(text, limits));
}

/** Works like `parseCypher`, in portions. */
export function* parsingCypher(text: string, limits: ParseLimits): Cooperative<Statement> {
  if (text.length > limits.textLengthMax) {
    throw syntaxRefusal(
      text,
      0,
      `a statement has at most ${limits.textLengthMax} characters, not ${text.length}`,
      {reason: 'UnexpectedSyntax'},
    );
  }
  const tokens = tokenize(text);
  yield;
  const run = (failure: number): Statement => {
    const cursor = new Cursor({text, tokens, limits, queryRule: parseInnerQuery, failure});
    return parseStatement(cursor);
  };
  try {
    return run(-1);
  } catch (error) {
    if (!(error instanceof ParseStop)) throw error;
    return run(error.index);
  }
}

function parseStatement(cursor: Cursor): Statement {
  const explains = cursor.accept('EXPLAIN');
  const profiles = !explains && cursor.accept('PROFILE');
  const command = explains || profiles ? undefined : acceptCommand(cursor);
  const statement = command ?? parseDefined(cursor, explains || profiles ? profiles : undefined);
  cursor.accept(';');
  if (cursor.kind !== TokenKind.end) cursor.fail();
  return statement;
}

/** @param profile - Whether the query is run to be explained; undefined: it is not explained. */
function parseDefined(cursor: Cursor, profile: boolean | undefined): Statement {
  const functions = parseDefinitions(cursor);
  const query = parseQuery(cursor);
  return profile === undefined
    ? {kind: 'query', functions, query}
    : {kind: 'explain', profile, functions, query};
}

function acceptCommand(cursor: Cursor): Statement | undefined {
  const user = acceptUserCommand(cursor);
  if (user !== undefined) return {kind: 'user', command: user};
  const session = acceptSessionCommand(cursor);
  if (session !== undefined) return {kind: 'session', command: session};
  const schema = acceptSchemaCommand(cursor);
  return schema && {kind: 'schema', command: schema};
}

function parseQuery(cursor: Cursor): Query {
  let query = parsePart(cursor);
  while (cursor.is('NEXT')) {
    const {at} = cursor;
    cursor.advance();
    query = followedBy(cursor, query, parsePart(cursor), at);
  }
  return query;
}

function parsePart(cursor: Cursor): Query {
  return cursor.is('WHEN') ? parseConditional(cursor) : parseUnion(cursor);
}

/** What a query answers is what the next one begins with: a CALL of the one before it. */
function followedBy(cursor: Cursor, first: Query, next: Query, at: number): Query {
  if (next.parts.length > 1 && writes(first)) {
    cursor.refuse(at, 'InvalidClauseComposition', 'what writes is followed by one query only');
  }
  const call = {kind: 'subquery', query: first, imports: 'star', optional: false, at} as const;
  const parts = next.parts.map(part => ({...part, clauses: [call, ...part.clauses]}));
  return {...next, parts};
}

function writes({parts}: Query): boolean {
  return parts.some(part =>
    part.clauses.some(
      clause => updating.has(clause.kind) || (clause.kind === 'subquery' && writes(clause.query)),
    ),
  );
}

const branchesMax = 64;

/** WHEN ... THEN ... ELSE: every branch under the condition that those before it do not hold. */
function parseConditional(cursor: Cursor): Query {
  const {at} = cursor;
  const parts: SingleQuery[] = [];
  let before: Expression[] = [];
  cursor.enter();
  while (cursor.is('WHEN')) {
    if (parts.length === branchesMax) {
      cursor.reject(cursor.at, `a query has at most ${branchesMax} branches`);
    }
    cursor.advance();
    const condition = holds(parseExpression(cursor));
    cursor.expect('THEN');
    parts.push(guarded(parseBranch(cursor), [...before, condition]));
    before = [...before, {kind: 'unary', operator: 'not', of: condition, at: condition.at}];
  }
  if (cursor.accept('ELSE')) parts.push(guarded(parseBranch(cursor), before));
  cursor.leave();
  return {parts, union: parts.length > 1 ? 'all' : undefined, at};
}

function parseBranch(cursor: Cursor): SingleQuery {
  if (!cursor.accept('{')) return parseSingleQuery(cursor);
  const branch = parseSingleQuery(cursor);
  cursor.expect('}');
  return branch;
}

/** What is unknown does not hold. */
function holds(condition: Expression): Expression {
  const {at} = condition;
  const no: Expression = {kind: 'literal', value: false, isFloat: false, at};
  return {kind: 'call', name: 'coalesce', args: [condition, no], distinct: false, at};
}

function guarded(query: SingleQuery, conditions: readonly Expression[]): SingleQuery {
  const [first, ...more] = conditions;
  if (first === undefined) return query;
  const where = more.reduce(
    (left, right): Expression => ({kind: 'binary', operator: 'and', left, right, at: left.at}),
    first,
  );
  return {...query, clauses: [everything(query.at, {where}), ...query.clauses]};
}

function parseUnion(cursor: Cursor): Query {
  const {at} = cursor;
  const parts = [parseSingleQuery(cursor)];
  let union: Query['union'];
  while (cursor.is('UNION')) {
    const unionAt = cursor.at;
    cursor.advance();
    const kind = cursor.accept('ALL') ? 'all' : 'distinct';
    if (kind === 'distinct') cursor.accept('DISTINCT');
    if (union !== undefined && union !== kind) {
      cursor.refuse(unionAt, 'InvalidClauseComposition', 'UNION and UNION ALL cannot be mixed');
    }
    union = kind;
    parts.push(parseSingleQuery(cursor));
  }
  return {parts, union, at};
}

/**
 * The query of EXISTS {}, COUNT {}, COLLECT {} and CALL {}; patterns without MATCH are one that
 * matches them.
 */
function parseInnerQuery(cursor: Cursor): Query {
  cursor.enter();
  const {at} = cursor;
  const isPattern = cursor.lexeme === '(' || cursor.lexemeAhead(1) === '=';
  const query = isPattern ? parseBarePattern(cursor, at) : parseQuery(cursor);
  cursor.leave();
  return query;
}

function parseBarePattern(cursor: Cursor, at: number): Query {
  const patterns = parsePatterns(cursor);
  const where = cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
  const match: Clause = {kind: 'match', optional: false, repeats: false, patterns, where, at};
  return {parts: [{clauses: [match], at}], union: undefined, at};
}

function parseSingleQuery(cursor: Cursor): SingleQuery {
  const {at} = cursor;
  const clauses: Clause[] = [];
  for (;;) {
    const start = cursor.at;
    if (cursor.accept('FINISH')) {
      refuseFinish(cursor, clauses, start);
      break;
    }
    const clause = parseClause(cursor);
    if (clause === undefined) break;
    checkOrder(cursor, clauses.at(-1), clause, start);
    clauses.push(clause);
  }
  if (clauses.length === 0) cursor.fail();
  return {clauses, at};
}

/** FINISH says what a query without RETURN does anyway: it answers no rows. */
function refuseFinish(cursor: Cursor, clauses: readonly Clause[], at: number): void {
  if (clauses.at(-1)?.kind !== 'return' && clauses.length > 0) return;
  cursor.refuse(at, 'InvalidClauseComposition', 'FINISH stands behind clauses, without a RETURN');
}

const updating = new Set<Clause['kind']>(['create', 'merge', 'set', 'remove', 'delete', 'foreach']);

function checkOrder(cursor: Cursor, before: Clause | undefined, clause: Clause, at: number): void {
  if (before?.kind === 'return') {
    cursor.refuse(at, 'InvalidClauseComposition', 'nothing can follow RETURN but UNION');
  }
  const reads = clause.kind === 'match' || clause.kind === 'unwind' || clause.kind === 'load-csv';
  if (before !== undefined && updating.has(before.kind) && reads) {
    cursor.refuse(
      at,
      'InvalidClauseComposition',
      'a WITH is needed between a clause that writes and one that reads',
    );
  }
}
