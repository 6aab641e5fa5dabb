/** `svc database`: lists, creates, drops, opens, closes and checks databases. */
import type {Client} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {nearest} from './arguments.ts';
import {type Command, print, type RunContext, UsageError} from './command.ts';
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
  options: {json: {says: 'print the answer as JSON'}, ...connectionOptions},
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
    return withClient(given, context, client => {
      if (action === 'list') return list(client, context, json);
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
  if (action === 'check') return check(client, context, {name, json});
  const {done, run} = actions[action] ?? {};
  await run?.(client, name);
  const said = json ? printJson({database: name, [done ?? '']: true}) : `${done} database ${name}`;
  await print(context.stdout, `${said}\n`);
  return 0;
}

/** Prints the findings; exit code 1 when the server counts an error. */
async function check(
  client: Client,
  context: RunContext,
  what: {name: string; json: boolean},
): Promise<number> {
  const {result} = await client.command(what.name, 'CHECK DATABASE');
  const lines = result.flatMap(row =>
    Object.entries(row).map(([finding, value]) => ({finding, value})),
  );
  const text = what.json ? `${printJson(result)}\n` : tableOf(lines, context.stdout.columns ?? 120);
  await print(context.stdout, text);
  const errors = result.reduce((sum, row) => sum + Number(row['totalErrors'] ?? 0), 0);
  return errors > 0 ? 1 : 0;
}
