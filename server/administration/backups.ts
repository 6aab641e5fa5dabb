/**
 * Commands about whole databases: backups and their schedule, restores, imports, exports.
 *
 * Keys of encryption come beside the words: a command may stand in a log.
 */
import {Refusal} from '#server/base/errors.ts';
import {passwordIn, readBackupOptions} from '#server/backup/backup-options.ts';
import type {ArchiveManifest} from '#server/backup/archive-manifest.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import type {RestoreProgress} from '#server/backup/restores.ts';
import type {
  ExchangeService,
  ImportAnswer,
  ImportRequest,
} from '#server/exchange/exchange-service.ts';
import {argument, type ArgumentsOf, optional, secret} from './arguments.ts';
import {type AdministrationCall, type AdministrationParts, command} from './command.ts';

const database = argument('text', 'name of the database');
const fileName = argument('text', 'plain name of the archive');
const overwrite = optional('flag', 'whether a database of that name is replaced');
const options = optional('options', 'options by name (docs/import-export.md)');
const verify = optional('flag', 'reads all of the archive and changes nothing');
const encryption = {
  encryptionAlgorithm: optional('text', 'how the archive is encrypted (docs/backup.md)'),
  encryptionKey: secret(optional('text', 'the key of an encrypted archive')),
};
/** A `verify` that is written wrongly would restore. */
const others = optional('options', 'whatever has another name: it is refused');

export const backupCommands = {
  getBackupConfig: command({
    words: 'get backup config',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {},
    says: 'Gives the configuration of scheduled backups.',
    answer: '`enabled`, `backupDirectory`, `config` as the file has it, `message`',
    refusals: ['not-available'],
    isFields: true,
    run: ({parts}) => ({...backupsIn(parts).configuration()}),
  }),
  setBackupConfig: command({
    words: 'set backup config',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      config: argument('document', 'the configuration', "The field 'config' is missing"),
    },
    says: 'Writes the configuration of scheduled backups, which counts at once on every server.',
    answer: 'nothing',
    refusals: ['argument', 'not-available'],
    run: ({parts}, {config}) => backupsIn(parts).setConfiguration(config),
  }),
  listBackups: command({
    words: 'list backups <database>',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {database},
    says: 'Lists the archives of a database.',
    answer: '`database`, `backups`, `totalSize`, `totalCount`',
    refusals: ['not-available'],
    isWhole: true,
    run: ({parts}, {database}) => ({...backupsIn(parts).list(database)}),
  }),
  listArchivedDatabases: command({
    words: 'list archived databases',
    right: 'root',
    at: 'asked',
    changes: false,
    arguments: {},
    says: 'Lists the databases that have archives, whether they are there or not.',
    answer: '`databases`',
    refusals: ['not-available'],
    isFields: true,
    run: ({parts}) => ({databases: backupsIn(parts).databasesWithArchives()}),
  }),
  triggerBackup: command({
    words: 'trigger backup <database>',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {database, options: optional('options', 'options by name (docs/backup.md)')},
    says: 'Makes an archive of a database and waits for it.',
    answer: '`backupFile` and `fileName` (the name of the archive), `path`, `size`',
    refusals: ['argument', 'backup.running', 'database.missing', 'not-available'],
    isFields: true,
    async run({parts}, {database, options = new Map<string, unknown>()}) {
      const made = await backupsIn(parts).make(database, readBackupOptions(options));
      const {fileName, path, bytes: size} = made;
      return {backupFile: fileName, fileName, path, size};
    },
  }),
  deleteBackup: command({
    words: 'delete backup <database> <fileName>',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {database, fileName},
    says: 'Removes an archive of a database.',
    answer: 'nothing',
    refusals: ['argument', 'not-available'],
    run: ({parts}, {database, fileName}) => backupsIn(parts).remove(database, fileName),
  }),
  restoreBackup: command({
    words: 'restore backup <database> <fileName> [as <target>] [overwrite]',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      database,
      fileName,
      target: optional('text', 'name of the restored database; that of the archive by default'),
      overwrite,
      verify,
      ...encryption,
      others,
    },
    says: 'Makes a database of an archive, or replaces one by it.',
    answer: '`message` and what is in the `archive`',
    refusals: ['argument', 'backup.archive', 'database.exists', 'not-available'],
    isFields: true,
    isLong: true,
    run: restoreArchive,
  }),
  restoreDatabase: command({
    words: 'restore database <target> <url...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {
      target: argument('text', 'name of the database'),
      url: argument('text', 'address of the archive, or its name in the backup directory'),
      overwrite,
      verify,
      ...encryption,
      others,
    },
    says: 'Makes a database of an archive that lies at an address.',
    answer: '`message` and what is in the `archive`',
    refusals: ['argument', 'backup.archive', 'database.exists', 'not-available'],
    isFields: true,
    isLong: true,
    async run(call, {target, url, overwrite = false, verify = false, others, ...keys}) {
      refuseOthers(others, ['overwrite', 'verify']);
      const exchanges = exchangesIn(call.parts);
      const onStep = stepsTo(call);
      const password = passwordOf(keys);
      const manifest = verify
        ? await exchanges.verifyFrom(url, password, onStep)
        : await exchanges.restoreFrom(url, {target, overwrite, password}, onStep);
      return restoredFields(manifest, {from: url, target: verify ? undefined : target});
    },
  }),
  importDatabase: command({
    words: 'import database <database> <url...>',
    right: 'root',
    at: 'leader',
    changes: true,
    arguments: {database, url: argument('text', 'address of the file'), options},
    says: 'Makes a database of a file; it is there only when all of the file is in it.',
    answer: '`message` and what was imported',
    refusals: ['argument', 'database.exists', 'not-available'],
    isFields: true,
    isLong: true,
    run: (call, {database, url, options = new Map()}) =>
      importFile(call, database, {request: {from: url, options}, isNew: true}),
  }),
  exportDatabase: command({
    words: 'export database <database> [<file...>]',
    right: 'root',
    at: 'asked',
    changes: true,
    arguments: {database, file: optional('text', 'name of the file in `exports/`'), options},
    says: 'Writes a database into a file of the server.',
    answer: '`path`, `bytes` and what was written',
    refusals: ['argument', 'database.not-found', 'not-available'],
    isFields: true,
    run: async ({parts, principal}, {database, file, options = new Map()}) => ({
      ...(await exchangesIn(parts).export(principal, database, file, options)),
    }),
  }),
};

