/** CREATE, ALTER and DROP of users. */
import {Refusal} from '#server/base/errors.ts';
import type {Expression} from './ast-expression.ts';
import type {UserCommand} from './ast.ts';
import type {Cursor} from './cursor.ts';
import {placeOf} from '../place.ts';
import {TokenKind} from './lexer.ts';
import {parseExpression} from './parser-expression.ts';

/** The command about users that stands here, or undefined. */
export function acceptUserCommand(cursor: Cursor): UserCommand | undefined {
  if (cursor.acceptWords('CREATE', 'OR', 'REPLACE', 'USER')) return parseCreate(cursor, true);
  if (cursor.acceptPair('CREATE', 'USER')) return parseCreate(cursor, false);
  if (cursor.acceptWords('ALTER', 'CURRENT', 'USER')) return parseAlterCurrent(cursor);
  if (cursor.acceptPair('ALTER', 'USER')) return parseAlter(cursor);
  if (!cursor.acceptPair('DROP', 'USER')) return undefined;
  const name = cursor.name('a user');
  return {kind: 'drop-user', name, ifExists: cursor.acceptPair('IF', 'EXISTS')};
}

function parseCreate(cursor: Cursor, orReplace: boolean): UserCommand {
  const name = cursor.name('a user');
  const ifNotExists = cursor.acceptWords('IF', 'NOT', 'EXISTS');
  const password = parsePassword(cursor);
  return {kind: 'create-user', name, password, ifNotExists, orReplace};
}

function parseAlter(cursor: Cursor): UserCommand {
  const name = cursor.name('a user');
  const ifExists = cursor.acceptPair('IF', 'EXISTS');
  const password = parsePassword(cursor);
  return {kind: 'alter-user', name, password, oldPassword: undefined, ifExists};
}

function parseAlterCurrent(cursor: Cursor): UserCommand {
  cursor.expect('SET');
  cursor.expect('PASSWORD');
  cursor.expect('FROM');
  const oldPassword = parseSecret(cursor);
  cursor.expect('TO');
  const password = parseSecret(cursor);
  return {kind: 'alter-user', name: undefined, password, oldPassword, ifExists: false};
}

function parsePassword(cursor: Cursor): Expression {
  cursor.expect('SET');
  cursor.accept('PLAINTEXT');
  cursor.expect('PASSWORD');
  const password = parseSecret(cursor);
  cursor.accept('SET');
  const {at} = cursor;
  if (!cursor.accept('CHANGE')) cursor.acceptWords('PASSWORD', 'CHANGE');
  if (cursor.acceptPair('NOT', 'REQUIRED')) return password;
  if (cursor.accept('REQUIRED')) {
    throw new Refusal('not-available', 'a password that must be changed is not available', {
      place: placeOf(cursor.text, at),
      detail: {name: 'CHANGE REQUIRED'},
    });
  }
  return password;
}

/** A text or a parameter; its place is kept, never its value. */
function parseSecret(cursor: Cursor): Expression {
  if (cursor.kind === TokenKind.string || cursor.kind === TokenKind.parameter) {
    return parseExpression(cursor);
  }
  return cursor.fail();
}
