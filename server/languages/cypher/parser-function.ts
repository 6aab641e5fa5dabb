/** `DEFINE FUNCTION f(x) = x + 1`: functions of one query, before it. */
import type {FunctionDefinition, TypedName, ValueType} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {parseExpression} from './parser-expression.ts';

const parametersMax = 32;

/** The definitions that stand here, maybe none. */
export function parseDefinitions(cursor: Cursor): readonly FunctionDefinition[] {
  const definitions: FunctionDefinition[] = [];
  while (cursor.acceptPair('DEFINE', 'FUNCTION')) definitions.push(parseDefinition(cursor));
  return definitions;
}

function parseDefinition(cursor: Cursor): FunctionDefinition {
  const name = cursor.name('the name of a function');
  const parameters: TypedName[] = [];
  cursor.expect('(');
  if (!cursor.accept(')')) {
    do {
      if (parameters.length === parametersMax) {
        cursor.reject(cursor.at, `a function has at most ${parametersMax} parameters`);
      }
      const parameter = cursor.name('a parameter');
      parameters.push({name: parameter, type: acceptType(cursor)});
    } while (cursor.accept(','));
    cursor.expect(')');
  }
  const result = acceptType(cursor);
  const {made: body, height} = cursor.measured(() => parseBody(cursor));
  return {name, parameters, result, body, height};
}

function parseBody(cursor: Cursor): FunctionDefinition['body'] {
  if (cursor.accept('=')) return {kind: 'value', value: parseExpression(cursor)};
  cursor.expect('{');
  const query = cursor.queryRule(cursor);
  cursor.expect('}');
  return {kind: 'rows', query};
}

/** `:: INTEGER`, `TYPED LOCAL DATETIME NOT NULL`. */
function acceptType(cursor: Cursor): ValueType | undefined {
  if (cursor.accept(':')) cursor.expect(':');
  else if (!cursor.accept('TYPED')) return undefined;
  const {text, at} = cursor.name('a type');
  const isFirstOfTwo = ['LOCAL', 'ZONED'].includes(text.toUpperCase());
  const name = isFirstOfTwo ? `${text} ${cursor.name('a type').text}` : text;
  return {name: {text: name.toUpperCase(), at}, notNull: cursor.acceptPair('NOT', 'NULL')};
}
