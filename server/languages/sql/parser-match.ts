/**
 * MATCH: patterns of nodes and hops, and what is returned of them.
 *
 * `-T->`, `<-T-`, `-T-`, `-->`, `<--` and `--` are read from single `-`, `<` and `>` tokens. NOT
 * before a pattern subtracts it.
 */

import {words} from '#server/base/words.ts';
import type {
  BucketReference,
  Expression,
  Match,
  MatchMethod,
  MatchNode,
  MatchPattern,
  MatchStep,
  Name,
} from './ast.ts';
import {matchMethods} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {readString} from './literal.ts';
import {parseArguments, parseExpression} from './parser-expression.ts';
import {parseBucket, parseProjection, parseTail} from './parser-select.ts';

export function parseMatch(c: Cursor): Match {
  const at = c.at;
  c.expect('MATCH');
  const patterns = [parsePattern(c)];
  while (c.accept(',')) patterns.push(parsePattern(c));
  c.expect('RETURN');
  const distinct = c.accept('DISTINCT');
  const items = parseProjection(c);
  return {kind: 'match', at, patterns, distinct, items, ...parseTail(c)};
}

function parsePattern(c: Cursor): MatchPattern {
  const at = c.at;
  const negated = c.accept('NOT');
  const first = parseNode(c);
  return {at, negated, first, steps: parseSteps(c)};
}

function parseSteps(c: Cursor): readonly MatchStep[] {
  const steps: MatchStep[] = [];
  const outer = c.chainStart();
  for (;;) {
    if (c.is('.')) steps.push(parseDotStep(c));
    else if (c.is('-') || c.is('<')) steps.push(parseArrow(c));
    else break;
    c.grow();
  }
  c.chainEnd(outer);
  return steps;
}

function parseDotStep(c: Cursor): MatchStep {
  const at = c.at;
  c.expect('.');
  if (c.accept('(')) {
    c.enter();
    // The block's first hop may be written with or without its dot.
    const steps = c.is('.') || c.is('-') || c.is('<') ? [] : [parseMethodStep(c, c.at)];
    const all = [...steps, ...parseSteps(c)];
    c.expect(')');
    c.leave();
    return {kind: 'block', at, steps: all, node: parseOptionalNode(c)};
  }
  return parseMethodStep(c, at);
}

function parseMethodStep(c: Cursor, at: number): MatchStep {
  const wanted = c.isName() ? c.nameText().toLowerCase() : '';
  const method = matchMethods.find(known => known.toLowerCase() === wanted);
  if (method === undefined) {
    for (const known of matchMethods) c.note(`${known}()`);
    c.fail();
  }
  c.advance();
  c.expect('(');
  const types = parseArguments(c);
  return {kind: 'hop', at, method, arrow: false, types, node: parseOptionalNode(c)};
}

/** `-T->` out, `<-T-` in, `-T-` both; the type may be left out. */
function parseArrow(c: Cursor): MatchStep {
  const at = c.at;
  const incoming = c.accept('<');
  c.expect('-');
  const types: Expression[] = [];
  if (!c.is('-')) {
    const name = c.name('the name of an edge type');
    types.push({kind: 'literal', at: name.at, value: name.text});
  }
  c.expect('-');
  const outgoing = !incoming && c.accept('>');
  const method: MatchMethod = incoming ? 'in' : outgoing ? 'out' : 'both';
  return {kind: 'hop', at, method, arrow: true, types, node: parseNode(c)};
}

function parseOptionalNode(c: Cursor): MatchNode {
  return c.is('{') ? parseNode(c) : emptyNode(c.at);
}

type NodeDraft = {-readonly [K in keyof MatchNode]: MatchNode[K]};

function emptyNode(at: number): NodeDraft {
  return {
    at,
    types: [],
    bucket: undefined,
    rid: undefined,
    as: undefined,
    where: undefined,
    while: undefined,
    maxDepth: undefined,
    depthAlias: undefined,
    pathAlias: undefined,
    optional: false,
  };
}

/** `{type: T, as: a, where: (condition), ...}`. */
function parseNode(c: Cursor): MatchNode {
  const node = emptyNode(c.at);
  c.expect('{');
  c.enter();
  const seen = new Set<string>();
  while (!c.accept('}')) {
    parseNodeKey(c, node, seen);
    if (!c.accept(',') && !c.is('}')) c.fail();
  }
  c.leave();
  return node;
}

const nodeKeys = words(
  'type types bucket rid as where while maxDepth depthAlias pathAlias optional',
);
type NodeKey = (typeof nodeKeys)[number];

function parseNodeKey(c: Cursor, node: NodeDraft, seen: Set<string>): void {
  const at = c.at;
  const wanted = c.isName() ? c.nameText().toLowerCase() : '';
  const key = nodeKeys.find(
    known => known.toLowerCase() === wanted || (known === 'type' && wanted === 'class'),
  );
  if (key === undefined) {
    for (const known of nodeKeys) c.note(`${known}:`);
    c.fail();
  }
  if (seen.has(key)) c.reject(at, `'${key}' is given twice`);
  seen.add(key);
  c.advance();
  c.expect(':');
  readNodeValue(c, node, key);
}

function readNodeValue(c: Cursor, node: NodeDraft, key: NodeKey): void {
  switch (key) {
    case 'type':
    case 'types':
      node.types = parseTypeNames(c);
      return;
    case 'bucket':
      node.bucket = parseBucketValue(c);
      return;
    case 'as':
    case 'depthAlias':
    case 'pathAlias':
      node[key] = c.name('an alias');
      return;
    case 'optional':
      if (c.accept('TRUE')) node.optional = true;
      else if (!c.accept('FALSE')) c.fail();
      return;
    default:
      node[key] = parseExpression(c);
  }
}

/** A name, a string, or a list of them. */
function parseTypeNames(c: Cursor): readonly Name[] {
  if (!c.accept('[')) return [parseTypeName(c)];
  const names = [parseTypeName(c)];
  while (c.accept(',')) names.push(parseTypeName(c));
  c.expect(']');
  return names;
}

function parseTypeName(c: Cursor): Name {
  return c.kind === TokenKind.string ? readStringName(c) : c.name('the name of a type');
}

function parseBucketValue(c: Cursor): BucketReference {
  return c.kind === TokenKind.string ? readStringName(c) : parseBucket(c);
}

function readStringName(c: Cursor): Name {
  const at = c.at;
  return {at, text: readString(c)};
}
