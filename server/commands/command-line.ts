/**
 * The command line: finds the command, reads its arguments, runs it, and turns whatever goes
 * wrong into one sentence on standard error and an exit code.
 *
 * Exit codes: 0 done, 1 refused or failed, 2 wrong usage. A failure that none of the known kinds
 * explains is a bug and is thrown on, for the process to die of it visibly.
 */
import {printJson} from '#server/client/json-text.ts';
import {ServerError} from '#server/client/server-error.ts';
import {nearest, readArguments} from './arguments.ts';
import {backupCommand} from './transfer/backup.ts';
import {clusterCommand} from './cluster.ts';
import {type Command, print, type RunContext, UsageError} from './command.ts';
import {sentenceOf} from './connection.ts';
import {consoleCommand} from './console.ts';
import {databaseCommand} from './database.ts';
import {commandHelp, generalHelp} from './help.ts';
import {exportCommand} from './transfer/export.ts';
import {importCommand} from './transfer/import.ts';
import {loadCommand} from './load.ts';
import {mcpCommand} from './mcp.ts';
import {queryCommand} from './query.ts';
import {restoreCommand} from './transfer/restore.ts';
import {settingsCommand} from './settings.ts';
import {startCommand} from './start.ts';
import {versionCommand} from './version.ts';

const commands: readonly Command[] = [
  startCommand,
  queryCommand,
  consoleCommand,
  loadCommand,
  databaseCommand,
  backupCommand,
  restoreCommand,
  importCommand,
  exportCommand,
  clusterCommand,
  mcpCommand,
  settingsCommand,
  versionCommand,
];

/** Runs one command line and answers the exit code of the process. */
export async function runCommandLine(context: RunContext): Promise<number> {
  const [word, ...rest] = context.argv;
  if (word === undefined) {
    await print(context.stderr, generalHelp(commands));
    return 2;
  }
  if (word === '--help' || word === '-h' || word === 'help') {
    const asked = commands.find(command => command.name === rest[0]);
    await print(context.stdout, asked === undefined ? generalHelp(commands) : commandHelp(asked));
    return 0;
  }
  const name = word === '--version' ? 'version' : word;
  const command = commands.find(candidate => candidate.name === name);
  if (command === undefined) {
    const near = nearest(
      word,
      commands.map(candidate => candidate.name),
    );
    const hint = near === undefined ? '' : `; did you mean 'svc ${near}'?`;
    return wrongUsage(context, `there is no command '${word}'${hint}`, 'svc --help');
  }
  if (wantsHelp(rest)) {
    await print(context.stdout, commandHelp(command));
    return 0;
  }
  return runCommand(command, rest, context);
}

function wantsHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--');
  const options = end === -1 ? words : words.slice(0, end);
  return options.some(option => option === '--help' || option === '-h');
}

async function runCommand(
  command: Command,
  words: readonly string[],
  context: RunContext,
): Promise<number> {
  try {
    return await command.run(readArguments(command, words), context);
  } catch (error) {
    if (error instanceof UsageError) {
      return wrongUsage(context, `${command.name}: ${error.message}`, `svc ${command.name} --help`);
    }
    const said = sentenceOf(error);
    if (said === undefined) throw error;
    const json = words.includes('--json') && error instanceof ServerError;
    const text = json ? printJson(machineError(error)) : `svc ${command.name}: ${said}`;
    await print(context.stderr, `${text}\n`);
    return 1;
  }
}

async function wrongUsage(context: RunContext, what: string, see: string): Promise<number> {
  await print(context.stderr, `svc: ${what} (see '${see}')\n`);
  return 2;
}

function machineError(error: ServerError): Record<string, unknown> {
  const {status, exception, exceptionArgs, detail, requestId} = error;
  return {error: error.error, status, exception, exceptionArgs, detail, requestId};
}
