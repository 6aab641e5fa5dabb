/**
 * `svc query`: one statement, its rows in the format asked for.
 *
 * It speaks to the route that may write, so the same command reads and changes data; what the
 * server cut off at its row limit is said on standard error.
 */
import type {Client} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {type Arguments, type Command, print, type RunContext} from './command.ts';
import {connectionOptions, withClient} from './connection.ts';
import {
  countOf,
  formatOf,
  limitOf,
  paramsOf,
  planOf,
  printAnswer,
  statementOptions,
} from './statement.ts';

export const queryCommand: Command = {
  name: 'query',
  says: 'runs one statement and prints its rows',
  arguments: [
    {name: 'DATABASE', says: 'the database it runs in'},
    {name: 'STATEMENT', says: 'the statement; - reads it from standard input'},
  ],
  options: {
    ...statementOptions,
    json: {says: 'print the whole answer of the server as JSON'},
    ...connectionOptions,
  },
  examples: [
    `svc query demo "SELECT FROM Artist LIMIT 5"`,
    `svc query demo "SELECT FROM Artist WHERE name = :name" --param name='"Ada"' --format csv`,
  ],
  run: (given, context) => withClient(given, context, client => runQuery(given, context, client)),
};

async function runQuery(given: Arguments, context: RunContext, client: Client): Promise<number> {
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
  await printAnswer(answer, stdout, format);
  if (format === 'table' && planOf(answer) === undefined) {
    await print(stdout, `${countOf(answer)}\n`);
  }
  if (answer.truncated) {
    await print(stderr, `only the first ${answer.result.length} rows: give --limit for more\n`);
  }
  return 0;
}

async function statementOf(word: string, context: RunContext): Promise<string> {
  if (word !== '-') return word;
  const chunks: Buffer[] = [];
  for await (const chunk of context.stdin) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString('utf8');
}
