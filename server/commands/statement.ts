/**
 * What every command that runs statements shares: the options that say how, and the printing of an
 * answer.
 */
import type {Result} from '#server/client/client.ts';
import {parseJson} from '#server/client/json-text.ts';
import {
  type Arguments,
  type OptionRow,
  type Output,
  print,
  type RunContext,
  UsageError,
} from './command.ts';
import {type Format, formats, isFormat, printRows} from './table.ts';

/** Spread into the options of a command that runs statements. */
export const statementOptions = {
  language: {value: 'NAME', says: 'the language of the statement (default sql)'},
  param: {
    value: 'NAME=JSON',
    repeated: true,
    says: 'a parameter; a value that is no JSON is a text; names 0, 1, ... are positions',
  },
  format: {
    value: 'FORMAT',
    says: `${formats.join(', ')} (default table on a terminal, else ndjson)`,
  },
  limit: {value: 'N', says: 'rows at most; -1 for no limit (default: the server decides)'},
} as const satisfies Record<string, OptionRow>;

/** @throws {UsageError} for a word that is no format. */
export function formatOf(given: Arguments, context: RunContext): Format {
  const word = given.value('format');
  if (word === undefined) return context.stdout.isTTY === true ? 'table' : 'ndjson';
  return formatNamed(word);
}

/** @throws {UsageError} for a word that is no format. */
export function formatNamed(word: string): Format {
  if (isFormat(word)) return word;
  throw new UsageError(`there is no format '${word}': choose one of ${formats.join(', ')}`);
}

/** @throws {UsageError} for a word that is no whole number. */
export function limitOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (/^-?\d{1,9}$/.test(word)) return Number(word);
  throw new UsageError(`the limit '${word}' is no whole number`);
}

/** Parameters by name; names that are numbers are positions. @throws {UsageError} without a `=`. */
export function paramsOf(words: readonly string[]): Readonly<Record<string, unknown>> | undefined {
  if (words.length === 0) return undefined;
  const params = new Map<string, unknown>();
  for (const word of words) {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`the parameter '${word}' is not of the form NAME=JSON`);
    params.set(word.slice(0, at), jsonOrText(word.slice(at + 1)));
  }
  return Object.fromEntries(params);
}

function jsonOrText(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}

/** What is printed of an answer. */
type Rows = Pick<Result, 'result' | 'fields'>;

/** The plan that an answer consists of, for a statement that asked for one. */
export function planOf({result, fields}: Rows): string | undefined {
  const explain = fields['explain'];
  return typeof explain === 'string' && result.length === 0 ? explain.trimEnd() : undefined;
}

/** Prints the rows of an answer, or its plan; a table is not followed by a count. */
export async function printAnswer(answer: Rows, output: Output, format: Format): Promise<void> {
  const {result} = answer;
  const plan = planOf(answer);
  if (plan !== undefined) {
    await print(output, `${plan}\n`);
    return;
  }
  const width = output.columns ?? 120;
  // Piecewise, so that a large result does not become one large text.
  const rowsAtOnce = format === 'ndjson' ? 1_000 : Math.max(1, result.length);
  for (let from = 0; from < result.length; from += rowsAtOnce) {
    await print(output, printRows(result.slice(from, from + rowsAtOnce), format, width));
  }
  if (result.length === 0 && format === 'json') await print(output, '[]\n');
}

/** `3 rows`. */
export function countOf({result}: Rows): string {
  return result.length === 1 ? '1 row' : `${result.length} rows`;
}
