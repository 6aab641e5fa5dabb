/**
 * Runs statements: reads over a view, writes in a transaction of their own with retries, and
 * either inside a client's transaction.
 *
 * A write answers only after its commit is known: its rows are kept until then. A conflict runs
 * it again from the start (new view, newest schema), up to the retries allowed; an unknown
 * outcome never does. Inside a client's transaction nothing is retried and any failure ends it.
 */
import {assert, unreachable} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import type {Cancellation} from '#server/execution/budget.ts';
import type {QueryResult} from '#server/execution/query-result.ts';
import type {Retry, SchemaCommand} from '#server/plan/statement.ts';
import {RecordWriter} from '#server/transactions/records.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {Admission, Leave} from './admission.ts';
import {newSummary, PiecesCursor, rowsCursor} from './cursors.ts';
import type {DatabaseSession} from './database-session.ts';
import {explain} from './explain.ts';
import {refusalOf} from './outcome.ts';
import type {Prepared, PreparedQuery} from './prepared.ts';
import {runScript} from './script-runner.ts';
import type {ResultCursor, ResultSummary, RunRequest} from './session.ts';
import {
  type ResultWish,
  type RunData,
  type RunEnvironment,
  type RunOptions,
  StatementRun,
} from './statement-run.ts';
import {StreamCursor} from './stream-cursor.ts';
import type {HeldSession} from './transaction-sessions.ts';
import type {DatabaseAccess} from '#server/access/decide.ts';

export interface RunParts {
  readonly session: DatabaseSession;
  readonly request: RunRequest;
  readonly signal: Cancellation;
  readonly access: DatabaseAccess;
  readonly guard: RunOptions['guard'];
  /** Called once, when the statement has ended in whatever way. */
  readonly end: () => void;
}

export interface StatementRunnerOptions {
  readonly environment: RunEnvironment;
  readonly admission: Admission;
  readonly settings: () => Settings;
}

export class StatementRunner {
  readonly environment: RunEnvironment;
  readonly #admission: Admission;
  readonly #settings: () => Settings;
  readonly #writers = new WeakMap<Transaction, RecordWriter>();

  constructor(options: StatementRunnerOptions) {
    this.environment = options.environment;
    this.#admission = options.admission;
    this.#settings = options.settings;
  }

  /** A statement on its own. */
  async run(parts: RunParts): Promise<ResultCursor> {
    const prepared = prepare(parts);
    switch (prepared.kind) {
      case 'query':
        return prepared.writes ? this.#write(parts, prepared) : this.#read(parts, prepared);
      case 'schema': {
        this.requireSchemaRight(parts, prepared.command);
        const row = await parts.session.executor.run(prepared.command, parts.signal);
        parts.end();
        const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
        summary.wrote = true;
        return rowsCursor([row], parts.request.format, summary);
      }
      case 'explain':
        return this.#explain(parts, prepared);
      case 'script':
        return runScript(this, parts, prepared.script);
      default:
        return unreachable(prepared);
    }
  }

