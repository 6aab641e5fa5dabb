/**
 * What an expression is made of: literals, variables, calls, CASE, comprehensions, quantifiers,
 * sub-queries, and patterns that stand for whether they can be found.
 *
 * `(` opens a pattern exactly when a node pattern and the start of a relationship stand there; that
 * is looked up in the tokens, so that no text is parsed twice.
 */
import type {Call, Case, Expression, MapProjectionEntry, Quantifier} from './ast-expression.ts';
import type {Name} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseNumber, parseString} from './literal.ts';
import {parseExpression, parseMap, parseParameter} from './parser-expression.ts';
import {isPatternAhead, parsePattern} from './parser-pattern.ts';

const reserved = new Set(
  (
    'AND AS CONTAINS CREATE DELETE DETACH DISTINCT ELSE ENDS IN IS LIMIT MATCH MERGE NOT ON ' +
    'OPTIONAL OR ORDER REMOVE RETURN SET SKIP STARTS THEN UNION UNWIND WHEN WHERE WITH XOR'
  ).split(' '),
);

/** Whether a word in upper case cannot be a name without backquotes. */
export function isReserved(word: string): boolean {
  return reserved.has(word) || constants.has(word);
}

const constants = new Set(['NULL', 'TRUE', 'FALSE', 'CASE', 'END']);

/** @param negative - Whether a minus stood before; only in front of integers. */
export function parseAtom(cursor: Cursor, negative: boolean): Expression {
  switch (cursor.kind) {
    case TokenKind.integer:
    case TokenKind.real:
      return parseNumber(cursor, negative);
    case TokenKind.string:
      return parseString(cursor);
    case TokenKind.parameter:
      return parseParameter(cursor);
    case TokenKind.quoted:
      return parseNamed(cursor);
    case TokenKind.word:
      return parseWord(cursor);
    default:
  }
  cursor.note('a value');
  if (cursor.is('(')) return parseParenthesis(cursor);
  if (cursor.is('[')) return parseBracket(cursor);
  if (cursor.is('{')) return parseMap(cursor);
  return cursor.fail();
}

function parseParenthesis(cursor: Cursor): Expression {
  const {at} = cursor;
  if (isPatternAhead(cursor)) return {kind: 'pattern', pattern: parsePattern(cursor), at};
  cursor.expect('(');
  const inner = parseExpression(cursor);
  cursor.expect(')');
  return inner;
}

function parseWord(cursor: Cursor): Expression {
  const {at} = cursor;
  const word = cursor.lexeme;
  const next = cursor.lexemeAhead(1);
  const constant =
    word === 'NULL' ? null : word === 'TRUE' ? true : word === 'FALSE' ? false : word;
  if (typeof constant !== 'string') {
    cursor.advance();
    return {kind: 'literal', value: constant, isFloat: false, at};
  }
  if (word === 'CASE') return parseCase(cursor);
  if (next === '{') {
    if (word === 'EXISTS') return parseSubquery(cursor, 'exists');
    if (word === 'COUNT') return parseSubquery(cursor, 'count');
    if (word === 'COLLECT') return parseSubquery(cursor, 'collect');
  }
  if (next === '(') {
    const special = parseSpecialCall(cursor, word);
    if (special !== undefined) return special;
  }
  if (reserved.has(word)) {
    cursor.note('a value');
    return cursor.fail();
  }
  return parseNamed(cursor);
}

/** Calls whose parentheses hold more than a list of values. */
function parseSpecialCall(cursor: Cursor, word: string): Expression | undefined {
  const {at} = cursor;
  switch (word) {
    case 'COUNT':
      if (cursor.lexemeAhead(2) !== '*') return undefined;
      for (let taken = 0; taken < 3; taken++) cursor.advance();
      cursor.expect(')');
      return {kind: 'count-star', at};
    case 'ANY':
    case 'ALL':
    case 'NONE':
    case 'SINGLE':
      return parseQuantifier(cursor, word);
    case 'REDUCE':
      return parseReduce(cursor);
    case 'SHORTESTPATH':
    case 'ALLSHORTESTPATHS':
      return {kind: 'pattern', pattern: parsePattern(cursor), at};
    default:
      return undefined;
  }
}

/** A variable, a map projection of it, or a call. */
function parseNamed(cursor: Cursor): Expression {
  const {at} = cursor;
  const call = parseCall(cursor);
  if (call !== undefined) return call;
  const name = cursor.name('a variable');
  if (cursor.is('{')) return parseMapProjection(cursor, name);
  return {kind: 'variable', name: name.text, at};
}

