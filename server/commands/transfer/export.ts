/** `svc export`: a database becomes a file of this machine, as of one moment. */
import {createWriteStream, existsSync, renameSync, rmSync} from 'node:fs';
import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import type {Client} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {type Arguments, type Command, CommandError, print, type RunContext} from '../command.ts';
import {connectionOptions, withClient} from '../connection.ts';

export const exportCommand: Command = {
  name: 'export',
  says: 'writes a database into a .tgz of JSON Lines, GraphML or GraphSON',
  arguments: [
    {name: 'DATABASE', says: 'which'},
    {name: 'FILE', says: 'of this machine (default: DATABASE.FORMAT.tgz)', count: 'optional'},
  ],
  options: {
    format: {value: 'FORMAT', says: 'jsonl (default), graphml or graphson'},
    overwrite: {says: 'there may be such a file, which goes'},
    json: {says: 'print the answer as JSON'},
    ...connectionOptions,
  },
  examples: ['svc export demo', 'svc export demo graph.tgz --format graphml'],
  run: (given, context) => withClient(given, context, client => runExport(given, context, client)),
};

async function runExport(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const format = given.value('format') ?? 'jsonl';
  const [database = '', file = `${database}.${format}.tgz`] = given.positional;
  if (existsSync(file) && !given.has('overwrite')) {
    throw new CommandError(`there is a file ${file}: give another name, or --overwrite`);
  }
  const part = `${file}.part`;
  try {
    let bytes = 0;
    const counted = async function* (): AsyncGenerator<Buffer> {
      for await (const piece of client.exportFile(database, format)) {
        bytes += piece.length;
        yield piece;
      }
    };
    await pipeline(Readable.from(counted()), createWriteStream(part, {mode: 0o600}));
    renameSync(part, file);
    const told = given.has('json') ? printJson({file, bytes}) : `${file}, ${bytes} bytes`;
    await print(context.stdout, `${told}\n`);
    return 0;
  } finally {
    rmSync(part, {force: true});
  }
}
