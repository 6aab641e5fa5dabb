/**
 * What may follow an operand: `.field`, `.@rid`, `.method(..)`, `[selector]`, `:{projection}`,
 * COLLATE. Also the items of projections, nested or not, as both are written alike.
 */

import type {
  CompareOperator,
  Expression,
  PathStep,
  ProjectionItem,
  RelationOperator,
  Selector,
} from './ast.ts';
import {functionSignature} from '#server/plan/function-table.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {
  compareOperatorOf,
  isCondition,
  isRelation,
  parseArguments,
  parseBinary,
  parseExpression,
  readAttribute,
  readVariableName,
} from './parser-expression.ts';

/** Continues after `base` with all its suffixes. */
export function parseSuffixes(c: Cursor, base: Expression): Expression {
  if (!startsSuffix(c)) {
    if (c.lexeme !== 'COLLATE') return base;
    return parseCollate(c, base);
  }
  const outer = c.chainStart();
  const steps: PathStep[] = [];
  while (startsSuffix(c)) {
    c.enter();
    steps.push(parseStep(c));
    c.leave();
    c.grow();
  }
  c.chainEnd(outer);
  const path = makePath(base, steps);
  return c.lexeme === 'COLLATE' ? parseCollate(c, path) : path;
}

/**
 * `(a.b).c` is `a.b.c`: parentheses around a path do not change it. An aggregate of a family, such
 * as `vector.sum(x)`, is a call: what it is computed over is found by that.
 */
function makePath(base: Expression, steps: readonly PathStep[]): Expression {
  const [call, ...behind] = steps;
  if (base.kind === 'name' && call?.kind === 'method') {
    const name = `${base.name}.${call.name}`;
    if (functionSignature(name)?.kind === 'aggregate') {
      const aggregate = {
        kind: 'call',
        at: base.at,
        name,
        distinct: false,
        arguments: call.arguments,
      } as const;
      return makePath(aggregate, behind);
    }
  }
  const inner = base.kind === 'path' ? base : undefined;
  const [first, ...rest] = inner === undefined ? steps : [...inner.steps, ...steps];
  if (first === undefined) return base;
  return {kind: 'path', at: base.at, base: inner?.base ?? base, steps: [first, ...rest]};
}

function startsSuffix(c: Cursor): boolean {
  const lexeme = c.lexeme;
  if (lexeme === '.') return c.lexemeAhead(1) !== '(';
  return lexeme === '[' || (lexeme === ':' && c.lexemeAhead(1) === '{');
}

function parseCollate(c: Cursor, operand: Expression): Expression {
  c.expect('COLLATE');
  return {kind: 'collate', at: operand.at, operand, collation: c.name('the name of a collation')};
}

function parseStep(c: Cursor): PathStep {
  const at = c.at;
  if (c.lexeme === '[') return parseSelector(c);
  if (c.lexeme === ':') {
    c.advance();
    return {kind: 'nested', at, items: parseNestedProjection(c)};
  }
  c.advance();
  if (c.kind === TokenKind.attribute) return {kind: 'step-attribute', at, name: readAttribute(c)};
  if (c.kind === TokenKind.variable) {
    return {kind: 'step-variable', at, name: readVariableName(c).text};
  }
  const name = c.name('the name of a property or method').text;
  if (c.lexeme !== '(') return {kind: 'field', at, name};
  c.advance();
  return {kind: 'method', at, name, arguments: parseArguments(c)};
}

function parseSelector(c: Cursor): PathStep {
  const at = c.at;
  c.advance();
  const comparison = parseElementComparison(c, at);
  if (comparison !== undefined) return comparison;
  const first = parseOneSelector(c);
  if (first.kind === 'item' && isCondition(first.value)) {
    c.expect(']');
    return {kind: 'where', at, condition: first.value};
  }
  const selectors = [first];
  while (c.accept(',')) selectors.push(parseOneSelector(c));
  c.expect(']');
  return {kind: 'select', at, selectors};
}

/** `[= 5]`, `[LIKE 'a%']`: a comparison whose left side is the element. */
function parseElementComparison(c: Cursor, at: number): PathStep | undefined {
  const lexeme = c.lexeme;
  const operator: CompareOperator | RelationOperator | undefined =
    compareOperatorOf(lexeme) ?? (isRelation(lexeme) && !isNameHere(c) ? lexeme : undefined);
  if (operator === undefined) return undefined;
  c.advance();
  const value = parseBinary(c, 0);
  c.expect(']');
  return {kind: 'compare-elements', at, operator, value};
}

/** `[in]` and `[within.x]` name a property; `[IN [1, 2]]` compares. */
function isNameHere(c: Cursor): boolean {
  if (c.kind !== TokenKind.word) return true;
  const next = c.lexemeAhead(1);
  return next === ']' || next === ',' || next === '.' || next === '..' || next === '...';
}

function parseOneSelector(c: Cursor): Selector {
  const at = c.at;
  if (c.is('..') || c.is('...')) return parseRangeEnd(c, undefined, at);
  const value = parseExpression(c);
  if (c.is('..') || c.is('...')) return parseRangeEnd(c, value, at);
  return {kind: 'item', at, value};
}

function parseRangeEnd(c: Cursor, from: Expression | undefined, at: number): Selector {
  const form = c.accept('..') ? '..' : '...';
  if (form === '...') c.expect('...');
  const open = c.lexeme === ']' || c.lexeme === ',';
  return {kind: 'range', at, from, to: open ? undefined : parseExpression(c), form};
}

/** `{a, !b, c:{*}, d*, e AS f}` with its braces. */
export function parseNestedProjection(c: Cursor): readonly ProjectionItem[] {
  c.expect('{');
  const items: ProjectionItem[] = [];
  if (!c.accept('}')) {
    do {
      items.push(parseNestedItem(c));
    } while (c.accept(','));
    c.expect('}');
  }
  return items;
}

function parseNestedItem(c: Cursor): ProjectionItem {
  const at = c.at;
  const exclude = c.lexeme === '!' ? 1 : 0;
  const kind = c.kindAhead(exclude);
  const named = kind === TokenKind.word || kind === TokenKind.quoted;
  const starred = named && c.lexemeAhead(exclude + 1) === '*' && endsItem(c, exclude + 2);
  if (!starred) return parseProjectionItem(c);
  if (exclude === 1) c.advance();
  const name = c.nameText();
  c.advance();
  c.advance();
  return exclude === 1 ? {kind: 'exclude', at, name, prefix: true} : {kind: 'prefix', at, name};
}

function endsItem(c: Cursor, ahead: number): boolean {
  const lexeme = c.lexemeAhead(ahead);
  return lexeme === ',' || lexeme === '}';
}

/** `*`, `!field`, or an expression with an optional alias. */
export function parseProjectionItem(c: Cursor): ProjectionItem {
  const at = c.at;
  if (c.accept('*')) return {kind: 'all', at};
  if (c.lexeme === '!') {
    c.advance();
    if (c.kind === TokenKind.attribute) {
      return {kind: 'exclude', at, name: `@${readAttribute(c)}`, prefix: false};
    }
    return {kind: 'exclude', at, name: c.name('the name of a property').text, prefix: false};
  }
  const expression = parseExpression(c);
  const alias = c.accept('AS') ? parseAlias(c) : undefined;
  return {kind: 'item', at, expression, alias};
}

function parseAlias(c: Cursor): {readonly text: string; readonly at: number} {
  if (c.kind !== TokenKind.attribute) return c.name('an alias');
  const alias = {text: c.raw, at: c.at};
  c.advance();
  return alias;
}
