/**
 * The face of Cypher's grammar: a text to its syntax tree.
 *
 * Parsing is deterministic and linear; nesting is bounded. What a query may not be made of (a
 * reading clause right after a writing one, a RETURN that is not the last) is refused here too,
 * where the place is known.
 */
import type {Clause, Query, SingleQuery, Statement} from './ast.ts';
import {Cursor, syntaxRefusal} from './cursor.ts';
import {TokenKind, tokenize} from './lexer.ts';
import {defaultLimits, type ParseLimits} from '../limits.ts';
import {ParseStop} from '../place.ts';
import {parseClause} from './parser-clause.ts';
import {parseExpression} from './parser-expression.ts';
import {parsePatterns} from './parser-pattern.ts';
import {acceptSchemaCommand} from './parser-schema.ts';
import {acceptUserCommand} from './parser-user.ts';

/**
 * @throws {Refusal} `cypher.syntax` with the place, and `type` and `reason` of the openCypher
 *   suite in its detail. Cost: linear; a text that is wrong is parsed twice.
 */
export function parseCypher(text: string, limits: ParseLimits = defaultLimits): Statement {
  if (text.length > limits.textLengthMax) {
    throw syntaxRefusal(
      text,
      0,
      `a statement has at most ${limits.textLengthMax} characters, not ${text.length}`,
      {reason: 'UnexpectedSyntax'},
    );
  }
  const tokens = tokenize(text);
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
  const query = command === undefined ? parseQuery(cursor) : undefined;
  cursor.accept(';');
  if (cursor.kind !== TokenKind.end) cursor.fail();
  if (command !== undefined) return command;
  if (query === undefined) return cursor.fail();
  if (explains || profiles) return {kind: 'explain', profile: profiles, query};
  return {kind: 'query', query};
}

function acceptCommand(cursor: Cursor): Statement | undefined {
  const user = acceptUserCommand(cursor);
  if (user !== undefined) return {kind: 'user', command: user};
  const schema = acceptSchemaCommand(cursor);
  return schema && {kind: 'schema', command: schema};
}

function parseQuery(cursor: Cursor): Query {
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
    const clause = parseClause(cursor);
    if (clause === undefined) break;
    checkOrder(cursor, clauses.at(-1), clause, start);
    clauses.push(clause);
  }
  if (clauses.length === 0) cursor.fail();
  return {clauses, at};
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
