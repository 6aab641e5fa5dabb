/** Patterns: nodes and relationships in a chain, their labels, lengths and conditions. */
import type {MapLiteral, Parameter} from './ast-expression.ts';
import type {
  LabelExpression,
  Name,
  NodePattern,
  PathSelector,
  Pattern,
  PatternHop,
  RelationshipPattern,
} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseExpression, parseMap, parseParameter} from './parser-expression.ts';

/** Whether a node pattern with a relationship behind it stands here. Cost: the node's tokens. */
export function isPatternAhead(cursor: Cursor): boolean {
  if (cursor.lexeme !== '(') return false;
  const named = isName(cursor.kindAhead(1));
  const opening = cursor.lexemeAhead(named ? 2 : 1);
  if (opening !== ')' && opening !== ':' && opening !== '{' && !(named && opening === 'WHERE')) {
    const isParameter = cursor.kindAhead(named ? 2 : 1) === TokenKind.parameter;
    if (!isParameter) return false;
  }
  let ahead = 1;
  for (let open = 1; open > 0; ahead++) {
    const lexeme = cursor.lexemeAhead(ahead);
    if (lexeme === '(') open++;
    else if (lexeme === ')') open--;
    else if (cursor.kindAhead(ahead) <= TokenKind.bad) return false;
  }
  return isRelationshipAhead(cursor, ahead);
}

/** `-[`, `--(`, `-->(`, `<-[`, `<--`: what begins a relationship and no sum or comparison. */
function isRelationshipAhead(cursor: Cursor, from: number): boolean {
  const backwards = cursor.lexemeAhead(from) === '<';
  const ahead = backwards ? from + 1 : from;
  if (cursor.lexemeAhead(ahead) !== '-') return false;
  const next = cursor.lexemeAhead(ahead + 1);
  if (next === '[') return isBracketAhead(cursor, ahead + 1);
  if (next !== '-') return false;
  const then = cursor.lexemeAhead(ahead + 2);
  return then === '(' || (then === '>' && cursor.lexemeAhead(ahead + 3) === '(');
}

/** Whether the bracket is closed by `]-`: a list that is subtracted is not. */
function isBracketAhead(cursor: Cursor, from: number): boolean {
  let open = 0;
  for (let ahead = from; cursor.kindAhead(ahead) > TokenKind.bad; ahead++) {
    const lexeme = cursor.lexemeAhead(ahead);
    if (lexeme === '[') open++;
    else if (lexeme === ']' && --open === 0) return cursor.lexemeAhead(ahead + 1) === '-';
  }
  return false;
}

function isName(kind: number): boolean {
  return kind === TokenKind.word || kind === TokenKind.quoted;
}

export function parsePatterns(cursor: Cursor): readonly Pattern[] {
  const patterns: Pattern[] = [];
  do patterns.push(parsePattern(cursor));
  while (cursor.accept(','));
  return patterns;
}

export function parsePattern(cursor: Cursor): Pattern {
  const {at} = cursor;
  const name =
    isName(cursor.kind) && cursor.lexemeAhead(1) === '=' ? cursor.name('a path') : undefined;
  if (name !== undefined) cursor.expect('=');
  const isShortest = cursor.lexemeAhead(1) === '(' && cursor.kind === TokenKind.word;
  const one = isShortest && cursor.lexeme === 'SHORTESTPATH';
  const all = isShortest && cursor.lexeme === 'ALLSHORTESTPATHS';
  if (!one && !all) {
    const selector = acceptSelector(cursor);
    const mode = acceptMode(cursor);
    if (!cursor.accept('PATHS')) cursor.accept('PATH');
    if (selector?.kind === 'groups') acceptGroups(cursor);
    return {name, shortest: undefined, selector, mode, ...parseChain(cursor), at};
  }
  cursor.advance();
  cursor.expect('(');
  const chain = parseChain(cursor);
  cursor.expect(')');
  const shortest = one ? 'one' : 'all';
  return {name, shortest, selector: undefined, mode: undefined, ...chain, at};
}

const selectorCountMax = 1_000_000;

/** `ANY`, `ANY 3`, `ANY SHORTEST`, `ALL SHORTEST`, `SHORTEST 3`, `SHORTEST 3 GROUPS`. */
function acceptSelector(cursor: Cursor): PathSelector | undefined {
  if (cursor.acceptPair('ANY', 'SHORTEST')) return {kind: 'shortest', count: 1};
  if (cursor.acceptPair('ALL', 'SHORTEST')) return {kind: 'groups', count: 1};
  if (cursor.accept('ALL')) return undefined;
  const kind = cursor.accept('ANY') ? 'any' : cursor.accept('SHORTEST') ? 'shortest' : undefined;
  if (kind === undefined) return undefined;
  const {at} = cursor;
  const count = cursor.kind === TokenKind.integer ? parseBound(cursor) : 1;
  if (count < 1 || count > selectorCountMax) {
    cursor.refuse(at, 'UnexpectedSyntax', `of 1 to ${selectorCountMax} paths is asked`);
  }
  return kind === 'shortest' && isGroupsAhead(cursor) ? {kind: 'groups', count} : {kind, count};
}