/**
 * Imports a file into a database, and tells how far it is.
 *
 * @param isNew - Makes the database.
 */
export async function importFile(
  {parts, principal, tell}: AdministrationCall,
  database: string,
  {request, isNew}: {readonly request: ImportRequest; readonly isNew: boolean},
): Promise<Readonly<Record<string, unknown>>> {
  const exchanges = exchangesIn(parts);
  const who = parts.security.current(principal);
  const onProgress = (progress: object): void => tell('importing', {...progress});
  const answer = isNew
    ? await exchanges.importNew(who, database, request, onProgress)
    : await exchanges.import(who, database, request, onProgress);
  return importFields(database, answer);
}

function importFields(database: string, answer: ImportAnswer): Readonly<Record<string, unknown>> {
  const {kind, ...fields} = answer;
  if (kind === 'probed') {
    return {message: `${answer.format}, ${answer.entries} entries looked at`, ...fields};
  }
  const {documents, vertices, edges, skipped} = answer;
  const counts = `${documents} documents, ${vertices} vertices and ${edges} edges`;
  const left = skipped === 0 ? '' : `, ${skipped} records skipped`;
  return {message: `imported ${counts} into '${database}'${left}`, ...fields};
}

async function restoreArchive(
  call: AdministrationCall,
  given: {
    readonly database: string;
    readonly fileName: string;
    readonly target: string | undefined;
    readonly overwrite: boolean | undefined;
    readonly verify: boolean | undefined;
    readonly others: ReadonlyMap<string, unknown> | undefined;
  } & ArgumentsOf<typeof encryption>,
) {
  const {database, fileName, target = database, overwrite = false, verify = false} = given;
  refuseOthers(given.others, ['target', 'overwrite', 'verify']);
  const backups = backupsIn(call.parts);
  const archive = {database, fileName, password: passwordOf(given)};
  const onStep = stepsTo(call);
  const manifest = verify
    ? await backups.verify(archive, onStep)
    : await backups.restore(archive, {target, overwrite}, onStep);
  return restoredFields(manifest, {from: fileName, target: verify ? undefined : target});
}

/** @param place - `target` undefined: the archive was only read. */
function restoredFields(
  {files, ...facts}: ArchiveManifest,
  {from, target}: {readonly from: string; readonly target: string | undefined},
): Readonly<Record<string, unknown>> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const message =
    target === undefined
      ? `${from} is whole: ${files.length} files, ${bytes} bytes`
      : `database '${target}' was restored from ${from}`;
  return {message, archive: {...facts, files: files.length, bytes}};
}

/** @throws {Refusal} `argument`, naming an option that is none of the known ones. */
function refuseOthers(
  given: ReadonlyMap<string, unknown> | undefined,
  names: readonly string[],
): void {
  const [other] = given?.keys() ?? [];
  if (other === undefined) return;
  const known = [...names, ...Object.keys(encryption)].join(', ');
  throw new Refusal('argument', `there is no option '${other}': ${known} are known`);
}

function passwordOf(keys: ArgumentsOf<typeof encryption>): string | undefined {
  const {encryptionAlgorithm, encryptionKey} = keys;
  const given = Object.entries({encryptionAlgorithm, encryptionKey});
  return passwordIn(new Map(given.filter(([, value]) => value !== undefined)));
}

function stepsTo({tell}: AdministrationCall): RestoreProgress {
  return (step, done, total) => {
    const percentage = total > 0 ? {done, total, percentage: Math.floor((100 * done) / total)} : {};
    tell(step, percentage);
  };
}

function backupsIn({backups}: AdministrationParts): BackupService {
  if (backups !== undefined) return backups;
  throw new Refusal('not-available', 'this server makes no backups');
}

/** @throws {Refusal} `not-available`. */
export function exchangesIn({exchanges}: AdministrationParts): ExchangeService {
  if (exchanges !== undefined) return exchanges;
  throw new Refusal('not-available', 'this server imports and exports nothing');
}
