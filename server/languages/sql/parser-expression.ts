/**
 * Expressions, by precedence climbing.
 *
 * From loose to tight: OR, AND, NOT, comparisons and relations, `??`, `||`, `|`, `^`, `&`, shifts,
 * `+ -`, `* / %`, signs, then suffixes (parser-suffix.ts). Any expression may be a condition and
 * any condition a value, so there is one grammar for projections, arguments and WHERE.
 *
 * Cost: linear; no rule backtracks, what is ambiguous is decided by looking at most three tokens
 * ahead.
 */

import {assert} from '#server/base/assert.ts';
import {words} from '#server/base/words.ts';
import type {
  BinaryOperator,
  Case,
  CompareOperator,
  Expression,
  MapEntry,
  Name,
  Parameter,
  RelationOperator,
} from './ast.ts';
import {attributeNames} from './ast.ts';
import type {AttributeName} from './ast.ts';
import type {Cursor} from './cursor.ts';
import type {Lexeme} from './keyword.ts';
import {TokenKind} from './lexer.ts';
import {readInteger, readReal, readRid, readString} from './literal.ts';
import {parseSuffixes} from './parser-suffix.ts';

export function parseExpression(c: Cursor): Expression {
  c.enter();
  const expression = isAlone(c) ? parsePrimary(c) : parseOr(c);
  c.leave();
  return expression;
}

/** A literal that ends with its token, as most items of long lists do. */
function isAlone(c: Cursor): boolean {
  const kind = c.kind;
  if (kind !== TokenKind.integer && kind !== TokenKind.string && kind !== TokenKind.real) {
    return false;
  }
  const next = c.lexemeAhead(1);
  const ends = next === ',' || next === ')' || next === ']' || next === '}';
  // Where the text goes wrong behind it, all that might have stood there is told.
  return ends && !c.failsAhead(1);
}

function parseOr(c: Cursor): Expression {
  const at = c.at;
  const first = parseAnd(c);
  if (!c.is('OR')) return first;
  const operands = [first];
  while (c.accept('OR')) operands.push(parseAnd(c));
  return {kind: 'or', at, operands: flat(operands, 'or')};
}

function parseAnd(c: Cursor): Expression {
  const at = c.at;
  const first = parseNot(c);
  if (!c.is('AND')) return first;
  const operands = [first];
  while (c.accept('AND')) operands.push(parseNot(c));
  return {kind: 'and', at, operands: flat(operands, 'and')};
}

/** `(a AND b) AND c` is one list: grouping does not change what it means. */
function flat(operands: readonly Expression[], kind: 'and' | 'or'): readonly Expression[] {
  if (!operands.some(operand => operand.kind === kind)) return operands;
  return operands.flatMap(operand => (operand.kind === kind ? operand.operands : [operand]));
}

function parseNot(c: Cursor): Expression {
  const at = c.at;
  if (!c.accept('NOT')) return parseComparison(c);
  c.enter();
  const operand = parseNot(c);
  c.leave();
  return {kind: 'not', at, operand};
}

const compareOperators: Readonly<Partial<Record<Lexeme, CompareOperator>>> = {
  '=': '=',
  '==': '=',
  '!=': '!=',
  '<>': '!=',
  '<': '<',
  '<=': '<=',
  '>': '>',
  '>=': '>=',
  '<=>': '<=>',
};

const relationOperators: ReadonlySet<string> = new Set<RelationOperator>([
  ...words('IN LIKE ILIKE MATCHES CONTAINS CONTAINSALL CONTAINSANY CONTAINSKEY CONTAINSVALUE'),
  ...words('CONTAINSTEXT INSTANCEOF NEAR WITHIN'),
]);

export function isRelation(lexeme: string): lexeme is RelationOperator {
  return relationOperators.has(lexeme);
}

export function compareOperatorOf(lexeme: Lexeme | ''): CompareOperator | undefined {
  return lexeme === '' ? undefined : compareOperators[lexeme];
}

function parseComparison(c: Cursor): Expression {
  const at = c.at;
  const outer = c.chainStart();
  let left = parseBinary(c, 0);
  for (;;) {
    const lexeme = c.lexeme;
    const operator = compareOperatorOf(lexeme);
    if (operator !== undefined) {
      c.advance();
      left = {kind: 'compare', at, operator, left, right: parseBinary(c, 0)};
    } else if (lexeme === 'NOT' && isRelationAhead(c)) {
      c.advance();
      left = parseRelation(c, {left, at, negated: true});
    } else if (lexeme === 'IS') {
      left = parseIs(c, left, at);
    } else if (lexeme === 'BETWEEN' || isRelation(lexeme)) {
      left = parseRelation(c, {left, at, negated: false});
    } else {
      c.note('an operator');
      c.chainEnd(outer);
      return left;
    }
    c.grow();
  }
}