/** GROUP or GROUPS stands here, or behind the word PATHS. */
function isGroupsAhead(cursor: Cursor): boolean {
  const skips = ['PATH', 'PATHS', 'WALK', 'TRAIL', 'ACYCLIC'];
  let ahead = 0;
  while (skips.includes(cursor.lexemeAhead(ahead))) ahead++;
  return cursor.lexemeAhead(ahead) === 'GROUP' || cursor.lexemeAhead(ahead) === 'GROUPS';
}

function acceptGroups(cursor: Cursor): void {
  if (!cursor.accept('GROUPS')) cursor.accept('GROUP');
}

function acceptMode(cursor: Cursor): Pattern['mode'] {
  if (cursor.accept('WALK')) return 'walk';
  if (cursor.accept('TRAIL')) return 'trail';
  return cursor.accept('ACYCLIC') ? 'acyclic' : undefined;
}

type Chain = Pick<Pattern, 'start' | 'hops' | 'where'>;

function parseChain(cursor: Cursor): Chain {
  const outer = cursor.chainStart();
  const hops: PatternHop[] = [];
  // A chain may begin with a repeated part: then its first node is any.
  const begins = isGroupAhead(cursor);
  const start = begins ? anyNode(cursor.at) : parseNode(cursor);
  for (;;) {
    if (isGroupAhead(cursor)) {
      const {at} = cursor;
      const group = parseGroup(cursor);
      if (isQuantityAhead(cursor)) hops.push(parseRepeated(cursor, group, at));
      else if (hops.length > 0) return cursor.fail();
      else {
        cursor.chainEnd(outer);
        return group;
      }
    } else if (cursor.is('-') || cursor.is('<')) hops.push(parseHop(cursor));
    else break;
    cursor.grow();
  }
  cursor.chainEnd(outer);
  return {start, hops, where: undefined};
}

function parseHop(cursor: Cursor): PatternHop {
  const relationship = parseRelationship(cursor);
  const quantity = isQuantityAhead(cursor) ? parseQuantity(cursor) : undefined;
  if (quantity !== undefined && relationship.length !== undefined) {
    cursor.refuse(relationship.at, 'InvalidRelationshipPattern', 'a relationship has one length');
  }
  const length = relationship.length ?? quantity;
  const node = isGroupAhead(cursor) ? anyNode(cursor.at) : parseNode(cursor);
  return {kind: 'hop', relationship: {...relationship, length}, node};
}

function anyNode(at: number): NodePattern {
  return {name: undefined, labels: undefined, properties: undefined, where: undefined, at};
}

/** `((`: a part of a path in parentheses. */
function isGroupAhead(cursor: Cursor): boolean {
  return cursor.lexeme === '(' && cursor.lexemeAhead(1) === '(';
}

/** A chain in parentheses, and its condition. */
function parseGroup(cursor: Cursor): Chain {
  cursor.enter();
  cursor.expect('(');
  const {start, hops, where: inner} = parseChain(cursor);
  const where = cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
  if (where !== undefined && inner !== undefined) cursor.fail();
  cursor.expect(')');
  cursor.leave();
  return {start, hops, where: where ?? inner};
}

/** Reads from the quantity behind the group on. */
function parseRepeated(cursor: Cursor, {where, ...chain}: Chain, at: number): PatternHop {
  const {min, max} = parseQuantity(cursor);
  const follows = cursor.is('(') && !isGroupAhead(cursor);
  const node = follows ? parseNode(cursor) : anyNode(cursor.at);
  return {kind: 'repeated', ...chain, where, min, max, node, at};
}

function isQuantityAhead(cursor: Cursor): boolean {
  return cursor.is('*') || cursor.is('+') || cursor.is('{');
}

/** `*`, `+`, `{2}`, `{1,3}`, `{,3}`, `{1,}`. */
function parseQuantity(cursor: Cursor): {readonly min: number; readonly max: number | undefined} {
  if (cursor.accept('*')) return {min: 0, max: undefined};
  if (cursor.accept('+')) return {min: 1, max: undefined};
  cursor.expect('{');
  const min = cursor.kind === TokenKind.integer ? parseBound(cursor) : undefined;
  if (!cursor.accept(',')) {
    if (min === undefined) return cursor.fail();
    cursor.expect('}');
    return {min, max: min};
  }
  const max = cursor.kind === TokenKind.integer ? parseBound(cursor) : undefined;
  cursor.expect('}');
  return {min: min ?? 0, max};
}

export function parseNode(cursor: Cursor): NodePattern {
  const {at} = cursor;
  cursor.expect('(');
  const filler = parseFiller(cursor, parseLabels);
  cursor.expect(')');
  return {...filler, at};
}

interface Filler {
  readonly name: Name | undefined;
  readonly labels: LabelExpression | undefined;
  readonly properties: MapLiteral | Parameter | undefined;
  readonly where: NodePattern['where'];
}

