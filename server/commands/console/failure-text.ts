/** What a person reads when a statement or a command of the console fails. */
import type {SourceLocation} from '#server/base/errors.ts';
import {ServerError} from '#server/client/server-error.ts';
import {UsageError} from '../command.ts';
import {sentenceOf} from '../connection.ts';
import {visible, widthOf} from '../table.ts';

/** Letters of the line shown before and after the place. */
const beforeMax = 60;
const afterMax = 40;

/**
 * The sentence, and under the line of the statement a mark where the server says that it is wrong;
 * undefined for a failure that nobody foresaw.
 *
 * @param statement - As it was sent, when a statement failed.
 */
export function failureText(error: unknown, statement: string | undefined): string | undefined {
  if (error instanceof UsageError) return `${error.message}\n`;
  const said = error instanceof ServerError ? error.detail : undefined;
  const sentence = said ?? sentenceOf(error);
  if (sentence === undefined) return undefined;
  const place = error instanceof ServerError ? error.place : undefined;
  const mark = statement === undefined || place === undefined ? '' : markOf(statement, place);
  return `${visible(sentence)}\n${mark}`;
}

function markOf(statement: string, {line, column}: SourceLocation): string {
  const text = statement.split('\n')[line - 1];
  if (text === undefined || column > text.length + 1) return '';
  const from = Math.max(0, column - 1 - beforeMax);
  const before = cell(text.slice(from, column - 1));
  const after = cell(text.slice(column - 1, column - 1 + afterMax));
  const [head, tail] = [from > 0 ? '…' : '', column - 1 + afterMax < text.length ? '…' : ''];
  const blanks = ' '.repeat(widthOf(head + before));
  return `  ${head}${before}${after}${tail}\n  ${blanks}^\n`;
}

function cell(text: string): string {
  return visible(text.replaceAll('\t', ' '));
}
