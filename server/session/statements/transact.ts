/**
 * Runs one piece of work in a transaction: begin, execute, commit, and retry after a conflict. An
 * unknown outcome is never retried.
 *
 * Contended work reads the in-flight commits (early visibility) and commits behind them, so that it
 * need not wait for them ([note
 * 23](../../docs/design/0023-writing-on-top-of-what-is-under-way.md)). What such an attempt read
 * counts only if it commits behind them: a refusal, or a run without writes, may rest on commits
 * that never happen, and the work is done again over applied data.
 *
 *     log        1     2     3 (in flight)     4 = this commit
 *     reads      <---- applied ---> early read of 3
 *     3 fails    4 fails too, and the work runs again on 2
 *
 * Work that wrote nothing must be a linearizable read on a member of a cluster: the leader is asked
 * for the index that was committed before the work began, and what is older is read again.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {jitteredDelayMs} from '#server/base/retry-delay.ts';
import type {CommitOutcome, LogIndex} from '#server/transactions/commit.ts';
import type {RecordWriter} from '#server/records/records.ts';
import type {Contention} from './contention.ts';
import type {Database} from '#server/engine/database.ts';
import type {DatabaseSchema} from '#server/records/database-schema.ts';
import {refusalOf, repeated} from './outcome.ts';
import {type RunEnvironment, type WriteData, writeData} from './statement-run.ts';

export interface TransactOptions {
  readonly session: {readonly database: Database; readonly schema: DatabaseSchema};
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
  committed(writer: RecordWriter): Promise<void> | undefined;
}

type Work<T> = (data: WriteData) => T | Promise<T>;

/** How an attempt begins. */
interface AttemptOptions {
  readonly readsInFlight: boolean;
  /** What was read before this entry may be of the past. */
  readonly readFrom: LogIndex;
}

/**
 * Most work is done in its first attempt, and costs no more than that then.
 *
 * @throws {Refusal} what `work` throws, and what the last commit was refused for.
 */
