/**
 * `svc import`: a file of this machine, or an address or file of the server, becomes records of a
 * database. One that there is not is made, and is there only when everything is in it.
 */
import {createReadStream, existsSync} from 'node:fs';
import {basename} from 'node:path';
import type {Client, Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {type Arguments, type Command, print, type RunContext, UsageError} from '../command.ts';
import {connectionOptions, withClient} from '../connection.ts';
import {StatusLine} from '../progress.ts';

export const importCommand: Command = {
  name: 'import',
  says: 'imports a file of JSON, CSV, XML, GraphML, GraphSON, RDF, Neo4j or OrientDB',
  arguments: [
    {name: 'DATABASE', says: 'into which; one that there is not is made'},
    {name: 'FILE', says: 'a file here, or an address or file:// of the server'},
  ],
  options: {
    probe: {says: 'say what is in it, and change nothing'},
    option: {
      value: 'KEY=VALUE',
      repeated: true,
      says: 'an option of the import, such as rows=vertex or onRowError=skip',
    },
    json: {says: 'print the answer as JSON'},
    ...connectionOptions,
  },
  examples: [
    'svc import shop people.csv --probe',
    'svc import shop people.csv --option rows=vertex --option vertexType=Person',
    'svc import movies https://example.com/movies.graphml.gz',
  ],
  run: (given, context) => withClient(given, context, client => runImport(given, context, client)),
};

async function runImport(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const [database = '', from = ''] = given.positional;
  const options = {...optionsIn(given), ...(given.has('probe') && {probeOnly: 'true'})};
  const isThere = (await client.databases()).includes(database);
  const line = new StatusLine(context.stderr);
  const onProgress = (event: Row): void =>
    line.show(() => `${String(event['message'])}: ${Number(event['parsed'] ?? 0)} records`);
  try {
    const answer = await perform(client, {database, from, options, isThere}, onProgress);
    line.end();
    const isJson = given.has('json') || given.has('probe');
    const told = isJson ? printJson(answer, 2) : String(answer['message']);
    await print(context.stdout, `${told}\n`);
    return 0;
  } finally {
    line.end();
  }
}

interface Order {
  readonly database: string;
  readonly from: string;
  readonly options: Readonly<Record<string, string>>;
  readonly isThere: boolean;
}

async function perform(
  client: Client,
  {database, from, options, isThere}: Order,
  onProgress: (event: Row) => void,
): Promise<Row> {
  if (/^(https?|file):/i.test(from)) {
    if (!isThere) {
      return await client.longCommand(`import database ${database} ${from}`, options, onProgress);
    }
    const settings = Object.entries(options).map(([key, value]) => `${key} = ${quoted(value)}`);
    const words = settings.length === 0 ? '' : ` WITH ${settings.join(', ')}`;
    const {result} = await client.command(database, `IMPORT DATABASE ${quoted(from)}${words}`);
    return {message: `imported into '${database}'`, ...result[0]};
  }
  if (!existsSync(from)) throw new UsageError(`there is no file ${from}`);
  const query = {name: basename(from), ...(!isThere && {new: 'true'}), ...options};
  const body = createReadStream(from, {highWaterMark: 262_144}) as AsyncIterable<Buffer>;
  return await client.importFile(database, body, query, onProgress);
}

function optionsIn(given: Arguments): Record<string, string> {
  const entries = given.values('option').map((word): [string, string] => {
    const at = word.indexOf('=');
    if (at < 1) throw new UsageError(`the option '${word}' is not of the form KEY=VALUE`);
    return [word.slice(0, at), word.slice(at + 1)];
  });
  return Object.fromEntries(entries);
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
