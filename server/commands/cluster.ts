/**
 * `svc cluster`: looks at a cluster, and changes who belongs to it and who leads.
 *
 * Any member may be asked. What only the leader does is sent to it once when the member that was
 * asked says where it is, with the same credentials, and what is printed says so.
 */
import type {Client, Row} from '#server/client/client.ts';
import {printJson} from '#server/client/json-text.ts';
import {ServerError} from '#server/client/server-error.ts';
import {nearest} from './arguments.ts';
import {statusReport, verifyReport} from './cluster-report.ts';
import {
  type Arguments,
  type Command,
  CommandError,
  print,
  type RunContext,
  UsageError,
} from './command.ts';
import {connect, connectionOptions} from './connection.ts';

interface Action {
  /** What TARGET is; absent: there is none. */
  readonly target?: string;
  readonly targetIsOptional?: true;
  /** Options that belong to it. */
  readonly options: readonly string[];
  /** Whether it is the leader's, so that a follower's refusal leads there. */
  readonly leads?: true;
  readonly run: (client: Client, target: string, given: Arguments) => Promise<Row>;
  /** What people read; absent: the sentence of the answer. */
  readonly tell?: (answer: Row, width: number) => string;
  /** What the exit code says of an answer; absent: 0. */
  readonly isBad?: (answer: Row) => boolean;
}

const actions: Readonly<Record<string, Action>> = {
  status: {
    options: ['presence'],
    run: (client, _target, given) =>
      client.cluster('GET', given.has('presence') ? '?presence=true' : ''),
    tell: statusReport,
  },
  add: {
    target: 'HOST:RAFTPORT:HTTPPORT of the server that joins',
    options: ['name', 'priority'],
    leads: true,
    run: (client, address, given) => client.cluster('POST', '/peer', addition(address, given)),
  },
  remove: {
    target: 'the id of the member, as in status',
    options: ['force'],
    leads: true,
    run: (client, id, given) =>
      client.cluster('DELETE', `/peer/${encodeURIComponent(id)}${forced(given)}`),
  },
  transfer: {
    target: 'the id of the member that shall lead',
    targetIsOptional: true,
    options: ['timeout'],
    leads: true,
    run: (client, id, given) => client.cluster('POST', '/leader', succession(id, given)),
  },
  stepdown: {
    options: [],
    leads: true,
    run: client => client.cluster('POST', '/stepdown'),
  },
  leave: {
    options: ['force'],
    run: (client, _target, given) => client.cluster('POST', `/leave${forced(given)}`),
  },
  verify: {
    target: 'the database whose copies are compared',
    options: [],
    run: verified,
    tell: verifyReport,
    isBad: answer => (answer['result'] as Row)['overallStatus'] !== 'ALL_CONSISTENT',
  },
  resync: {
    target: 'the database that this follower takes from the leader',
    options: [],
    run: (client, name) => client.cluster('POST', `/resync/${encodeURIComponent(name)}`),
  },
};
const words = Object.keys(actions);

export const clusterCommand: Command = {
  name: 'cluster',
  says: 'shows the cluster, and changes its members and its leader',
  arguments: [
    {name: 'ACTION', says: words.join(', ')},
    {
      name: 'TARGET',
      says: 'a peer, an address or a database, as the action asks',
      count: 'optional',
    },
  ],
  options: {
    json: {says: 'print the answer as JSON'},
    presence: {says: 'status: ask every member which databases it holds'},
    name: {value: 'NAME', says: 'add: name of the server'},
    priority: {value: 'N', says: 'add: the highest leads (default 0)'},
    timeout: {value: 'SECONDS', says: 'transfer: how long it may take (default 30)'},
    force: {says: 'remove, leave: although too few of the others answer'},
    ...connectionOptions,
  },
  examples: [
    'svc cluster status',
    'svc cluster add db3:2434:2480',
    'svc cluster transfer db2_2434',
    'svc cluster resync music --url http://db3:2480',
  ],
  run: async (given, context) => {
    const [word = '', target] = given.positional;
    const action = actionNamed(word);
    checkTarget(word, action, target);
    checkOptions(word, action, given);
    const {answer, askedAt} = await perform(action, target ?? '', {given, context});
    const width = context.stdout.columns ?? 160;
    const told = action.tell?.(answer, width) ?? `${String(answer['result'])}\n`;
    const note = askedAt === undefined ? '' : `(asked the leader at ${askedAt})\n`;
    await print(context.stdout, given.has('json') ? `${printJson(answer, 2)}\n` : told + note);
    return action.isBad?.(answer) === true ? 1 : 0;
  },
};