function isRelationAhead(c: Cursor): boolean {
  const next = c.lexemeAhead(1);
  return next === 'BETWEEN' || isRelation(next);
}

function parseIs(c: Cursor, operand: Expression, at: number): Expression {
  c.advance();
  const negated = c.accept('NOT');
  if (c.accept('NULL')) return {kind: 'is', at, test: 'null', negated, operand};
  if (c.accept('DEFINED')) return {kind: 'is', at, test: 'defined', negated, operand};
  return c.fail();
}

interface RelationStart {
  readonly left: Expression;
  readonly at: number;
  readonly negated: boolean;
}

function parseRelation(c: Cursor, {left, at, negated}: RelationStart): Expression {
  const operator = c.lexeme;
  c.advance();
  if (operator === 'BETWEEN') {
    const low = parseBinary(c, 0);
    c.expect('AND');
    const high = parseBinary(c, 0);
    return {kind: 'between', at, negated, operand: left, low, high};
  }
  assert(isRelation(operator), 'the caller has looked');
  const right = parseBinary(c, 0);
  if (takesCondition(operator) && isCondition(right)) {
    return {kind: 'contains-where', at, operator, negated, left, condition: right};
  }
  return {kind: 'relation', at, operator, negated, left, right};
}

function takesCondition(
  operator: RelationOperator,
): operator is 'CONTAINS' | 'CONTAINSALL' | 'CONTAINSANY' {
  return operator === 'CONTAINS' || operator === 'CONTAINSALL' || operator === 'CONTAINSANY';
}

/** An expression after CONTAINS that is true or false by its form is a condition on elements. */
export function isCondition(expression: Expression): boolean {
  switch (expression.kind) {
    case 'compare':
    case 'and':
    case 'or':
    case 'not':
    case 'is':
    case 'between':
    case 'relation':
    case 'contains-where':
      return true;
    default:
      return false;
  }
}

/** Binding strength of the operators of this level and above; 0 for everything else. */
const strengths: Readonly<Partial<Record<Lexeme, number>>> = {
  '??': 1,
  '||': 2,
  '|': 3,
  '^': 4,
  '&': 5,
  '<<': 6,
  '>>': 6,
  '>>>': 6,
  '+': 7,
  '-': 7,
  '*': 8,
  '/': 8,
  '%': 8,
};

/** How tightly `operator` binds; for the printer. */
export function strengthOf(operator: BinaryOperator): number {
  return strengths[operator] ?? 0;
}

export function parseBinary(c: Cursor, strengthMin: number): Expression {
  const at = c.at;
  const outer = c.chainStart();
  let left = parseSigned(c);
  for (;;) {
    const lexeme = c.lexeme;
    const strength = lexeme === '' ? undefined : strengths[lexeme];
    if (strength === undefined || strength <= strengthMin) {
      c.chainEnd(outer);
      return left;
    }
    c.advance();
    const right = parseBinary(c, strength);
    left = {kind: 'binary', at, operator: lexeme as BinaryOperator, left, right};
    c.grow();
  }
}

function parseSigned(c: Cursor): Expression {
  const at = c.at;
  const lexeme = c.lexeme;
  if (lexeme !== '-' && lexeme !== '+' && lexeme !== '~') return parsePostfix(c);
  c.advance();
  const kind = c.kind;
  if (lexeme === '-' && (kind === TokenKind.integer || kind === TokenKind.real)) {
    const literal = kind === TokenKind.integer ? readInteger(c, at) : readReal(c, at);
    return parseSuffixes(c, literal);
  }
  c.enter();
  const operand = parseSigned(c);
  c.leave();
  return {kind: 'unary', at, operator: lexeme, operand};
}

function parsePostfix(c: Cursor): Expression {
  return parseSuffixes(c, parsePrimary(c));
}

/** An operand without what may stand behind it. */
export function parsePrimary(c: Cursor): Expression {
  const at = c.at;
  switch (c.kind) {
    case TokenKind.integer:
      return readInteger(c, undefined);
    case TokenKind.real:
      return readReal(c, undefined);
    case TokenKind.string:
      return {kind: 'literal', at, value: readString(c)};
    case TokenKind.rid:
      return readRid(c);
    case TokenKind.variable: {
      const name = c.raw.slice(1);
      c.advance();
      return {kind: 'variable', at, name};
    }
    case TokenKind.attribute:
      return {kind: 'attribute', at, name: readAttribute(c)};
    case TokenKind.word:
    case TokenKind.quoted:
      return parseWord(c);
    case TokenKind.numbered:
      return parseParameter(c);
    default:
      return parseBracketed(c);
  }
}

