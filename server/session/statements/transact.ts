/**
 * A transaction of one piece of work: begun, carried out, committed, and all of it again when
 * another commit was faster. An unknown outcome is never run again.
 *
 * Work that is known to meet others runs on top of the commits under way, so that it need not wait
 * for them ([note 23](../../docs/design/0023-writing-on-top-of-what-is-under-way.md)). Only a
 * commit behind them says what it found there; a refusal or a run without writes is void, and the
 * work is done again over what is decided.
 *
 * Work that wrote nothing says what it read: no row, a key that is there. On a member of a cluster
 * that is worth as much as a linearizable read: what others may have been told before it began is
 * asked for, and what was read before that is read again.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import type {Database} from '#server/engine/database.ts';
import type {CommitOutcome, LogIndex} from '#server/transactions/commit.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {RecordWriter} from '#server/records/records.ts';
import type {Contention} from './contention.ts';
import type {DatabaseSession} from '../open/database-session.ts';
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
  /** How often this work meets others; undefined: it sees nothing but what is decided. */
  readonly contention: Contention | undefined;
  /** What follows from the commit, before anybody is told of it. */
  readonly committed: (writer: RecordWriter) => Promise<void> | undefined;
}

/** @throws {Refusal} what `work` throws, and what the last commit was refused for. */
export async function transact<T>(
  options: TransactOptions,
  work: (data: WriteData) => T | Promise<T>,
): Promise<T> {
  const {retries, contention, session} = options;
  const {database} = session;
  let onUndecided = contention?.isLikely === true;
  let readFrom = 0;
  for (let attempt = 0; ; ) {
    const transaction = database.begin('REPEATABLE_READ', {onUndecided});
    let again: Again | undefined;
    try {
      const data = writeData(transaction, session.schema.context);
      const working = work(data);
      const result = working instanceof Promise ? await working : working;
      const read = transaction.hasWrites
        ? undefined
        : await lookedAgain(database, transaction, readFrom);
      again = read ?? whyAgain(await transaction.commit(options.requestId));
      if (again === undefined) {
        data.writer.committed();
        const following = options.committed(data.writer);
        if (following !== undefined) await following;
        contention?.passed();
        return result;
      }
    } catch (error) {
      again = await failed(error, database, transaction, readFrom);
    } finally {
      transaction.rollback();
    }
    if (again.kind === 'void') {
      onUndecided = false;
      await database.settled();
      requireGoing(options.signal);
      continue;
    }
    if (again.kind === 'old') {
      readFrom = again.readFrom;
      await database.whenApplied(readFrom);
      requireGoing(options.signal);
      continue;
    }
    if (attempt >= retries) throw again.refusal;
    contention?.met();
    onUndecided = contention !== undefined;
    // Most often the other commit is still under way: whoever runs before it is applied meets it
    // again unless it builds on it, and of those who run then one wins.
    if (!onUndecided || !database.knowsUndecided()) await database.settled();
    if (attempt < eagerAttempts && options.waitMs === undefined) requireGoing(options.signal);
    else {
      const {environment, signal, waitMs} = options;
      await backOff(environment, {attempt: attempt - eagerAttempts, signal, waitMs});
    }
    attempt += 1;
  }
}

/** Why the work is to be done again. */
type Again =
  | {readonly kind: 'conflict'; readonly refusal: unknown}
  /** What it said rests on commits that may never happen, and would not be one of them itself. */
  | {readonly kind: 'void'}
  /** It wrote nothing, and what it read may be of the past: only from this entry on it is not. */
  | {readonly kind: 'old'; readonly readFrom: LogIndex};

/** @throws {Refusal} what a commit is refused for, but for a conflict. */
function whyAgain(outcome: CommitOutcome): Again | undefined {
  if (outcome.kind === 'conflict') return {kind: 'conflict', refusal: refusalFor(outcome)};
  if (outcome.kind !== 'committed') throw refusalFor(outcome);
  if (outcome.repeated) throw repeated(outcome.index);
  return undefined;
}

/** Of work that wrote nothing: undefined where what it read is worth something. */
async function lookedAgain(
  database: Database,
  transaction: Transaction,
  readFrom: LogIndex,
): Promise<Again | undefined> {
  if (transaction.seesUndecided) return {kind: 'void'};
  const from = await behind(database, transaction, readFrom);
  return from === undefined ? undefined : {kind: 'old', readFrom: from};
}

/** What follows from an error of the work or of its commit. @throws the error, if nothing. */
async function failed(
  error: unknown,
  database: Database,
  transaction: Transaction,
  readFrom: LogIndex,
): Promise<Again> {
  if (isConflict(error)) return {kind: 'conflict', refusal: error};
  if (transaction.seesUndecided) return {kind: 'void'};
  if (!(error instanceof Refusal && readRefusals.has(error.code))) throw error;
  const from = await behind(database, transaction, readFrom);
  if (from === undefined) throw error;
  return {kind: 'old', readFrom: from};
}

/** What work is refused for by what it read. */
const readRefusals: ReadonlySet<RefusalCode> = new Set([
  'commit.duplicate-key',
  'record.not-found',
]);

/** The entry that the transaction should have seen and did not, if there is one. */
async function behind(
  database: Database,
  transaction: Transaction,
  readFrom: LogIndex,
): Promise<LogIndex | undefined> {
  const {viewIndex} = transaction;
  if (readFrom > 0 && viewIndex >= readFrom) return undefined;
  const index = await database.readIndex();
  return index === undefined || viewIndex >= index ? undefined : index;
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
