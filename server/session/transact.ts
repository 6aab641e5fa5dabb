/**
 * A transaction of one piece of work: begun, carried out, committed, and all of it again when
 * another commit was faster. An unknown outcome is never run again.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Cancellation} from '#server/execution/budget.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {RecordWriter} from '#server/transactions/records.ts';
import type {DatabaseSession} from './database-session.ts';
import {refusalOf, repeated} from './outcome.ts';
import {type RunEnvironment, type WriteData, writeData} from './statement-run.ts';

export interface TransactOptions {
  readonly session: DatabaseSession;
  readonly environment: RunEnvironment;
  readonly signal: Cancellation;
  /** How often it is run again. */
  readonly retries: number;
  /** Pause before that; undefined: until the other commits are applied. */
  readonly waitMs: number | undefined;
  readonly requestId: string | undefined;
  /** What follows from the commit, before anybody is told of it. */
  readonly committed: (writer: RecordWriter) => Promise<void> | undefined;
}

/** @throws {Refusal} what `work` throws, and what the last commit was refused for. */
export async function transact<T>(
  options: TransactOptions,
  work: (data: WriteData) => T | Promise<T>,
): Promise<T> {
  const {session, retries} = options;
  for (let attempt = 0; ; attempt += 1) {
    const transaction = session.database.begin('REPEATABLE_READ');
    const data = writeData(transaction, session.schema.context);
    try {
      const working = work(data);
      const result = working instanceof Promise ? await working : working;
      const outcome = await transaction.commit(options.requestId);
      if (outcome.kind === 'committed') {
        if (outcome.repeated) throw repeated(outcome.index);
        data.writer.committed();
        const following = options.committed(data.writer);
        if (following !== undefined) await following;
        return result;
      }
      if (outcome.kind !== 'conflict' || attempt >= retries) throw refusalFor(outcome);
    } catch (error) {
      transaction.rollback();
      if (!isConflict(error) || attempt >= retries) throw error;
    }
    // Most often the other commit is still under way: whoever runs before it is applied meets it
    // again, and of those who run then one wins.
    await session.database.settled();
    if (attempt < eagerAttempts && options.waitMs === undefined) requireGoing(options.signal);
    else {
      const {environment, signal, waitMs} = options;
      await backOff(environment, {attempt: attempt - eagerAttempts, signal, waitMs});
    }
  }
}

/** Attempts that do not pause: work so short that others win so often gets a chance by chance. */
const eagerAttempts = 30;

/**
 * Waits before another attempt. Full jitter unless the pause is given: those who collided do not
 * collide again in step.
 *
 * @throws {Refusal} `query.terminated`.
 */
export async function backOff(
  {random, timers}: Pick<RunEnvironment, 'random' | 'timers'>,
  {
    attempt,
    signal,
    waitMs,
  }: Pick<TransactOptions, 'signal' | 'waitMs'> & {
    readonly attempt: number;
  },
): Promise<void> {
  requireGoing(signal);
  const delayMs = waitMs ?? (random.u32() / 2 ** 32) * Math.min(50, 2 ** attempt);
  await new Promise<void>(resolve => timers.after(delayMs, resolve));
}

/** @throws {Refusal} `query.terminated`. */
function requireGoing(signal: Cancellation): void {
  if (signal.aborted) throw new Refusal('query.terminated', 'the statement was terminated');
}

export function isConflict(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'commit.conflict';
}

function refusalFor(outcome: CommitOutcome): Refusal {
  const refusal = refusalOf(outcome);
  assert(refusal !== undefined, 'a commit that succeeded is no refusal');
  return refusal;
}