/** Takes `@name`; the name ignores case. */
export function readAttribute(c: Cursor): AttributeName {
  const wanted = c.raw.slice(1).toLowerCase();
  const name = attributeNames.find(known => known === wanted);
  if (name === undefined) {
    const known = attributeNames.map(each => `@${each}`).join(', ');
    c.reject(c.at, `'${c.raw}' is no attribute of a record; there are ${known}`);
  }
  c.advance();
  return name;
}

function parseBracketed(c: Cursor): Expression {
  switch (c.lexeme) {
    case '(':
      return parseParenthesized(c);
    case '[':
      return parseList(c);
    case '{':
      return parseMap(c);
    case '?':
    case ':':
      return parseParameter(c);
    default:
      c.note('an expression');
      return c.fail();
  }
}

/** `?`, `:name`, `$1`. */
export function parseParameter(c: Cursor): Parameter {
  const at = c.at;
  if (c.kind === TokenKind.numbered) {
    const number = Number(c.raw.slice(1));
    if (!Number.isInteger(number) || number < 1 || number > 65_535) {
      c.reject(at, `parameters are counted from $1 to $65535, not ${c.raw.slice(0, 20)}`);
    }
    c.advance();
    return {kind: 'parameter', at, form: 'positional', index: number - 1};
  }
  if (c.accept('?')) return {kind: 'parameter', at, form: 'positional', index: c.parameterCount++};
  c.expect(':');
  const named = c.isName() || c.kind === TokenKind.integer;
  if (!named) {
    c.note('the name of a parameter');
    c.fail();
  }
  const name = c.nameText();
  c.advance();
  return {kind: 'parameter', at, form: 'named', name};
}

/** Words that end an expression's surroundings: as an operand they need backquotes. */
const notOperands: ReadonlySet<string> = new Set<Lexeme>(
  words('FROM WHERE AND OR SELECT THEN ELSE END WHEN AS IS BETWEEN'),
);

function parseWord(c: Cursor): Expression {
  const at = c.at;
  const lexeme = c.lexeme;
  if (lexeme !== '') {
    if (lexeme === 'NULL' || lexeme === 'TRUE' || lexeme === 'FALSE') {
      c.advance();
      return {kind: 'literal', at, value: lexeme === 'NULL' ? null : lexeme === 'TRUE'};
    }
    if (lexeme === 'CASE' && isCaseAhead(c)) return parseCase(c);
    if (notOperands.has(lexeme)) {
      c.note('an expression');
      c.fail();
    }
  }
  const name = c.nameText();
  c.advance();
  if (c.lexeme === '(') return parseCall(c, name, at);
  return {kind: 'name', at, name};
}

function isCaseAhead(c: Cursor): boolean {
  const kind = c.kindAhead(1);
  if (kind !== TokenKind.symbol) {
    const next = c.lexemeAhead(1);
    return kind > TokenKind.bad && !endsOperand(next);
  }
  return ['(', '[', '{', '-', '?', ':'].includes(c.lexemeAhead(1));
}

function endsOperand(lexeme: Lexeme | ''): boolean {
  return (
    lexeme !== '' &&
    (lexeme === 'FROM' ||
      lexeme === 'AS' ||
      lexeme === 'ASC' ||
      lexeme === 'DESC' ||
      lexeme === 'AND' ||
      lexeme === 'OR' ||
      lexeme === 'IS' ||
      lexeme === 'LIMIT' ||
      lexeme === 'BETWEEN' ||
      isRelation(lexeme))
  );
}

function parseCall(c: Cursor, name: string, at: number): Expression {
  c.advance();
  let distinct = false;
  if (c.lexeme === 'DISTINCT' && startsDistinctArgument(c)) {
    distinct = true;
    c.advance();
  }
  const list = parseArguments(c);
  return {kind: 'call', at, name, distinct, arguments: list};
}

/** `count(DISTINCT price)`; but `count(distinct(price))` and `count(distinct)` name something. */
function startsDistinctArgument(c: Cursor): boolean {
  const next = c.lexemeAhead(1);
  return next !== '(' && next !== ')' && next !== ',' && next !== '.';
}

