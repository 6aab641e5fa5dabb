/** CREATE and DROP of indexes and constraints. */
import {Refusal} from '#server/base/errors.ts';
import type {Name, SchemaCommand} from './ast.ts';
import {placeOf} from '../place.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseMap} from './parser-expression.ts';

/** The schema command that stands here, or undefined. */
export function acceptSchemaCommand(cursor: Cursor): SchemaCommand | undefined {
  const {at} = cursor;
  const family = acceptCreateIndex(cursor);
  if (family !== undefined) return parseCreateIndex(cursor, family, at);
  if (cursor.acceptPair('CREATE', 'CONSTRAINT')) return parseCreateConstraint(cursor, at);
  if (cursor.acceptPair('DROP', 'INDEX')) return parseDrop(cursor, 'index', at);
  if (cursor.acceptPair('DROP', 'CONSTRAINT')) return parseDrop(cursor, 'constraint', at);
  return undefined;
}

/** The kinds of one property order are all the one ordered index; binding knows the others. */
function acceptCreateIndex(cursor: Cursor): string | undefined {
  const kind = cursor.lexemeAhead(1);
  if (cursor.lexeme === 'CREATE' && laterIndexes.has(kind) && cursor.lexemeAhead(2) === 'INDEX') {
    throw new Refusal('not-available', `a ${kind} INDEX in Cypher is not available yet`, {
      place: placeOf(cursor.text, cursor.at),
      detail: {name: `${kind} INDEX`},
    });
  }
  if (cursor.acceptWords('CREATE', 'FULLTEXT', 'INDEX')) return 'FULLTEXT';
  if (cursor.acceptWords('CREATE', 'VECTOR', 'INDEX')) return 'VECTOR';
  const isOrdered =
    cursor.acceptPair('CREATE', 'INDEX') ||
    cursor.acceptWords('CREATE', 'RANGE', 'INDEX') ||
    cursor.acceptWords('CREATE', 'TEXT', 'INDEX');
  if (isOrdered) return 'ordered';
  const isWord = cursor.kindAhead(1) === TokenKind.word && cursor.lexemeAhead(2) === 'INDEX';
  if (cursor.lexeme !== 'CREATE' || !isWord) return undefined;
  cursor.advance();
  const {text} = cursor.name('a kind of index');
  cursor.expect('INDEX');
  return text.toUpperCase();
}

const laterIndexes = new Set(['POINT', 'LOOKUP']);

function parseCreateIndex(cursor: Cursor, family: string, at: number): SchemaCommand {
  const head = parseHead(cursor);
  const target = parseTarget(cursor);
  cursor.expect('ON');
  if (family === 'FULLTEXT') cursor.expect('EACH');
  const [open, close] = family === 'FULLTEXT' ? (['[', ']'] as const) : (['(', ')'] as const);
  cursor.expect(open);
  const properties = parseProperties(cursor);
  cursor.expect(close);
  const options = family !== 'ordered' && cursor.accept('OPTIONS') ? parseMap(cursor) : undefined;
  return {kind: 'create-index', family, ...head, ...target, properties, options, at};
}

function parseCreateConstraint(cursor: Cursor, at: number): SchemaCommand {
  const head = parseHead(cursor);
  const target = parseTarget(cursor);
  if (!cursor.accept('REQUIRE')) cursor.expect('ASSERT');
  const inParentheses = cursor.accept('(');
  const properties = parseProperties(cursor);
  if (inParentheses) cursor.expect(')');
  const command = {kind: 'create-constraint', ...head, ...target, properties, at} as const;
  cursor.expect('IS');
  if (cursor.acceptPair('NOT', 'NULL')) return {...command, rule: 'not-null'};
  if (cursor.accept('UNIQUE')) return {...command, rule: 'unique'};
  if (cursor.acceptPair('NODE', 'KEY') || cursor.acceptPair('RELATIONSHIP', 'KEY')) {
    return {...command, rule: 'key'};
  }
  if (!cursor.accept('TYPED')) {
    cursor.expect(':');
    cursor.expect(':');
  }
  return {...command, rule: parseType(cursor)};
}

/** `INTEGER`, `LOCAL DATETIME`, `LIST<STRING NOT NULL>`. */
function parseType(cursor: Cursor): {readonly type: Name; readonly of?: Name} {
  const type = cursor.name('a type');
  const isTwoWords = ['LOCAL', 'ZONED'].includes(type.text.toUpperCase());
  if (isTwoWords) return {type: {...type, text: `${type.text} ${cursor.name('a type').text}`}};
  if (!cursor.accept('<')) return {type};
  const of = cursor.name('a type');
  cursor.acceptPair('NOT', 'NULL');
  cursor.expect('>');
  return {type, of};
}

/** The name, IF NOT EXISTS, and FOR (or ON, as it was written before). */
function parseHead(cursor: Cursor): {
  readonly name: Name | undefined;
  readonly ifNotExists: boolean;
} {
  const isNamed = cursor.isName() && !['IF', 'FOR', 'ON'].includes(cursor.lexeme);
  const name = isNamed ? cursor.name('a name') : undefined;
  const ifNotExists = cursor.acceptWords('IF', 'NOT', 'EXISTS');
  if (!cursor.accept('FOR')) cursor.expect('ON');
  return {name, ifNotExists};
}

/** `(n:Label)` or `()-[r:TYPE]-()`. */
function parseTarget(cursor: Cursor): {
  readonly entity: 'node' | 'relationship';
  readonly label: Name;
} {
  cursor.expect('(');
  if (!cursor.accept(')')) {
    cursor.name('a variable');
    cursor.expect(':');
    const label = cursor.name('a label');
    cursor.expect(')');
    return {entity: 'node', label};
  }
  cursor.accept('<');
  cursor.expect('-');
  cursor.expect('[');
  cursor.name('a variable');
  cursor.expect(':');
  const label = cursor.name('a type');
  cursor.expect(']');
  cursor.expect('-');
  cursor.accept('>');
  cursor.expect('(');
  cursor.expect(')');
  return {entity: 'relationship', label};
}

/** `n.a, n.b`: the variable is the target's. */
function parseProperties(cursor: Cursor): readonly Name[] {
  const properties: Name[] = [];
  do {
    cursor.name('a variable');
    cursor.expect('.');
    properties.push(cursor.name('a property'));
  } while (cursor.accept(','));
  return properties;
}

function parseDrop(cursor: Cursor, what: 'index' | 'constraint', at: number): SchemaCommand {
  const name = cursor.name('a name');
  return {kind: 'drop', what, name, ifExists: cursor.acceptPair('IF', 'EXISTS'), at};
}