  /** A statement of a client's transaction. */
  async runInside(parts: RunParts, held: HeldSession): Promise<ResultCursor> {
    try {
      const prepared = prepare(parts);
      held.transaction.beginStatement();
      if (prepared.kind !== 'query') return await this.#commandInside(parts, prepared, held);
      const data = this.dataOf(parts.session, held.transaction);
      if (prepared.writes) {
        const leave = this.#admission.tryEnter() ?? (await this.#admission.enter());
        const run = new StatementRun(prepared, data, runOptions(parts), this.environment);
        const cursor = await this.#collect(run, parts.request, leave);
        held.done();
        parts.end();
        return cursor;
      }
      return await this.#stream(parts, prepared, data, {
        done: () => held.done(),
        failed: () => held.fail(),
      });
    } catch (error) {
      held.fail();
      throw error;
    }
  }

  /** The commit of a client's transaction succeeded. */
  committed(transaction: Transaction): void {
    this.#writers.get(transaction)?.committed();
  }

  /** Reads and writes of a transaction; one writer for its whole life. */
  dataOf(session: DatabaseSession, transaction: Transaction): RunData {
    let writer = this.#writers.get(transaction);
    if (writer === undefined) {
      writer = new RecordWriter(transaction, session.schema.context);
      this.#writers.set(transaction, writer);
    }
    return {kind: 'write', transaction, writer};
  }

  /**
   * Runs `work` in a transaction and commits it, again on conflict: as often as `retry` says,
   * else the request, else the server.
   *
   * @throws {Refusal} what `work` throws, and what the last commit was refused for.
   */
  async inTransaction<T>(
    parts: RunParts,
    retry: Retry | undefined,
    work: (data: RunData) => Promise<T>,
  ): Promise<T> {
    const {session, request} = parts;
    const retries = retry?.times ?? request.retries ?? this.#retriesOf(session);
    for (let attempt = 0; ; attempt += 1) {
      const transaction = session.database.begin('REPEATABLE_READ');
      const writer = new RecordWriter(transaction, session.schema.context);
      try {
        const result = await work({kind: 'write', transaction, writer});
        const outcome = await transaction.commit(request.requestId);
        if (outcome.kind === 'committed') {
          if (outcome.repeated) throw repeated(outcome.index);
          writer.committed();
          return result;
        }
        if (outcome.kind === 'conflict' && attempt < retries) {
          await this.#backOff(attempt, parts.signal, retry?.waitMs);
          continue;
        }
        throw refusalFor(outcome);
      } catch (error) {
        transaction.rollback();
        const conflict = error instanceof Refusal && error.code === 'commit.conflict';
        if (!conflict || attempt >= retries) throw error;
        await this.#backOff(attempt, parts.signal, retry?.waitMs);
      }
    }
  }

  /** @throws {Refusal} `security.denied`. */
  requireSchemaRight({access, guard}: RunParts, command: SchemaCommand): void {
    const ofSettings = command.kind === 'alter-database';
    const right = ofSettings ? 'updateDatabaseSettings' : 'updateSchema';
    if (access.allows(right)) return;
    const what = ofSettings ? 'the settings of the database' : 'the schema';
    throw new Refusal(
      'security.denied',
      `User '${guard?.user ?? ''}' is not allowed to update ${what}`,
      {detail: {right}},
    );
  }

  #retriesOf({schema}: DatabaseSession): number {
    const own = databaseSetting(schema.catalog, 'svc.txRetries');
    return own ?? this.#settings().get('svc.txRetries');
  }

  wishOf(request: RunRequest): ResultWish {
    const settings = this.#settings();
    return {
      format: request.format,
      typeHints: request.typeHints,
      limit: request.limit,
      limitDefault: settings.get('svc.server.httpQueryDefaultLimit'),
      ceiling: settings.get('svc.server.httpQueryMaxResultRows'),
    };
  }

  async #commandInside(
    parts: RunParts,
    prepared: Exclude<Prepared, PreparedQuery>,
    held: HeldSession,
  ): Promise<ResultCursor> {
    const {transaction} = held;
    if (prepared.kind === 'schema') {
      if (transaction.hasWrites) {
        throw new Refusal(
          'query.execution',
          'a schema change is an entry of its own: commit what the transaction wrote before it',
        );
      }
      const cursor = await this.run(parts);
      transaction.schemaVersion = parts.session.schema.catalog.version;
      held.done();
      return cursor;
    }
    if (prepared.kind === 'explain') {
      const cursor = await this.#explain(parts, prepared);
      held.done();
      return cursor;
    }
    const cursor = await runScript(this, parts, prepared.script, transaction);
    held.done();
    return cursor;
  }

  async #read(parts: RunParts, query: PreparedQuery): Promise<ResultCursor> {
    const reader = parts.session.database.read();
    try {
      const release = (): void => reader.close();
      const data = {kind: 'read', reader} as const;
      return await this.#stream(parts, query, data, {done: release, failed: release});
    } catch (error) {
      reader.close();
      throw error;
    }
  }

  /** The cursor has its first piece, so that what is refused at once is refused here. */
  async #stream(
    parts: RunParts,
    query: PreparedQuery,
    data: RunData,
    ends: {readonly done: () => void; readonly failed: () => void},
  ): Promise<ResultCursor> {
    const leave = this.#admission.tryEnter() ?? (await this.#admission.enter());
    const startedAt = this.environment.clock.monotonic();
    let run: StatementRun;
    try {
      run = new StatementRun(query, data, runOptions(parts), this.environment);
    } catch (error) {
      leave();
      throw error;
    }
    const {result, limit} = run.result(this.wishOf(parts.request));
    const summary = newSummary(limit);
    const cursor = new StreamCursor({
      result,
      summary,
      partialOnTimeout: query.onTimeout === 'partial',
      onEnd: failed => {
        run.close();
        leave();
        parts.end();
        if (failed) ends.failed();
        else {
          this.#describe(parts.request, query, summary, startedAt);
          ends.done();
        }
      },
    });
    await cursor.begin();
    return cursor;
  }

  async #write(parts: RunParts, first: PreparedQuery): Promise<ResultCursor> {
    const startedAt = this.environment.clock.monotonic();
    let prepared: PreparedQuery | undefined = first;
    try {
      return await this.inTransaction(parts, first.retry, async data => {
        // Prepared anew for another attempt: the conflict may have been about the schema.
        const query = prepared ?? requireQuery(prepare(parts));
        prepared = undefined;
        const leave = this.#admission.tryEnter() ?? (await this.#admission.enter());
        const run = new StatementRun(query, data, runOptions(parts), this.environment);
        const cursor = await this.#collect(run, parts.request, leave);
        this.#describe(parts.request, query, cursor.summary, startedAt);
        return cursor;
      });
    } finally {
      parts.end();
    }
  }

  /** Runs to the end and keeps the rows. */
  async #collect(run: StatementRun, request: RunRequest, leave: Leave): Promise<ResultCursor> {
    try {
      const {result, limit} = run.result(this.wishOf(request));
      const pieces = await allPieces(result);
      const summary: ResultSummary = {
        ...newSummary(limit),
        returned: result.returned,
        truncated: result.truncated,
        wrote: true,
      };
      return new PiecesCursor(pieces, summary);
    } finally {
      run.close();
      leave();
    }
  }

  async #explain(
    parts: RunParts,
    {execute, inner}: Extract<Prepared, {kind: 'explain'}>,
  ): Promise<ResultCursor> {
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    let elapsedMs: number | undefined;
    if (execute) {
      if (inner.writes && parts.request.readOnly) throw notIdempotent();
      const startedAt = this.environment.clock.monotonic();
      const request = {...parts.request, format: 'record' as const};
      const cursor = inner.writes
        ? await this.#writePrepared({...parts, request}, inner)
        : await this.#read({...parts, request}, inner);
      while ((await cursor.next()) !== undefined);
      cursor.close();
      elapsedMs = this.environment.clock.monotonic() - startedAt;
    }
    parts.end();
    const {text, json} = explain(inner.plan.plan, elapsedMs);
    summary.explain = text;
    summary.explainPlan = json;
    return rowsCursor([], parts.request.format, summary);
  }

  #writePrepared(parts: RunParts, query: PreparedQuery): Promise<ResultCursor> {
    return this.inTransaction(parts, query.retry, async data => {
      const leave = this.#admission.tryEnter() ?? (await this.#admission.enter());
      const run = new StatementRun(query, data, runOptions(parts), this.environment);
      return this.#collect(run, parts.request, leave);
    });
  }

  #describe(
    request: RunRequest,
    query: PreparedQuery,
    summary: ResultSummary,
    startedAt: number,
  ): void {
    if (request.profile === undefined) return;
    const elapsedMs = this.environment.clock.monotonic() - startedAt;
    const {text, json} = explain(query.plan.plan, elapsedMs);
    summary.explain = text;
    summary.explainPlan = json;
    if (request.profile === 'detailed') summary.profile = profileText(elapsedMs);
  }

  /** Full jitter unless the pause is given: those who collided do not collide again in step. */
  async #backOff(attempt: number, signal: Cancellation, waitMs: number | undefined): Promise<void> {
    if (signal.aborted) throw new Refusal('query.terminated', 'the statement was terminated');
    const {random, timers} = this.environment;
    const delayMs = waitMs ?? (random.u32() / 2 ** 32) * Math.min(50, 2 ** attempt);
    await new Promise<void>(resolve => timers.after(delayMs, resolve));
  }
}