/** The answer, and where it was asked for when not at the server that was named. */
async function perform(
  action: Action,
  target: string,
  {given, context}: {readonly given: Arguments; readonly context: RunContext},
): Promise<{readonly answer: Row; readonly askedAt?: string}> {
  const client = await connect(given, context);
  try {
    return {answer: await action.run(client, target, given)};
  } catch (error) {
    const address = action.leads === true ? leaderIn(error) : undefined;
    if (address === undefined) throw error;
    const leader = atAddress(client, address);
    try {
      return {answer: await action.run(leader, target, given), askedAt: address};
    } finally {
      leader.close();
    }
  } finally {
    client.close();
  }
}

/** Only a leader compares; other members tell what they hold themselves. */
async function verified(client: Client, name: string): Promise<Row> {
  const {isLeader, leaderHttpAddress} = await client.cluster('GET', '');
  if (isLeader !== true && typeof leaderHttpAddress !== 'string') {
    throw new CommandError('nobody leads now, and the leader compares the copies: ask again');
  }
  const asked = isLeader === true ? client : atAddress(client, String(leaderHttpAddress));
  try {
    return await asked.cluster('POST', `/verify/${encodeURIComponent(name)}`);
  } finally {
    if (asked !== client) asked.close();
  }
}

function atAddress(client: Client, address: string): Client {
  return client.at(`${new URL(client.url).protocol}//${address}`);
}

/** Where the leader is, as a follower that refused says. */
function leaderIn(error: unknown): string | undefined {
  if (!(error instanceof ServerError) || error.status !== 409) return undefined;
  const address = error.fields['leaderHttpAddress'];
  return typeof address === 'string' ? address : undefined;
}

function actionNamed(word: string): Action {
  const action = Object.hasOwn(actions, word) ? actions[word] : undefined;
  if (action !== undefined) return action;
  const near = nearest(word, words);
  const hint = near === undefined ? `choose one of ${words.join(', ')}` : `did you mean ${near}?`;
  throw new UsageError(`there is no action '${word}': ${hint}`);
}

function checkTarget(word: string, action: Action, target: string | undefined): void {
  if (action.target === undefined && target !== undefined) {
    throw new UsageError(`the action ${word} takes no TARGET, but '${target}' is given`);
  }
  if (action.target !== undefined && target === undefined && action.targetIsOptional !== true) {
    throw new UsageError(`TARGET is missing: ${action.target}`);
  }
}

const ownOptions = ['presence', 'name', 'priority', 'timeout', 'force'];

function checkOptions(word: string, action: Action, given: Arguments): void {
  const stray = ownOptions.find(option => given.has(option) && !action.options.includes(option));
  if (stray === undefined) return;
  const owners = words.filter(name => actions[name]?.options.includes(stray));
  throw new UsageError(`--${stray} belongs to ${owners.join(' and ')}, not to ${word}`);
}

function addition(address: string, given: Arguments): Row {
  const [, host, raftPort] = /^(\[.*\]|[^:]+):(\d+)(?::\d+)?$/.exec(address) ?? [];
  if (host === undefined) {
    throw new CommandError(`'${address}' is no address: give HOST:RAFTPORT:HTTPPORT`);
  }
  const name = given.value('name');
  const priority = numberIn(given, 'priority');
  return {
    peerId: `${host.replace(/^\[|\]$/g, '')}_${raftPort}`,
    address,
    ...(name === undefined ? {} : {name}),
    ...(priority === undefined ? {} : {priority}),
  };
}

function succession(id: string, given: Arguments): Row {
  const seconds = numberIn(given, 'timeout');
  return {
    ...(id === '' ? {} : {peerId: id}),
    ...(seconds === undefined ? {} : {timeoutMs: seconds * 1_000}),
  };
}

function numberIn(given: Arguments, option: string): number | undefined {
  const text = given.value(option);
  if (text === undefined) return undefined;
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`--${option} is a number, not '${text}'`);
  return Number(text);
}

function forced(given: Arguments): string {
  return given.has('force') ? '?force=true' : '';
}