function parseFiller(cursor: Cursor, labelRule: (cursor: Cursor) => LabelExpression): Filler {
  const isCondition = cursor.lexeme === 'WHERE' && cursor.lexemeAhead(1) !== ')';
  const name = cursor.isName() && !isCondition ? cursor.name('a variable') : undefined;
  const labels = cursor.is(':') || cursor.is('IS') ? labelRule(cursor) : undefined;
  return {name, labels, properties: parseProperties(cursor), where: parseWhere(cursor)};
}

function parseProperties(cursor: Cursor): MapLiteral | Parameter | undefined {
  if (cursor.is('{')) return parseMap(cursor);
  return cursor.kind === TokenKind.parameter ? parseParameter(cursor) : undefined;
}

function parseWhere(cursor: Cursor): NodePattern['where'] {
  return cursor.accept('WHERE') ? parseExpression(cursor) : undefined;
}

/** Reads labels from their colon on: `:A:B`, `:A&!B`, `:(A|B)`, `:%`. */
export function parseLabels(cursor: Cursor): LabelExpression {
  if (!cursor.accept('IS')) cursor.expect(':');
  const first = parseLabelChoice(cursor);
  const terms = [first];
  while (cursor.accept(':')) terms.push(parseLabelChoice(cursor));
  return terms.length === 1 ? first : {kind: 'and', terms};
}

function parseLabelChoice(cursor: Cursor): LabelExpression {
  const terms = [parseLabelBoth(cursor)];
  while (cursor.accept('|')) {
    cursor.accept(':');
    terms.push(parseLabelBoth(cursor));
  }
  const [first] = terms;
  return terms.length === 1 && first !== undefined ? first : {kind: 'or', terms};
}

function parseLabelBoth(cursor: Cursor): LabelExpression {
  const terms = [parseLabelTerm(cursor)];
  while (cursor.accept('&')) terms.push(parseLabelTerm(cursor));
  const [first] = terms;
  return terms.length === 1 && first !== undefined ? first : {kind: 'and', terms};
}

function parseLabelTerm(cursor: Cursor): LabelExpression {
  const {at} = cursor;
  if (cursor.accept('!')) {
    cursor.enter();
    const of = parseLabelTerm(cursor);
    cursor.leave();
    return {kind: 'not', of};
  }
  if (cursor.accept('%')) return {kind: 'any', at};
  if (cursor.accept('(')) {
    cursor.enter();
    const inner = parseLabelChoice(cursor);
    cursor.leave();
    cursor.expect(')');
    return inner;
  }
  return {kind: 'label', name: cursor.name('a label')};
}

function parseRelationship(cursor: Cursor): RelationshipPattern {
  const {at} = cursor;
  const left = cursor.accept('<');
  cursor.expect('-');
  const detail = cursor.accept('[') ? parseRelationshipDetail(cursor) : emptyDetail;
  cursor.expect('-');
  const right = cursor.accept('>');
  const direction = left === right ? 'both' : right ? 'out' : 'in';
  return {...detail, direction, at};
}

type RelationshipDetail = Omit<RelationshipPattern, 'direction' | 'at'>;

const emptyDetail: RelationshipDetail = {
  name: undefined,
  types: undefined,
  length: undefined,
  properties: undefined,
  where: undefined,
};

/** Reads what stands inside the brackets, and the closing one. */
function parseRelationshipDetail(cursor: Cursor): RelationshipDetail {
  const name = cursor.isName() ? cursor.name('a variable') : undefined;
  const types = cursor.is(':') ? parseLabels(cursor) : undefined;
  if (cursor.lexeme === '..') {
    cursor.refuse(cursor.at, 'InvalidRelationshipPattern', "a length begins with '*'");
  }
  const length = cursor.accept('*') ? parseLength(cursor) : undefined;
  const properties = parseProperties(cursor);
  const where = parseWhere(cursor);
  cursor.expect(']');
  return {name, types, length, properties, where};
}

/** Parses what follows the star: nothing, `2`, `1..`, `..3`, `1..3`. */
function parseLength(cursor: Cursor): NonNullable<RelationshipPattern['length']> {
  const isBound = cursor.kind === TokenKind.integer;
  const min = isBound ? parseBound(cursor) : undefined;
  if (!cursor.accept('..')) {
    if (cursor.lexeme === '-' && cursor.kindAhead(1) === TokenKind.integer) {
      cursor.refuse(cursor.at, 'InvalidRelationshipPattern', 'a length cannot be negative');
    }
    return {min, max: min};
  }
  const max = cursor.kind === TokenKind.integer ? parseBound(cursor) : undefined;
  return {min, max};
}

const boundMax = 1_000_000_000;

function parseBound(cursor: Cursor): number {
  const {at, raw} = cursor;
  const bound = Number(raw);
  if (!(bound <= boundMax)) cursor.reject(at, `a length is at most ${boundMax}`);
  cursor.advance();
  return bound;
}
