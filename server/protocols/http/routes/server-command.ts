/**
 * POST `/server` `{command}`: one line of words, the keywords in any case (docs/http.md).
 *
 * Every command is a row of one table: its keywords, who may give it, and what it does with the
 * words behind them. What the catalogue has and this server does not yet is refused by name.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {
  backupConfiguration,
  deleteBackup,
  listBackups,
  restoreBackup,
  restoreDatabase,
  setBackupConfiguration,
  triggerBackup,
} from './backup-commands.ts';
import {
  answered,
  type CommandCall,
  invalidCommand,
  splitWord,
  WholeAnswer,
} from './command-call.ts';
import type {Exchange} from '../message/exchange.ts';
import {PlainFailure} from '../message/failure.ts';
import {exportDatabase, importDatabase} from './exchange.ts';
import {integerField} from '../message/json-body.ts';
import {
  listQueries,
  listTransactions,
  terminateQuery,
  terminateTagged,
  terminateTransaction,
} from './running-work.ts';
import {createUserOf} from './users.ts';

/** The value of `result`; undefined stands for "ok". */
type CommandRun = (call: CommandCall) => unknown;

interface ServerCommand {
  readonly keywords: string;
  readonly access: 'user' | 'root';
  /** Only the leader of a cluster can do it; without it, the server that was asked does. */
  readonly at?: 'leader';
  readonly run: CommandRun;
}

const waitMsDefault = 5_000;
const waitMsMax = 10_000;

const commands: readonly ServerCommand[] = [
  user('list databases', call => service(call).databaseNames(call.principal)),
  onLeader(root('create database', createDatabase)),
  onLeader(root('drop database', dropDatabase)),
  root('open database', call => service(call).openDatabase(call.principal, nameIn(call))),
  root('close database', call => service(call).closeDatabase(call.principal, nameIn(call))),
  onLeader(root('create user', call => createUserOf(call.exchange, call.rest))),
  onLeader(root('drop user', call => call.exchange.context.security.dropUser(call.rest))),
  root('set server setting', setServerSetting),
  onLeader(root('set database setting', setDatabaseSetting)),
  root('get server events', serverEvents),
  onLeader(root('align database', alignDatabase)),
  root('shutdown', shutDown),
  root('get backup config', backupConfiguration),
  root('set backup config', setBackupConfiguration),
  root('list backups', listBackups),
  root('trigger backup', triggerBackup),
  root('delete backup', deleteBackup),
  onLeader(root('restore backup', restoreBackup)),
  onLeader(root('restore database', restoreDatabase)),
  onLeader(root('import database', importDatabase)),
  root('export database', exportDatabase),
  user('list queries', listQueries),
  onLeader(user('list transactions', listTransactions)),
  user('terminate queries', terminateTagged),
  user('terminate query', terminateQuery),
  onLeader(user('terminate transaction', terminateTransaction)),
  ...['connect cluster', 'disconnect cluster', 'profiler'].map(keywords =>
    root(keywords, () => notAvailable(keywords)),
  ),
];

/** Handles POST `/server`. */
export async function runServerCommand(exchange: Exchange, principal: Principal): Promise<void> {
  const body = await exchange.jsonBody();
  const text = body?.get('command') ?? undefined;
  if (body === undefined || text === undefined) {
    throw new PlainFailure(400, 'Server command is null');
  }
  const found = typeof text === 'string' ? findCommand(text.trim()) : undefined;
  if (found === undefined) throw invalidCommand();
  const {command, rest} = found;
  if (command.access === 'root' && !principal.root) {
    const message = 'Only root user is authorized to execute server commands';
    throw new Refusal('security.root-only', message);
  }
  const {gateway: membership} = exchange.context;
  if (command.at === 'leader' && (await membership?.forward(exchange, principal))) return;
  const waitMs = Math.min(integerField(body, 'wait') ?? waitMsDefault, waitMsMax);
  const result = await command.run({exchange, principal, rest, waitMs, body});
  if (result === answered) return;
  const isWhole = result instanceof WholeAnswer;
  exchange.answerJson(200, isWhole ? result.fields : {result: result ?? 'ok'});
}

function findCommand(
  text: string,
): {readonly command: ServerCommand; readonly rest: string} | undefined {
  const spaced = text.replaceAll(/[\t\r\n]/g, ' ');
  for (const command of commands) {
    const {keywords} = command;
    const start = spaced.slice(0, keywords.length).toLowerCase();
    if (start !== keywords || !/^( |$)/.test(spaced.slice(keywords.length))) continue;
    return {command, rest: text.slice(keywords.length).trim()};
  }
  return undefined;
}

function user(keywords: string, run: CommandRun): ServerCommand {
  return {keywords, access: 'user', run};
}

function root(keywords: string, run: CommandRun): ServerCommand {
  return {keywords, access: 'root', run};
}

function onLeader(command: ServerCommand): ServerCommand {
  return {...command, at: 'leader'};
}

function service({exchange}: CommandCall): Exchange['context']['service'] {
  return exchange.context.service;
}

function nameIn({rest}: CommandCall): string {
  if (rest === '') throw new Refusal('argument', 'Database name empty');
  return rest;
}

async function createDatabase(call: CommandCall): Promise<void> {
  await service(call).createDatabase(call.principal, nameIn(call));
}

async function dropDatabase(call: CommandCall): Promise<void> {
  const name = nameIn(call);
  try {
    await service(call).dropDatabase(call.principal, name);
  } catch (error) {
    const missing = ['database.missing', 'database.not-found'];
    if (!(error instanceof Refusal) || !missing.includes(error.code)) throw error;
    throw new Refusal('argument', `Database '${name}' does not exist`, {cause: error});
  }
}

function setServerSetting({exchange, rest}: CommandCall): void {
  const [key, value] = splitWord(rest);
  if (value === '') throw new Refusal('argument', 'Expected <key> <value>');
  exchange.context.administration.setServerSetting(key, value);
}

async function setDatabaseSetting({exchange, rest}: CommandCall): Promise<void> {
  const [database, pair] = splitWord(rest);
  const [key, value] = splitWord(pair);
  if (value === '') throw new Refusal('argument', 'Expected <database> <key> <value>');
  await exchange.context.administration.setDatabaseSetting(database, key, value);
}

function serverEvents({exchange, rest}: CommandCall): unknown {
  if (/[/\\]|\.\./.test(rest)) {
    throw new Refusal('user.invalid', `Invalid file name ${rest.slice(0, 80)}`);
  }
  // Events of earlier starts are not kept, so that every named file is an empty one.
  const events = rest === '' ? exchange.context.administration.events() : [];
  return {events, files: []};
}

async function alignDatabase(call: CommandCall): Promise<unknown> {
  const name = nameIn(call);
  if (!service(call).databaseExists(call.principal, name)) {
    throw new Refusal('database.missing', `Database '${name}' does not exist`);
  }
  return await service(call).alignDatabase(call.principal, name);
}

function shutDown({exchange, rest}: CommandCall): void {
  const {administration} = exchange.context;
  if (rest !== '' && rest !== administration.identity.serverName) {
    throw new Refusal('not-available', `No server '${rest}' is known: there is no cluster`);
  }
  administration.shutdown();
}

function notAvailable(keywords: string): never {
  throw new Refusal('not-available', `The server command '${keywords}' is not available yet`);
}
