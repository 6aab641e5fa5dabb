/**
 * `svc restore`: makes a database of an archive that lies on the server, in the place of another
 * one only with `--overwrite`; or reads all of it and changes nothing.
 */
import type {Client, Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {keyOf, keyOptions, percentOf} from './backup.ts';
import {type Arguments, type Command, print, type RunContext, UsageError} from '../command.ts';
import {connectionOptions, withClient} from '../connection.ts';
import {StatusLine} from '../progress.ts';

export const restoreCommand: Command = {
  name: 'restore',
  says: 'restores a database from an archive, or checks that it could be',
  arguments: [
    {name: 'DATABASE', says: 'whose archive it is'},
    {
      name: 'ARCHIVE',
      says: 'its file, as svc backup list names it, latest, or an address or file:// of the server',
    },
  ],
  options: {
    as: {value: 'NAME', says: 'the name of the restored database (default: the same)'},
    overwrite: {says: 'there may be a database of that name, which goes'},
    verify: {says: 'read and check all of the archive, and change nothing'},
    json: {says: 'print the answer as JSON'},
    ...keyOptions,
    ...connectionOptions,
  },
  examples: [
    'svc restore demo latest --verify',
    'svc restore demo latest --as yesterday',
    'svc restore demo demo-backup-20261124-020000000.zip --overwrite',
  ],
  run: (given, context) => withClient(given, context, client => restore(given, context, client)),
};

async function restore(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const [database = '', wished = ''] = given.positional;
  const verify = given.has('verify');
  if (verify && (given.has('overwrite') || given.has('as'))) {
    throw new UsageError('--verify changes nothing: leave --as and --overwrite out');
  }
  const file = wished === 'latest' ? await latest(client, database) : wished;
  const target = given.value('as') ?? database;
  const key = keyOf(given, context);
  const fields = {
    overwrite: given.has('overwrite'),
    verify,
    ...(key === undefined ? {} : {encryptionKey: key}),
  };
  const line = new StatusLine(context.stderr);
  try {
    const isAddress = /^(https?|file):/i.test(file);
    const command = isAddress
      ? `restore database ${target} ${file}`
      : `restore backup ${database} ${file} as ${target}`;
    const answer = await client.longCommand(command, fields, event =>
      line.show(() => `${String(event['message'])}: ${percentOf(event)}`),
    );
    line.end();
    const told = `${String(answer['message'])}\n`;
    await print(context.stdout, given.has('json') ? `${printJson(answer, 2)}\n` : told);
    return 0;
  } finally {
    line.end();
  }
}

async function latest(client: Client, database: string): Promise<string> {
  const {backups} = await client.serverCommand(`list backups ${database}`);
  const [newest] = backups as readonly Row[];
  if (newest !== undefined) return String(newest['fileName']);
  throw new UsageError(`there is no archive of ${database}: svc backup run ${database} makes one`);
}
