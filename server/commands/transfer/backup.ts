/**
 * `svc backup`: makes, lists and deletes archives of a database on its server, and shows or sets
 * when they are made by themselves.
 */
import {readFileSync} from 'node:fs';
import {reasonOf} from '#server/base/errors.ts';
import type {Client, Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {
  type Arguments,
  type Command,
  CommandError,
  type OptionRow,
  print,
  type RunContext,
  UsageError,
} from '../command.ts';
import {connectionOptions, withClient} from '../connection.ts';
import {nearest} from '../arguments.ts';
import {StatusLine} from '../progress.ts';

/** The key of an archive, given without an argument that other users of the machine could read. */
export const keyOptions = {
  'key-file': {value: 'FILE', says: 'holds the encryptionKey of the archive; else SVC_BACKUP_KEY'},
} as const satisfies Record<string, OptionRow>;

interface Action {
  readonly says: string;
  readonly options: readonly string[];
  readonly database: 'needed' | 'none';
  readonly file?: true;
  readonly run: (call: Call) => Promise<{readonly answer: Row; readonly told: string}>;
}

interface Call {
  readonly client: Client;
  readonly given: Arguments;
  readonly context: RunContext;
  readonly database: string;
  readonly file: string;
}

const progressMillis = 500;

const actions: Readonly<Record<string, Action>> = {
  run: {says: 'makes one now', options: ['level', 'max-mb', 'key-file'], database: 'needed', run},
  list: {says: 'shows what there is', options: [], database: 'needed', run: list},
  delete: {
    says: 'removes the archive FILE',
    options: [],
    database: 'needed',
    file: true,
    run: async ({client, database, file}) => ({
      answer: await client.serverCommand(`delete backup ${database} ${file}`),
      told: `deleted ${file}\n`,
    }),
  },
  config: {says: 'shows the schedule, or sets it', options: ['set'], database: 'none', run: config},
};
const words = Object.keys(actions);
const ownOptions = ['level', 'max-mb', 'key-file', 'set'];

export const backupCommand: Command = {
  name: 'backup',
  says: 'makes, lists and deletes backups of a database, and schedules them',
  arguments: [
    {name: 'ACTION', says: words.map(word => `${word} (${actions[word]?.says})`).join(', ')},
    {name: 'DATABASE', says: 'the database; none for config', count: 'optional'},
    {name: 'FILE', says: 'the archive, as list names it', count: 'optional'},
  ],
  options: {
    json: {says: 'print the answer as JSON'},
    level: {value: 'N', says: 'run: 0 stores, 1 to 9 compress (default 1)'},
    'max-mb': {value: 'N', says: 'run: megabytes of the database a second at most'},
    set: {value: 'FILE', says: 'config: put this backup.json into force; - is standard input'},
    ...keyOptions,
    ...connectionOptions,
  },
  examples: ['svc backup run demo', 'svc backup list demo', 'svc backup config --set backup.json'],
  run: (given, context) => withClient(given, context, client => perform(given, context, client)),
};

/** Undefined: the archive is not encrypted. */
export function keyOf(given: Arguments, context: RunContext): string | undefined {
  const file = given.value('key-file');
  if (file === undefined) return context.environment['SVC_BACKUP_KEY'];
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CommandError(`cannot read the key file ${file}: ${reasonOf(error)}`);
  }
}

async function perform(given: Arguments, context: RunContext, client: Client): Promise<number> {
  const [word = '', database, file, ...more] = given.positional;
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (action === undefined) {
    const near = nearest(word, words);
    const hint = near === undefined ? `choose one of ${words.join(', ')}` : `did you mean ${near}?`;
    throw new UsageError(`there is no action '${word}': ${hint}`);
  }
  const stray = ownOptions.find(option => given.has(option) && !action.options.includes(option));
  if (stray !== undefined) throw new UsageError(`--${stray} does not belong to ${word}`);
  const isNeeded = action.database === 'needed';
  if (isNeeded !== (database !== undefined)) {
    throw new UsageError(isNeeded ? 'DATABASE is missing' : `${word} takes no DATABASE`);
  }
  if ((action.file === true) !== (file !== undefined) || more.length > 0) {
    throw new UsageError(action.file === true ? 'FILE is missing' : `${word} takes no FILE`);
  }
  const call = {client, given, context, database: database ?? '', file: file ?? ''};
  const {answer, told} = await action.run(call);
  await print(context.stdout, given.has('json') ? `${printJson(answer, 2)}\n` : told);
  return 0;
}

async function run({client, given, context, database}: Call) {
  const key = keyOf(given, context);
  const fields = {
    ...numberField(given, 'level', 'compressionLevel'),
    ...numberField(given, 'max-mb', 'maxMBPerSecond'),
    ...(key === undefined ? {} : {encryptionKey: key}),
  };
  const making = client.serverCommand(`trigger backup ${database}`, fields);
  const answer = await watched(client, database, making, context);
  const told = `${String(answer['path'])}, ${String(answer['size'])} bytes\n`;
  return {answer, told};
}

/** Shows how far the server is until `work` has ended. */
async function watched(
  client: Client,
  database: string,
  work: Promise<Row>,
  context: RunContext,
): Promise<Row> {
  const line = new StatusLine(context.stderr);
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  work.then(end, end);
  const look = async (): Promise<void> => {
    if (isDone) return;
    // What cannot be shown does not stop the work.
    const works = await client.progress(database).catch((): readonly Row[] => []);
    const found = works.find(({operation}) => operation === 'backup');
    if (found !== undefined) line.show(() => `backup of ${database}: ${percentOf(found)}`);
  };
  const timer = setInterval(() => void look(), progressMillis);
  try {
    return await work;
  } finally {
    clearInterval(timer);
    line.end();
  }
}

export function percentOf({percentage}: Row): string {
  return typeof percentage === 'number' && percentage >= 0 ? `${percentage} %` : 'begun';
}

async function list({client, database}: Call) {
  const answer = await client.serverCommand(`list backups ${database}`);
  const rows = (answer['backups'] as readonly Row[]).map(({fileName, size, timestamp}) => {
    const moment = typeof timestamp === 'string' ? timestamp : '';
    return `${String(fileName)}  ${String(size).padStart(14)}  ${moment}\n`;
  });
  const total = `${String(answer['totalCount'])} archives, ${String(answer['totalSize'])} bytes\n`;
  return {answer, told: rows.join('') + total};
}

async function config({client, given, context}: Call) {
  const file = given.value('set');
  if (file !== undefined) {
    const document = parsed(file, await textOf(file, context));
    const answer = await client.serverCommand('set backup config', {config: document});
    return {answer, told: 'the schedule is in force\n'};
  }
  const answer = await client.serverCommand('get backup config');
  return {answer, told: `${printJson(answer, 2)}\n`};
}

async function textOf(file: string, context: RunContext): Promise<string> {
  try {
    if (file !== '-') return readFileSync(file, 'utf8');
    const parts: Buffer[] = [];
    for await (const part of context.stdin as AsyncIterable<Buffer>) parts.push(Buffer.from(part));
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${reasonOf(error)}`);
  }
}

function parsed(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandError(`${file} is no JSON: ${reasonOf(error)}`);
  }
}

function numberField(given: Arguments, option: string, field: string): Row {
  const text = given.value(option);
  if (text === undefined) return {};
  if (text.trim() !== '' && Number.isFinite(Number(text))) return {[field]: Number(text)};
  throw new UsageError(`--${option} is a number, not '${text}'`);
}
