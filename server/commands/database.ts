/** `svc database`: lists, creates, drops, opens, closes and checks databases. */
import type {Client, Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {nearest} from './arguments.ts';
import {type Arguments, type Command, print, type RunContext, UsageError} from './command.ts';
import {connectionOptions, withClient} from './connection.ts';
import {tableOf} from './table.ts';

interface Action {
  /** What is said when it is done; `undefined` when the action prints for itself. */
  readonly done: string;
  readonly run: (client: Client, name: string) => Promise<unknown>;
}

const actions: Readonly<Record<string, Action>> = {
  create: {done: 'created', run: (client, name) => client.createDatabase(name)},
  drop: {done: 'dropped', run: (client, name) => client.dropDatabase(name)},
  open: {done: 'opened', run: (client, name) => client.serverCommand(`open database ${name}`)},
  close: {done: 'closed', run: (client, name) => client.serverCommand(`close database ${name}`)},
};
const words = ['list', ...Object.keys(actions), 'check'];

export const databaseCommand: Command = {
  name: 'database',
  says: 'lists, creates, drops, opens, closes or checks databases',
  arguments: [
    {name: 'ACTION', says: words.join(', ')},
    {name: 'NAME', says: 'the database; none for list', count: 'optional'},
  ],
  options: {
    json: {says: 'print the answer as JSON'},
    fix: {says: 'check: write what follows from what is there'},
    'delete-orphans': {says: 'check --fix: remove what nothing refers to'},
    ...connectionOptions,
  },
  examples: ['svc database list', 'svc database create music', 'svc database check music'],
  run: (given, context) => {
    const [action = '', name] = given.positional;
    if (!words.includes(action)) {
      const near = nearest(action, words);
      const hint =
        near === undefined ? `choose one of ${words.join(', ')}` : `did you mean ${near}?`;
      throw new UsageError(`there is no action '${action}': ${hint}`);
    }
    if (action === 'list' && name !== undefined) {
      throw new UsageError(`the action list takes no NAME, but '${name}' is given`);
    }
    if (action !== 'list' && name === undefined) {
      throw new UsageError(`NAME is missing: which database shall it ${action}?`);
    }
    const json = given.has('json');
    const repairs = repairsOf(given, action);
    return withClient(given, context, client => {
      if (action === 'list') return list(client, context, json);
      if (action === 'check') return check(client, context, {name: name ?? '', json, repairs});
      return act(client, context, {action, name: name ?? '', json});
    });
  },
};

async function list(client: Client, context: RunContext, json: boolean): Promise<number> {
  const names = await client.databases();
  await print(
    context.stdout,
    json ? `${printJson(names)}\n` : names.map(name => `${name}\n`).join(''),
  );
  return 0;
}

async function act(
  client: Client,
  context: RunContext,
  what: {action: string; name: string; json: boolean},
): Promise<number> {
  const {action, name, json} = what;
  const {done, run} = actions[action] ?? {};
  await run?.(client, name);
  const said = json ? printJson({database: name, [done ?? '']: true}) : `${done} database ${name}`;
  await print(context.stdout, `${said}\n`);
  return 0;
}

/** The words of CHECK DATABASE that the options stand for. */
function repairsOf(given: Arguments, action: string): string {
  const [fix, orphans] = [given.has('fix'), given.has('delete-orphans')];
  if (action !== 'check' && (fix || orphans)) {
    throw new UsageError(`--${fix ? 'fix' : 'delete-orphans'} belongs to the action check`);
  }
  if (orphans && !fix) throw new UsageError('--delete-orphans removes records: give --fix as well');
  return `${fix ? ' FIX' : ''}${orphans ? ' DELETE ORPHANS' : ''}`;
}

/** Prints the findings and their number; exit code 1 when an error is left. */
async function check(
  client: Client,
  context: RunContext,
  what: {name: string; json: boolean; repairs: string},
): Promise<number> {
  const {name, json, repairs} = what;
  const {result} = await client.command(name, `CHECK DATABASE${repairs}`);
  const [row = {}] = result;
  const [errors, warnings, mended] = ['totalErrors', 'totalWarnings', 'autoFix'].map(key =>
    Number(row[key] ?? 0),
  ) as [number, number, number];
  const findings = Array.isArray(row['findings']) ? (row['findings'] as Row[]) : [];
  const text = json
    ? `${printJson(result)}\n`
    : `${tableOf(findings, context.stdout.columns ?? 160)}` +
      `checked ${String(row['totalActiveRecords'])} records of ${name}: ${errors} errors, ` +
      `${mended} of them mended, ${warnings} warnings\n`;
  await print(context.stdout, text);
  return errors > mended ? 1 : 0;
}