/** `name(...)` or `space.name(...)`; undefined when no parenthesis follows the names. */
function parseCall(cursor: Cursor): Call | undefined {
  let ahead = 1;
  while (cursor.lexemeAhead(ahead) === '.' && isNameKind(cursor.kindAhead(ahead + 1))) ahead += 2;
  if (cursor.lexemeAhead(ahead) !== '(') return undefined;
  const {at} = cursor;
  let name = cursor.name('a function').text;
  while (cursor.accept('.')) name += `.${cursor.name('a function').text}`;
  cursor.expect('(');
  const distinct = cursor.accept('DISTINCT');
  const args = parseList(cursor, ')');
  return {kind: 'call', name, distinct, args, at};
}

function isNameKind(kind: number): boolean {
  return kind === TokenKind.word || kind === TokenKind.quoted;
}

/** Values up to `end`, which is taken. */
export function parseList(cursor: Cursor, end: ')' | ']'): readonly Expression[] {
  const items: Expression[] = [];
  if (cursor.accept(end)) return items;
  do items.push(parseExpression(cursor));
  while (cursor.accept(','));
  cursor.expect(end);
  return items;
}

function parseBracket(cursor: Cursor): Expression {
  const {at} = cursor;
  cursor.expect('[');
  const isNamedPattern = isNameKind(cursor.kind) && cursor.lexemeAhead(1) === '=';
  if (isPatternAhead(cursor) || (isNamedPattern && cursor.lexemeAhead(2) === '(')) {
    const pattern = parsePattern(cursor);
    const where = cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
    cursor.expect('|');
    const yields = parseExpression(cursor);
    cursor.expect(']');
    return {kind: 'pattern-comprehension', pattern, where, yields, at};
  }
  if (isNameKind(cursor.kind) && cursor.lexemeAhead(1) === 'IN') {
    const {item, list, where} = parseFilter(cursor);
    const yields = cursor.accept('|') ? parseExpression(cursor) : undefined;
    cursor.expect(']');
    return {kind: 'list-comprehension', item, list, where, yields, at};
  }
  return {kind: 'list', items: parseList(cursor, ']'), at};
}

/** `x IN list WHERE condition`. */
function parseFilter(cursor: Cursor): {
  readonly item: Name;
  readonly list: Expression;
  readonly where: Expression | undefined;
} {
  const item = cursor.name('a variable');
  cursor.expect('IN');
  const list = parseExpression(cursor);
  const where = cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
  return {item, list, where};
}

function parseQuantifier(cursor: Cursor, word: 'ANY' | 'ALL' | 'NONE' | 'SINGLE'): Quantifier {
  const {at} = cursor;
  cursor.advance();
  cursor.expect('(');
  const filter = parseFilter(cursor);
  cursor.expect(')');
  const mode = word.toLowerCase() as Quantifier['mode'];
  return {kind: 'quantifier', mode, ...filter, at};
}

function parseReduce(cursor: Cursor): Expression {
  const {at} = cursor;
  cursor.advance();
  cursor.expect('(');
  const accumulator = cursor.name('a variable');
  cursor.expect('=');
  const initial = parseExpression(cursor);
  cursor.expect(',');
  const item = cursor.name('a variable');
  cursor.expect('IN');
  const list = parseExpression(cursor);
  cursor.expect('|');
  const step = parseExpression(cursor);
  cursor.expect(')');
  return {kind: 'reduce', accumulator, initial, item, list, step, at};
}

function parseCase(cursor: Cursor): Case {
  const {at} = cursor;
  cursor.expect('CASE');
  const value = cursor.is('WHEN') ? undefined : parseExpression(cursor);
  const branches: {when: Expression; then: Expression}[] = [];
  do {
    cursor.expect('WHEN');
    const when = parseExpression(cursor);
    cursor.expect('THEN');
    branches.push({when, then: parseExpression(cursor)});
  } while (cursor.is('WHEN'));
  const otherwise = cursor.accept('ELSE') ? parseExpression(cursor) : undefined;
  cursor.expect('END');
  return {kind: 'case', value, branches, otherwise, at};
}

function parseSubquery(cursor: Cursor, mode: 'exists' | 'count' | 'collect'): Expression {
  const {at} = cursor;
  cursor.advance();
  cursor.expect('{');
  const query = cursor.queryRule(cursor);
  cursor.expect('}');
  return {kind: 'subquery', mode, query, at};
}

function parseMapProjection(cursor: Cursor, of: Name): Expression {
  cursor.expect('{');
  const entries: MapProjectionEntry[] = [];
  if (!cursor.accept('}')) {
    do entries.push(parseMapProjectionEntry(cursor));
    while (cursor.accept(','));
    cursor.expect('}');
  }
  return {kind: 'map-projection', of, entries, at: of.at};
}

function parseMapProjectionEntry(cursor: Cursor): MapProjectionEntry {
  if (cursor.accept('.')) {
    if (cursor.accept('*')) return {kind: 'all'};
    return {kind: 'property', name: cursor.name('a property')};
  }
  const name = cursor.name('a name');
  if (!cursor.accept(':')) return {kind: 'variable', name};
  return {kind: 'value', name, value: parseExpression(cursor)};
}
