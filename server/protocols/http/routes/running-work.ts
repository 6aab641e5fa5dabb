/**
 * Server commands about running work: list and end statements and open transactions.
 *
 * Any user may give them; root sees everything, others their own. Ending waits a little for the
 * work to be gone: `terminated`, or `terminating` when it is still there, or `not found`.
 */
import type {RunningQuery} from '#server/session/session.ts';
import {type CommandCall, invalidCommand, splitWord} from './command-call.ts';

interface Termination {
  readonly id: string;
  readonly status: 'terminated' | 'terminating' | 'not found';
}

const pollMs = 10;
const listSyntax = 'list queries [database <name>] [tag <label>]';

export function listQueries({exchange, principal, rest}: CommandCall): unknown {
  const filter = filterOf(rest);
  const server = exchange.context.administration.identity.serverName;
  return exchange.context.service
    .queries(principal)
    .filter(({database}) => filter.database === undefined || database === filter.database)
    .filter(({tag}) => filter.tag === undefined || tag === filter.tag)
    .map(query => row(query, server));
}

export function listTransactions({exchange, principal}: CommandCall): unknown {
  const server = exchange.context.administration.identity.serverName;
  return exchange.context.service.transactions(principal).map(transaction => ({
    id: transaction.id,
    user: transaction.user,
    database: transaction.database,
    idleMs: transaction.idleMs,
    busy: transaction.busy ?? false,
    runningQueries: transaction.queryIds ?? [],
    server,
    ...(transaction.tag === undefined ? {} : {tag: transaction.tag}),
  }));
}

export async function terminateQuery(call: CommandCall): Promise<Termination> {
  if (call.rest === '') throw invalidCommand('terminate query <id>');
  return terminate(call, call.rest);
}

export async function terminateTagged(call: CommandCall): Promise<readonly Termination[]> {
  const [word, tag] = splitWord(call.rest);
  if (word.toLowerCase() !== 'tag' || tag === '') {
    throw invalidCommand('terminate queries tag <label>');
  }
  const {exchange, principal} = call;
  const tagged = exchange.context.service.queries(principal).filter(query => query.tag === tag);
  return Promise.all(tagged.map(({id}) => terminate(call, id)));
}

export async function terminateTransaction({
  exchange,
  principal,
  rest: id,
}: CommandCall): Promise<Termination> {
  if (id === '') throw invalidCommand('terminate transaction <session id>');
  const ended = await exchange.context.service.terminateTransaction(principal, id);
  return {id, status: ended ? 'terminated' : 'not found'};
}

async function terminate(call: CommandCall, id: string): Promise<Termination> {
  const {exchange, principal, waitMs} = call;
  const {service, options} = exchange.context;
  if (!service.terminateQuery(principal, id)) return {id, status: 'not found'};
  const deadline = options.clock.monotonic() + waitMs;
  for (;;) {
    if (!service.queries(principal).some(query => query.id === id)) {
      return {id, status: 'terminated'};
    }
    if (options.clock.monotonic() >= deadline) return {id, status: 'terminating'};
    await new Promise<void>(resolve => options.timers.after(pollMs, resolve));
  }
}

/** @throws {PlainFailure} for words that are no filter. */
function filterOf(words: string): {
  readonly database: string | undefined;
  readonly tag: string | undefined;
} {
  const match = /^(?:database\s+(\S+)\s*)?(?:tag\s+(.+))?$/i.exec(words);
  if (match === null) throw invalidCommand(listSyntax);
  return {database: match[1], tag: match[2]};
}

function row(query: RunningQuery, server: string): unknown {
  const {id, database, user, language, text, startedAt, elapsedMs, tag} = query;
  return {
    id,
    database,
    user,
    protocol: 'http',
    language,
    text,
    startedAt,
    elapsedMs,
    terminating: false,
    server,
    ...(tag === undefined ? {} : {tag}),
  };
}
