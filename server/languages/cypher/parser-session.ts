/** START TRANSACTION, COMMIT, ROLLBACK, and what is said about the session of a client. */
import type {SessionCommand} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {TokenKind} from './lexer.ts';
import {parseExpression, parseParameter} from './parser-expression.ts';

/** The command that stands here, or undefined. */
export function acceptSessionCommand(cursor: Cursor): SessionCommand | undefined {
  if (cursor.acceptPair('START', 'TRANSACTION')) return {kind: 'begin'};
  if (cursor.accept('COMMIT')) return {kind: 'commit'};
  if (cursor.accept('ROLLBACK')) return {kind: 'rollback'};
  if (!cursor.accept('SESSION')) return undefined;
  if (cursor.accept('RESET')) return {kind: 'reset'};
  if (cursor.accept('CLOSE')) return {kind: 'close'};
  cursor.expect('SET');
  if (cursor.kind !== TokenKind.parameter) {
    cursor.note('a parameter');
    cursor.fail();
  }
  const {name, at} = parseParameter(cursor);
  cursor.expect('=');
  return {kind: 'set', name: {text: name, at}, value: parseExpression(cursor)};
}
