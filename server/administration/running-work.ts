/**
 * Commands about running work: they list and end statements and open transactions. Any user may
 * give them; root sees everything, others their own.
 */
import type {ScheduledJob} from '#server/schedule/scheduler.ts';
import type {RunningQuery, RunningTransaction} from '#server/session/session.ts';
import {argument, optional} from './arguments.ts';
import {type AdministrationCall, command} from './command.ts';

/** What became of work that was told to stop. */
interface Termination {
  readonly id: string;
  readonly status: 'terminated' | 'terminating' | 'not found';
}

const pollMs = 10;
const waitMsDefault = 5_000;
const waitMsMax = 10_000;
const wait = optional(
  'integer',
  `milliseconds to wait for its end; ${waitMsDefault} by default, at most ${waitMsMax}`,
);
const ended = '`terminated`, `terminating` when it is still there, or `not found`';

export const runningWorkCommands = {
  listQueries: command({
    words: 'list queries [database <database>] [tag <tag...>]',
    right: 'user',
    at: 'asked',
    changes: false,
    arguments: {
      database: optional('text', 'only those in it'),
      tag: optional('text', 'only those that carry it'),
    },
    says: 'Lists the statements that run on this server.',
    answer: 'a row for each statement',
    refusals: [],
    run: ({parts, principal}, {database, tag}) => {
      const server = parts.administration.identity.serverName;
      return parts.service
        .queries(principal)
        .filter(query => database === undefined || query.database === database)
        .filter(query => tag === undefined || query.tag === tag)
        .map(query => row(query, server));
    },
  }),
  terminateQuery: command({
    words: 'terminate query <id>',
    right: 'user',
    at: 'asked',
    changes: true,
    arguments: {id: argument('text', 'id from the list'), wait},
    says: 'Tells a statement to stop and waits for it.',
    answer: `its id and status: ${ended}`,
    refusals: [],
    run: (call, {id, wait}) => terminate(call, id, wait),
  }),
  terminateQueries: command({
    words: 'terminate queries tag <tag...>',
    right: 'user',
    at: 'asked',
    changes: true,
    arguments: {tag: argument('text', 'the tag that they carry'), wait},
    says: 'Tells all statements with a tag to stop and waits for them.',
    answer: `id and status of each: ${ended}`,
    refusals: [],
    run(call, {tag, wait}) {
      const queries = call.parts.service.queries(call.principal);
      const tagged = queries.filter(query => query.tag === tag);
      return Promise.all(tagged.map(({id}) => terminate(call, id, wait)));
    },
  }),
  listTransactions: command({
    words: 'list transactions',
    right: 'user',
    at: 'leader',
    changes: false,
    arguments: {},
    says: 'Lists open transactions.',
    answer: 'a row for each transaction',
    refusals: [],
    run({parts, principal}) {
      const server = parts.administration.identity.serverName;
      return parts.service.transactions(principal).map(transaction => ({
        id: transaction.id,
        user: transaction.user,
        database: transaction.database,
        idleMs: transaction.idleMs,
        busy: transaction.busy,
        runningQueries: transaction.queryIds,
        server,
        ...told(transaction),
      }));
    },
  }),
  terminateTransaction: command({
    words: 'terminate transaction <id>',
    right: 'user',
    at: 'leader',
    changes: true,
    arguments: {id: argument('text', 'session id from the list')},
    says: 'Rolls an open transaction back.',
    answer: 'its id and status: `terminated` or `not found`',
    refusals: [],
    async run({parts, principal}, {id}): Promise<Termination> {
      const ended = await parts.service.terminateTransaction(principal, id);
      return {id, status: ended ? 'terminated' : 'not found'};
    },
  }),
  listJobs: command({
    words: 'list jobs',
    right: 'root',
    at: 'leader',
    changes: false,
    arguments: {},
    says: 'Lists what is done by the clock: backups that are scheduled, views that refresh.',
    answer:
      'a row for each, those that are due first in front: `kind` (`backup`, `view`), `database`, ' +
      '`name` of a view, `next` (null: never), `running`, `runsHere`, and `last`, what became of ' +
      'it on this server: `at`, `outcome` (`completed`, `failed`, `skipped`, `missed`), ' +
      '`elapsedMs`, `detail`',
    refusals: [],
    run: ({parts}) => parts.scheduler?.list().map(jobRow) ?? [],
  }),
};

function jobRow({kind, database, name, next, isRunning, runsHere, last}: ScheduledJob) {
  return {
    kind,
    database,
    ...(name === undefined ? {} : {name}),
    next: next === undefined ? null : timeText(next),
    running: isRunning,
    runsHere,
    last: last === undefined ? null : {...last, at: timeText(last.at)},
  };
}

function timeText(at: number): string {
  return new Date(at).toISOString();
}

async function terminate(
  {parts, principal}: AdministrationCall,
  id: string,
  wait: number = waitMsDefault,
): Promise<Termination> {
  const {service, clock, timers} = parts;
  if (!service.terminateQuery(principal, id)) return {id, status: 'not found'};
  const deadline = clock.monotonic() + Math.min(wait, waitMsMax);
  for (;;) {
    if (!service.queries(principal).some(query => query.id === id)) {
      return {id, status: 'terminated'};
    }
    if (clock.monotonic() >= deadline) return {id, status: 'terminating'};
    await new Promise<void>(resolve => timers.after(pollMs, resolve));
  }
}

function row(query: RunningQuery, server: string) {
  const {id, database, user, protocol, language, text, startedAt, elapsedMs} = query;
  return {
    id,
    database,
    user,
    protocol,
    language,
    text,
    startedAt,
    elapsedMs,
    terminating: false,
    server,
    ...told(query),
  };
}

/** What the client says of itself, where it does. */
function told({tag, clientName}: Pick<RunningTransaction, 'tag' | 'clientName'>) {
  return {
    ...(tag === undefined ? {} : {tag}),
    ...(clientName === undefined ? {} : {clientName}),
  };
}
