/**
 * START TRANSACTION, COMMIT, ROLLBACK and SESSION as statements of a client's session.
 *
 * COMMIT and ROLLBACK end the transaction and not the session: what follows runs on its own until
 * START TRANSACTION. Parameters that the session keeps survive both.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import {newSummary, rowsCursor} from '../connections/cursors.ts';
import {refusalOf} from '../statements/outcome.ts';
import type {PreparedSession} from '../preparation/prepared.ts';
import {
  runOptions,
  type StatementContext,
  type StatementHost,
} from '../statements/statement-context.ts';
import type {ResultCursor} from '../session.ts';
import {StatementRun} from '../statements/statement-run.ts';
import type {HeldSession} from '../connections/transaction-sessions.ts';

/**
 * Carries the command out and gives the session back.
 *
 * @throws {Refusal} what the commit was refused for; `query.execution` when no transaction is open,
 *   or one is already.
 */
export async function runSessionCommand(
  host: StatementHost,
  parts: StatementContext,
  {command}: PreparedSession,
  held: HeldSession,
): Promise<ResultCursor> {
  let more: readonly (readonly [string, Value])[] = [];
  switch (command.kind) {
    case 'begin':
      if (held.transaction !== undefined) {
        throw new Refusal(
          'query.execution',
          'a transaction is open already: COMMIT or ROLLBACK ends it',
        );
      }
      held.transaction = parts.session.database.begin(held.isolation);
      break;
    case 'commit':
      await commit(host, parts, held);
      break;
    case 'rollback':
      requireOpen(held, 'ROLLBACK').rollback();
      held.transaction = undefined;
      break;
    case 'set': {
      const value = await valueOf(host, parts, command.value, held);
      held.parameters.set(command.name, value, held.newParameter());
      more = [
        ['name', command.name],
        ['value', value],
      ];
      break;
    }
    case 'reset':
      held.parameters.clear();
      break;
    case 'close':
      held.transaction?.rollback();
      held.end();
      break;
    default:
      unreachable(command);
  }
  held.done();
  parts.end();
  const summary = newSummary(host.limitDefault);
  const row = new Map<string, Value>([['operation', command.kind], ...more]);
  return rowsCursor([row], parts.request.format, summary);
}

async function commit(
  host: StatementHost,
  parts: StatementContext,
  held: HeldSession,
): Promise<void> {
  const transaction = requireOpen(held, 'COMMIT');
  held.transaction = undefined;
  try {
    const outcome = await transaction.commit(parts.request.requestId);
    if (outcome.kind === 'unknown' || outcome.kind === 'unapplied') held.fail('unknown');
    const refusal = refusalOf(outcome);
    if (refusal !== undefined) throw refusal;
  } catch (error) {
    transaction.rollback();
    throw error;
  }
  await host.committed(parts.session, transaction, parts.guard?.user);
}

function requireOpen({transaction}: HeldSession, what: string): NonNullable<typeof transaction> {
  if (transaction !== undefined) return transaction;
  throw new Refusal(
    'query.execution',
    `there is no open transaction for ${what}: START TRANSACTION begins one`,
  );
}

async function valueOf(
  host: StatementHost,
  parts: StatementContext,
  query: Extract<PreparedSession['command'], {readonly kind: 'set'}>['value'],
  held: HeldSession,
): Promise<Value> {
  const {database} = parts.session;
  const transaction = held.transaction ?? database.begin(held.isolation);
  try {
    const data = host.beginStatement(parts.session, transaction);
    const run = new StatementRun(query, data, runOptions(parts), host.environment);
    try {
      const [row] = await run.values(1);
      return row instanceof Map ? ((row.get('value') as Value | undefined) ?? null) : null;
    } finally {
      run.close();
    }
  } finally {
    if (held.transaction === undefined) transaction.rollback();
  }
}
