/**
 * `svc query`: one statement, its rows in the format asked for.
 *
 * It speaks to the route that may write, so the same command reads and changes data; what the
 * server cut off at its row limit is said on standard error.
 */
import type {Parameters, Result} from '#server/client/client.ts';
import {parseJson, printJson} from '#server/client/json-text.ts';
import {type Arguments, type Command, print, type RunContext, UsageError} from './command.ts';
import {connectionOptions, withClient} from './connection.ts';
import {type Format, formats, isFormat, printRows} from './table.ts';

export const queryCommand: Command = {
  name: 'query',
  says: 'runs one statement and prints its rows',
  arguments: [
    {name: 'DATABASE', says: 'the database it runs in'},
    {name: 'STATEMENT', says: 'the statement; - reads it from standard input'},
  ],
  options: {
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
    json: {says: 'print the whole answer of the server as JSON'},
    ...connectionOptions,
  },
  examples: [
    `svc query demo "SELECT FROM Artist LIMIT 5"`,
    `svc query demo "SELECT FROM Artist WHERE name = :name" --param name='"Ada"' --format csv`,
  ],
  run: (given, context) => withClient(given, context, client => runQuery(given, context, client)),
};

async function runQuery(
  given: Arguments,
  context: RunContext,
  client: {
    command(
      database: string,
      statement: string,
      options: {language: string; params?: Parameters; limit?: number},
    ): Promise<Result>;
  },
): Promise<number> {
  const [database = '', word = ''] = given.positional;
  const format = formatOf(given, context);
  const limit = limitOf(given.value('limit'));
  const params = paramsOf(given.values('param'));
  const answer = await client.command(database, await statementOf(word, context), {
    language: given.value('language') ?? 'sql',
    ...(params === undefined ? {} : {params}),
    ...(limit === undefined ? {} : {limit}),
  });
  const {stdout, stderr} = context;
  if (given.has('json')) {
    await print(stdout, `${printJson(answer.fields, 2)}\n`);
    return 0;
  }
  const explain = answer.fields['explain'];
  if (typeof explain === 'string' && answer.result.length === 0) {
    await print(stdout, `${explain.trimEnd()}\n`);
    return 0;
  }
  const width = stdout.columns ?? 120;
  // Piecewise, so that a large result does not become one large text.
  const rowsAtOnce = format === 'ndjson' ? 1_000 : Math.max(1, answer.result.length);
  for (let from = 0; from < answer.result.length; from += rowsAtOnce) {
    await print(stdout, printRows(answer.result.slice(from, from + rowsAtOnce), format, width));
  }
  if (answer.result.length === 0 && format === 'json') await print(stdout, '[]\n');
  if (format === 'table') await print(stdout, countLine(answer.result.length));
  if (answer.truncated) {
    await print(stderr, `only the first ${answer.result.length} rows: give --limit for more\n`);
  }
  return 0;
}

function countLine(rows: number): string {
  return rows === 1 ? '1 row\n' : `${rows} rows\n`;
}

function formatOf(given: Arguments, context: RunContext): Format {
  const word = given.value('format');
  if (word === undefined) return context.stdout.isTTY === true ? 'table' : 'ndjson';
  if (isFormat(word)) return word;
  throw new UsageError(`there is no format '${word}': choose one of ${formats.join(', ')}`);
}

function limitOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined;
  if (/^-?\d{1,9}$/.test(word)) return Number(word);
  throw new UsageError(`the limit '${word}' is no whole number`);
}

/** Named parameters, or a list when every name is a position. */
export function paramsOf(words: readonly string[]): Parameters | undefined {
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

async function statementOf(word: string, context: RunContext): Promise<string> {
  if (word !== '-') return word;
  const chunks: Buffer[] = [];
  for await (const chunk of context.stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString('utf8');
}