export function transact<T>(options: TransactOptions, work: Work<T>): Promise<T> {
  const readsInFlight = options.contention?.isLikely === true;
  try {
    return once(options, work, {readsInFlight, readFrom: 0}, retry =>
      repeat(options, work, retry, readsInFlight),
    );
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Does the work again, behind a first attempt that began in the same way. */
async function repeat<T>(
  options: TransactOptions,
  work: Work<T>,
  first: Retry,
  readInFlight: boolean,
): Promise<T> {
  const {retries, contention, session, signal} = options;
  const {database} = session;
  let again = first;
  let readFrom = 0;
  let readsInFlight = readInFlight;
  for (let attempt = 0; ; ) {
    const {reason} = again;
    if (reason.kind === 'read-uncommitted-dependency') {
      readsInFlight = false;
      await database.settled();
      requireGoing(signal);
    } else if (reason.kind === 'stale-read') {
      readFrom = reason.readFrom;
      await database.whenApplied(readFrom);
      requireGoing(signal);
    } else {
      if (attempt >= retries) throw reason.refusal;
      contention?.met();
      readsInFlight = contention !== undefined;
      await othersDone(options, {attempt, readsInFlight});
      attempt += 1;
    }
    const done = await once(options, work, {readsInFlight, readFrom}, same => same);
    if (!(done instanceof Retry)) return done;
    again = done;
  }
}

/** Waits after a conflict until another attempt is worth while. */
async function othersDone(
  {environment, session, signal, waitMs}: TransactOptions,
  {attempt, readsInFlight}: {readonly attempt: number; readonly readsInFlight: boolean},
): Promise<void> {
  const {database} = session;
  // Most often the other commit is still under way: whoever runs before it is applied meets it
  // again unless it builds on it, and of those who run then one wins.
  if (!readsInFlight || !database.hasInFlightCommits()) await database.settled();
  if (attempt < eagerAttempts && waitMs === undefined) requireGoing(signal);
  else await backOff(environment, {attempt: attempt - eagerAttempts, signal, waitMs});
}

/** What `work` came to in a transaction that is committed, or what `onRetry` makes of it. */
function once<T, Other>(
  options: TransactOptions,
  work: Work<T>,
  attemptOptions: AttemptOptions,
  onRetry: (retry: Retry) => Other | Promise<Other>,
): Promise<T | Other> {
  const {database, schema} = options.session;
  const transaction = database.begin('REPEATABLE_READ', attemptOptions);
  const data = writeData(transaction, schema.context);
  const attempt = {options, data, readFrom: attemptOptions.readFrom};
  try {
    const working = work(data);
    if (working instanceof Promise || !transaction.hasWrites) {
      return waited(attempt, working).then(done => unlessRetry(done, onRetry));
    }
    return transaction.commit(options.requestId).then(
      outcome => {
        const done = concluded(attempt, working, outcome);
        return done instanceof Promise
          ? done.then(late => unlessRetry(late, onRetry))
          : unlessRetry(done, onRetry);
      },
      (error: unknown) => failed(attempt, error).then(onRetry),
    );
  } catch (error) {
    return failed(attempt, error).then(onRetry);
  }
}

function unlessRetry<T, Other>(done: T | Retry, onRetry: (retry: Retry) => Other): T | Other {
  return done instanceof Retry ? onRetry(done) : done;
}

interface Attempt {
  readonly options: TransactOptions;
  readonly data: WriteData;
  readonly readFrom: LogIndex;
}

/** Work that takes its time, or that wrote nothing. */
async function waited<T>(attempt: Attempt, working: T | Promise<T>): Promise<T | Retry> {
  const {transaction} = attempt.data;
  try {
    const result = await working;
    // Its rights may have been taken meanwhile.
    if (transaction.hasWrites) requireGoing(attempt.options.signal);
    const again = transaction.hasWrites ? undefined : await lookedAgain(attempt);
    if (again !== undefined) {
      transaction.rollback();
      return again;
    }
    return await concluded(attempt, result, await transaction.commit(attempt.options.requestId));
  } catch (error) {
    return await failed(attempt, error);
  }
}

/** Concludes an attempt after its commit. */
function concluded<T>(
  attempt: Attempt,
  result: T,
  outcome: CommitOutcome,
): T | Retry | Promise<T | Retry> {
  const {options, data} = attempt;
  try {
    const again = retryReason(outcome);
    if (again !== undefined) return again;
    data.writer.committed();
    const following = options.committed(data.writer);
    options.contention?.passed();
    if (following === undefined) return result;
    return following.then(
      () => result,
      (error: unknown) => failed(attempt, error),
    );
  } catch (error) {
    return failed(attempt, error);
  }
}

/** The work is to be done again. */
class Retry {
  readonly reason: Reason;

  constructor(reason: Reason) {
    this.reason = reason;
  }
}

type Reason =
  | {readonly kind: 'conflict'; readonly refusal: unknown}
  /** The result depends on in-flight commits that may still fail. */
  | {readonly kind: 'read-uncommitted-dependency'}
  /** It wrote nothing, and what it read may be of the past: only from this entry on it is not. */
  | {readonly kind: 'stale-read'; readonly readFrom: LogIndex};

/** @throws {Refusal} what a commit is refused for, but for a conflict. */
function retryReason(outcome: CommitOutcome): Retry | undefined {
  if (outcome.kind === 'conflict') {
    return new Retry({kind: 'conflict', refusal: refusalFor(outcome)});
  }
  if (outcome.kind !== 'committed') throw refusalFor(outcome);
  if (outcome.repeated) throw repeated(outcome.index);
  return undefined;
}

/** Checks work that wrote nothing: undefined where what it read is current. */
async function lookedAgain(attempt: Attempt): Promise<Retry | undefined> {
  if (attempt.data.transaction.seesInFlight)
    return new Retry({kind: 'read-uncommitted-dependency'});
  const from = await behind(attempt);
  return from === undefined ? undefined : new Retry({kind: 'stale-read', readFrom: from});
}

/** What follows from an error of the work or of its commit. @throws the error, if nothing. */
async function failed(attempt: Attempt, error: unknown): Promise<Retry> {
  const {transaction} = attempt.data;
  try {
    if (isConflict(error)) return new Retry({kind: 'conflict', refusal: error});
    if (transaction.seesInFlight) return new Retry({kind: 'read-uncommitted-dependency'});
    if (!(error instanceof Refusal && readRefusals.has(error.code))) throw error;
    const from = await behind(attempt);
    if (from === undefined) throw error;
    return new Retry({kind: 'stale-read', readFrom: from});
  } finally {
    transaction.rollback();
  }
}

/** What work is refused for by what it read. */
const readRefusals: ReadonlySet<RefusalCode> = new Set([
  'commit.duplicate-key',
  'record.not-found',
]);

/** The entry that the transaction should have seen and did not, if there is one. */
async function behind({options, data, readFrom}: Attempt): Promise<LogIndex | undefined> {
  const {database} = options.session;
  const {snapshotIndex} = data.transaction;
  if (readFrom > 0 && snapshotIndex >= readFrom) return undefined;
  const index = await database.readIndex();
  return index === undefined || snapshotIndex >= index ? undefined : index;
}

/** Attempts that do not pause: work so short that others win so often gets a chance by chance. */
const eagerAttempts = 30;

const conflictDelays = {firstMs: 1, mostMs: 50} as const;

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
  const delayMs = waitMs ?? jitteredDelayMs(conflictDelays, attempt, {jitter: 'full', random});
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
