/**
 * `svc console`: statements typed by a person, or piped by a program, to one server.
 *
 * On a terminal it edits lines, remembers, completes and asks (console/terminal.ts); without one
 * it carries out what it is given and stops at the first failure (console/script.ts). Both speak
 * through one `ConsoleSession`.
 */
import type {Client} from '#server/client/client.ts';
import type {Arguments, Command, RunContext} from './command.ts';
import {connectionOptions, withClient} from './connection.ts';
import {ConsoleSession} from './console/console-session.ts';
import {linesOf, runScript} from './console/script.ts';
import {runTerminal} from './console/terminal.ts';
import {formatOf, limitOf, paramsOf, statementOptions} from './statement.ts';

/** Rows that a person is shown at once; `:limit` and `--limit` say otherwise. */
const terminalRows = 100;

export const consoleCommand: Command = {
  name: 'console',
  says: 'takes statements line by line, from a person or from a pipe',
  arguments: [{name: 'DATABASE', says: 'the database to begin with', count: 'optional'}],
  options: {
    execute: {
      short: 'e',
      value: 'STATEMENT',
      repeated: true,
      says: 'run this and end, instead of reading from standard input',
    },
    ...statementOptions,
    limit: {
      value: 'N',
      says: `rows at most; -1 for no limit (default ${terminalRows} on a terminal)`,
    },
    ...connectionOptions,
  },
  examples: [
    'svc console demo',
    `svc console demo -e 'SELECT FROM Artist LIMIT 5' --format csv`,
    'svc console demo --language cypher < statements.cypher',
  ],
  run: (given, context) => withClient(given, context, client => runConsole(given, context, client)),
};

async function runConsole(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const {stdin, stdout, stderr, environment} = context;
  const statements = given.values('execute');
  const isInteractive = statements.length === 0 && stdin.isTTY === true && stdout.isTTY === true;
  const session = new ConsoleSession({
    client,
    output: stdout,
    errors: stderr,
    isInteractive,
    format: formatOf(given, context),
    limit: limitOf(given.value('limit')) ?? (isInteractive ? terminalRows : undefined),
    params: paramsOf(given.values('param')) ?? {},
  });
  const [database] = given.positional;
  if (database !== undefined) await session.use(database);
  await session.speak(given.value('language') ?? 'sql');
  if (isInteractive) return runTerminal({session, input: stdin, output: stdout, environment});
  const sources =
    statements.length === 0 ? [linesOf(stdin)] : statements.map(text => text.split('\n'));
  return runScript(session, sources, stderr);
}