/** Arguments up to the closing parenthesis, which is taken. `*` stands alone as an argument. */
export function parseArguments(c: Cursor): readonly Expression[] {
  const list: Expression[] = [];
  if (c.accept(')')) return list;
  do {
    if (c.lexeme === '*' && (c.lexemeAhead(1) === ')' || c.lexemeAhead(1) === ',')) {
      list.push({kind: 'star', at: c.at});
      c.advance();
    } else {
      list.push(parseExpression(c));
    }
  } while (c.accept(','));
  c.expect(')');
  return list;
}

function parseCase(c: Cursor): Case {
  const at = c.at;
  c.advance();
  const subject = c.is('WHEN') ? undefined : parseExpression(c);
  const branches: {when: Expression; then: Expression}[] = [];
  c.expect('WHEN');
  do {
    const when = parseExpression(c);
    c.expect('THEN');
    branches.push({when, then: parseExpression(c)});
  } while (c.accept('WHEN'));
  const otherwise = c.accept('ELSE') ? parseExpression(c) : undefined;
  c.expect('END');
  return {kind: 'case', at, subject, branches, otherwise};
}

const statementWords: ReadonlySet<string> = new Set<Lexeme>([
  'TRAVERSE',
  'INSERT',
  'UPDATE',
  'DELETE',
  'CREATE',
  'MOVE',
  'EXPLAIN',
  'PROFILE',
]);

/** Whether a statement starts here rather than an expression; looks one token ahead. */
export function isStatementStart(c: Cursor): boolean {
  const lexeme = c.lexeme;
  if (lexeme === 'SELECT') return true;
  if (lexeme === 'MATCH') return c.lexemeAhead(1) === '{';
  if (!statementWords.has(lexeme)) return false;
  const next = c.kindAhead(1);
  if (lexeme === 'TRAVERSE') {
    return next === TokenKind.symbol ? c.lexemeAhead(1) === '*' : next > TokenKind.bad;
  }
  return next !== TokenKind.symbol && next > TokenKind.bad && !endsOperand(c.lexemeAhead(1));
}

/** `(expression)`, `(statement)`, and `(a, b)` as a list. */
function parseParenthesized(c: Cursor): Expression {
  const at = c.at;
  c.advance();
  if (isStatementStart(c)) {
    const statement = c.statementRule(c);
    c.expect(')');
    return {kind: 'subquery', at, statement};
  }
  const first = parseExpression(c);
  if (!c.is(',')) {
    c.expect(')');
    return first;
  }
  const items = [first];
  while (c.accept(',')) items.push(parseExpression(c));
  c.expect(')');
  return {kind: 'list', at, items};
}

/** `[a, b]` and `[item FOR name IN source WHERE condition]`. */
function parseList(c: Cursor): Expression {
  const at = c.at;
  c.advance();
  const items: Expression[] = [];
  if (!c.accept(']')) {
    const first = parseExpression(c);
    if (c.is('FOR')) return parseComprehension(c, first, at);
    items.push(first);
    while (c.accept(',')) {
      if (c.lexeme === ']') break;
      items.push(parseExpression(c));
    }
    c.expect(']');
  }
  return {kind: 'list', at, items};
}

function parseComprehension(c: Cursor, item: Expression, at: number): Expression {
  c.expect('FOR');
  const variable: Name = c.kind === TokenKind.variable ? readVariableName(c) : c.name('a name');
  c.expect('IN');
  const source = parseExpression(c);
  const where = c.accept('WHERE') ? parseExpression(c) : undefined;
  c.expect(']');
  return {kind: 'comprehension', at, item, variable, source, where};
}

/** Takes `$name` as the name after the dollar. */
export function readVariableName(c: Cursor): Name {
  const name = {text: c.raw.slice(1), at: c.at};
  c.advance();
  return name;
}

/** `{key: value, 'key': value}`. */
export function parseMap(c: Cursor): Expression {
  const at = c.at;
  c.expect('{');
  const entries: MapEntry[] = [];
  while (!c.accept('}')) {
    const entryAt = c.at;
    const key = readKey(c);
    c.expect(':');
    entries.push({at: entryAt, key, value: parseExpression(c)});
    if (!c.accept(',') && c.lexeme !== '}') {
      c.note(',');
      c.note('}');
      c.fail();
    }
  }
  return {kind: 'map', at, entries};
}

function readKey(c: Cursor): string {
  if (c.kind === TokenKind.string) return readString(c);
  if (c.kind === TokenKind.attribute) {
    const key = c.raw;
    c.advance();
    return key;
  }
  return c.name('a key').text;
}