async function allPieces(result: QueryResult): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  for (let piece = await result.next(); piece !== undefined; piece = await result.next()) {
    // The result reuses its bytes for the next piece.
    pieces.push(Buffer.from(piece));
  }
  return pieces;
}

function prepare({session, request}: RunParts): Prepared {
  const prepared = session.prepare(request.language, request.text);
  if (request.readOnly && !isReadOnly(prepared)) throw notIdempotent();
  if (request.format === 'ndjson' && prepared.kind !== 'query') throw notIdempotent();
  return prepared;
}

function requireQuery(prepared: Prepared): PreparedQuery {
  assert(prepared.kind === 'query', 'the same text is the same kind of statement');
  return prepared;
}

/** A script is taken to write: what it does is known only when it runs. */
function isReadOnly(prepared: Prepared): boolean {
  if (prepared.kind === 'explain') return !prepared.execute || !prepared.inner.writes;
  return prepared.kind === 'query' && !prepared.writes;
}

function notIdempotent(): Refusal {
  return new Refusal(
    'query.not-idempotent',
    'the statement changes data or cannot be proven to only read: send it to /command',
  );
}

export function runOptions(parts: RunParts): RunOptions {
  const {session, request, signal, guard} = parts;
  return {session, parameters: request.parameters, signal, guard};
}

/** The rows of this run are not those that were stored, so they are not shown. */
function repeated(index: number): Refusal {
  return new Refusal(
    'request.reused',
    `the request with this id was committed before, by entry ${index}; its answer is not kept`,
    {detail: {index}},
  );
}

function refusalFor(outcome: CommitOutcome): Refusal {
  const refusal = refusalOf(outcome);
  assert(refusal !== undefined, 'a commit that succeeded is no refusal');
  return refusal;
}

function profileText(elapsedMs: number): string {
  const nanos = Math.round(elapsedMs * 1e6);
  const ms = Math.round(elapsedMs);
  return JSON.stringify({
    deserializationMs: 0,
    deserializationNanos: 0,
    engineMs: ms,
    engineNanos: nanos,
    serializationMs: 0,
    serializationNanos: 0,
    overheadMs: 0,
    overheadNanos: 0,
    totalMs: ms,
    totalNanos: nanos,
  });
}
