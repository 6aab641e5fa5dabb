/**
 * Expressions by recursive descent, a method's worth of grammar a precedence level.
 *
 * From loose to tight: OR, XOR, AND, NOT, comparisons (chained), predicates (STARTS WITH, IN, IS
 * NULL, =~), + - ||, * / %, ^, signs, then property, item, slice and label test behind an atom.
 */
import type {
  BinaryOperator,
  ComparisonOperator,
  Expression,
  MapLiteral,
  Parameter,
} from './ast-expression.ts';
import type {Name} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseAtom} from './parser-atom.ts';
import {parseLabels} from './parser-pattern.ts';

export function parseExpression(cursor: Cursor): Expression {
  cursor.enter();
  const chain = cursor.chainStart();
  const expression = parseLogic(cursor, 0);
  cursor.chainEnd(chain);
  cursor.leave();
  return expression;
}

/** Operators from loose to tight. */
const logical = ['OR', 'XOR', 'AND'] as const;

/**
 * One function for all levels of a kind of operators: a parenthesis costs few calls, so that as
 * many levels as the limit allows fit on the stack.
 */
function parseLogic(cursor: Cursor, loosest: number): Expression {
  let left = parseNot(cursor);
  for (;;) {
    const {at} = cursor;
    const level = logical.findIndex((word, place) => place >= loosest && cursor.is(word));
    const word = logical[level];
    if (word === undefined) return left;
    cursor.advance();
    cursor.grow();
    const right = parseLogic(cursor, level + 1);
    left = {kind: 'binary', operator: logicalOperators[word], left, right, at};
  }
}

const logicalOperators = {OR: 'or', XOR: 'xor', AND: 'and'} as const;

function parseNot(cursor: Cursor): Expression {
  const {at} = cursor;
  if (!cursor.accept('NOT')) return parseComparison(cursor);
  cursor.enter();
  const of = parseNot(cursor);
  cursor.leave();
  return {kind: 'unary', operator: 'not', of, at};
}

const comparisons: readonly ComparisonOperator[] = ['=', '<>', '<=', '>=', '<', '>'];

function parseComparison(cursor: Cursor): Expression {
  const {at} = cursor;
  const first = parsePredicate(cursor);
  const rest: {operator: ComparisonOperator; value: Expression}[] = [];
  for (;;) {
    const operator = comparisons.find(symbol => cursor.accept(symbol));
    if (operator === undefined) break;
    cursor.grow();
    rest.push({operator, value: parsePredicate(cursor)});
  }
  return rest.length === 0 ? first : {kind: 'comparison', first, rest, at};
}

function parsePredicate(cursor: Cursor): Expression {
  let left = parseArithmetic(cursor, 0);
  for (;;) {
    const {at} = cursor;
    if (cursor.acceptWords('IS', 'NOT', 'NULL')) {
      left = {kind: 'is-null', of: left, negated: true, at};
    } else if (cursor.acceptPair('IS', 'NULL')) {
      left = {kind: 'is-null', of: left, negated: false, at};
    } else {
      const operator = predicateOperator(cursor);
      if (operator === undefined) return left;
      left = {kind: 'binary', operator, left, right: parseArithmetic(cursor, 0), at};
    }
    cursor.grow();
  }
}

function predicateOperator(cursor: Cursor): BinaryOperator | undefined {
  if (cursor.accept('IN')) return 'in';
  if (cursor.acceptPair('STARTS', 'WITH')) return 'starts-with';
  if (cursor.acceptPair('ENDS', 'WITH')) return 'ends-with';
  if (cursor.accept('CONTAINS')) return 'contains';
  if (cursor.accept('=~')) return '=~';
  return undefined;
}

/** Symbols from loose to tight. */
const arithmetic = [
  ['+', '-', '||'],
  ['*', '/', '%'],
  ['^'],
] as const satisfies readonly (readonly BinaryOperator[])[];

function parseArithmetic(cursor: Cursor, loosest: number): Expression {
  let left = parseSigned(cursor);
  for (;;) {
    const {at} = cursor;
    const level = arithmetic.findIndex(
      (symbols, place) => place >= loosest && symbols.some(symbol => cursor.is(symbol)),
    );
    const operator = arithmetic[level]?.find(symbol => cursor.lexeme === symbol);
    if (operator === undefined) return left;
    cursor.advance();
    cursor.grow();
    const right = parseArithmetic(cursor, level + 1);
    left = {kind: 'binary', operator, left, right, at};
  }
}

function parseSigned(cursor: Cursor): Expression {
  const {at} = cursor;
  const operator = cursor.accept('-') ? '-' : cursor.accept('+') ? '+' : undefined;
  if (operator === undefined) return parseOperand(cursor);
  cursor.enter();
  // The least integer has no positive twin: its sign belongs to the number.
  const isNumber = operator === '-' && cursor.kind === TokenKind.integer;
  const of = isNumber ? parsePostfix(cursor, parseAtom(cursor, true)) : parseSigned(cursor);
  cursor.leave();
  if (isNumber && of.kind === 'literal') return {...of, at};
  return {kind: 'unary', operator, of, at};
}

/** An atom and what stands behind it: no operators, so that `=` may follow as an assignment. */
export function parseOperand(cursor: Cursor): Expression {
  return parsePostfix(cursor, parseAtom(cursor, false));
}

function parsePostfix(cursor: Cursor, atom: Expression): Expression {
  let value = atom;
  for (;;) {
    const {at} = cursor;
    if (cursor.accept('.')) {
      const name = cursor.name('a property');
      value = {kind: 'property', of: value, name, at};
    } else if (cursor.accept('[')) {
      value = parseItem(cursor, value, at);
    } else if (cursor.is(':')) {
      return {kind: 'has-labels', of: value, labels: parseLabels(cursor), at};
    } else return value;
    cursor.grow();
  }
}

function parseItem(cursor: Cursor, of: Expression, at: number): Expression {
  const from = cursor.is('..') ? undefined : parseExpression(cursor);
  if (cursor.accept('..')) {
    const to = cursor.is(']') ? undefined : parseExpression(cursor);
    cursor.expect(']');
    return {kind: 'slice', of, from, to, at};
  }
  cursor.expect(']');
  if (from === undefined) return cursor.fail();
  return {kind: 'item', of, key: from, at};
}

/** `{name: value, ...}`, where it stands. */
export function parseMap(cursor: Cursor): MapLiteral {
  const {at} = cursor;
  cursor.expect('{');
  const entries: {key: Name; value: Expression}[] = [];
  if (!cursor.accept('}')) {
    do {
      const key = parseKey(cursor);
      cursor.expect(':');
      entries.push({key, value: parseExpression(cursor)});
    } while (cursor.accept(','));
    cursor.expect('}');
  }
  return {kind: 'map', entries, at};
}

function parseKey(cursor: Cursor): Name {
  // What is no number either is a key that cannot be: that is the better thing to say here.
  if (cursor.kind === TokenKind.bad) {
    cursor.refuse(cursor.at, 'UnexpectedSyntax', 'a key is a name, or one in backquotes');
  }
  return cursor.name('a name');
}

/** The current token, which is a parameter. */
export function parseParameter(cursor: Cursor): Parameter {
  const {at, raw} = cursor;
  cursor.advance();
  const name = raw.startsWith('$`') ? raw.slice(2, -1).replaceAll('``', '`') : raw.slice(1);
  return {kind: 'parameter', name, at};
}
