/**
 * The server commands about backups (docs/backup.md): the schedule, archives, and the way back.
 *
 * `restore backup` and `trigger backup` take what they need beside their words from the fields of
 * the request: a key of encryption belongs into no command that is written into a log.
 */
import {Refusal} from '#server/base/errors.ts';
import {passwordIn, readBackupOptions} from '#server/backup/backup-options.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import type {RestoreProgress} from '#server/backup/restores.ts';
import {jsonText} from '#server/model/json.ts';
import {booleanField} from '../message/json-body.ts';
import {answerEvents, type TellProgress, wantsEvents} from '../message/event-stream.ts';
import {
  answered,
  type CommandCall,
  invalidCommand,
  splitWord,
  WholeAnswer,
} from './command-call.ts';

const restoreSyntax = 'restore backup <database> <file> [as <target>]';
const ownFields = new Set(['command', 'wait', 'overwrite', 'verify']);

export function backupConfiguration(call: CommandCall): WholeAnswer {
  return new WholeAnswer({result: 'ok', ...backupsIn(call).configuration()});
}

export function setBackupConfiguration(call: CommandCall): void {
  const config = call.body.get('config');
  if (config === undefined) throw new Refusal('argument', "The field 'config' is missing");
  // Numbers as the document has them, and `null` as what it says.
  backupsIn(call).setConfiguration(JSON.parse(jsonText(config)));
}

export function listBackups(call: CommandCall): WholeAnswer {
  const [database, more] = splitWord(call.rest);
  if (database === '' || more !== '') throw invalidCommand('list backups <database>');
  return new WholeAnswer({result: 'ok', ...backupsIn(call).list(database)});
}

export async function triggerBackup(call: CommandCall): Promise<WholeAnswer> {
  const [database, more] = splitWord(call.rest);
  if (database === '' || more !== '') throw invalidCommand('trigger backup <database>');
  const options = readBackupOptions(optionsIn(call));
  const {path, fileName, bytes} = await backupsIn(call).make(database, options);
  return new WholeAnswer({result: 'ok', backupFile: path, fileName, size: bytes});
}

export function deleteBackup(call: CommandCall): void {
  const [database, fileName] = splitWord(call.rest);
  if (fileName === '') throw invalidCommand('delete backup <database> <file>');
  backupsIn(call).remove(database, fileName);
}

/** `verify: true` reads all of the archive and changes nothing. */
export async function restoreBackup(call: CommandCall): Promise<WholeAnswer | typeof answered> {
  const request = restoreRequest(call);
  const run = async (tell: TellProgress): Promise<Readonly<Record<string, unknown>>> => {
    const backups = backupsIn(call);
    const onStep = stepsTo(tell);
    const {archive, target, overwrite, verifies} = request;
    const {files, ...facts} = verifies
      ? await backups.verify(archive, onStep)
      : await backups.restore(archive, {target, overwrite}, onStep);
    const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
    const message = verifies
      ? `${archive.fileName} is whole: ${files.length} files, ${bytes} bytes`
      : `database '${target}' was restored from ${archive.fileName}`;
    return {message, archive: {...facts, files: files.length, bytes}};
  };
  if (!wantsEvents(call.exchange)) {
    return new WholeAnswer({result: 'ok', ...(await run(() => {}))});
  }
  await answerEvents(call.exchange, run);
  return answered;
}

/** `restore database <name> <url>`: an archive that lies at an address or is a file here. */
export async function restoreDatabase(call: CommandCall): Promise<WholeAnswer | typeof answered> {
  const {exchange, rest, body} = call;
  const [target, address] = splitWord(rest);
  if (address === '') throw invalidCommand('restore database <name> <url>');
  const {exchanges} = exchange.context.options;
  if (exchanges === undefined) throw new Refusal('not-available', 'this server restores nothing');
  const overwrite = booleanField(body, 'overwrite') === true;
  const to = {target, overwrite, password: passwordIn(body)};
  const run = async (tell: TellProgress): Promise<Readonly<Record<string, unknown>>> => {
    const {files, ...facts} = await exchanges.restoreFrom(address, to, stepsTo(tell));
    const message = `database '${target}' was restored from ${address}`;
    return {message, archive: {...facts, files: files.length}};
  };
  if (!wantsEvents(exchange)) return new WholeAnswer({result: 'ok', ...(await run(() => {}))});
  await answerEvents(exchange, run);
  return answered;
}

function restoreRequest({rest, body}: CommandCall) {
  const match = /^(\S+)\s+(\S+)(?:\s+as\s+(.+?))?(\s+overwrite)?$/i.exec(rest);
  const [, database, fileName, target, word] = match ?? [];
  if (database === undefined || fileName === undefined) throw invalidCommand(restoreSyntax);
  const overwrite = booleanField(body, 'overwrite') === true || word !== undefined;
  const password = passwordIn(body);
  const archive = {database, fileName, password};
  return {
    archive,
    target: target ?? database,
    overwrite,
    verifies: booleanField(body, 'verify') === true,
  };
}

function optionsIn({body}: CommandCall): ReadonlyMap<string, unknown> {
  return new Map([...body].filter(([name]) => !ownFields.has(name)));
}

function stepsTo(tell: TellProgress): RestoreProgress {
  return (step, done, total) => {
    const percentage = total > 0 ? {done, total, percentage: Math.floor((100 * done) / total)} : {};
    tell(step, percentage);
  };
}

function backupsIn({exchange}: CommandCall): BackupService {
  const {backups} = exchange.context.options;
  if (backups !== undefined) return backups;
  throw new Refusal('not-available', 'this server makes no backups');
}
