/**
 * Runs statements: reads over a view, writes in a transaction of their own with retries, and
 * either inside a client's transaction.
 *
 * A write answers only after its commit is known: its rows are kept until then. A conflict runs
 * it again from the start (new view, newest schema), up to the retries allowed; an unknown
 * outcome never does. Inside a client's transaction nothing is retried and any failure ends it.
 */
import {unreachable} from '#server/base/assert.ts';
import {Refusal, queryTerminated} from '#server/base/errors.ts';
import type {DatabaseAccess} from '#server/access/decide.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import {extendsCatalog} from '#server/catalog/encode.ts';
import {type Cancellation, eitherOf} from '#server/base/cancellation.ts';
import type {Budget} from '#server/execution/budget.ts';
import {
  type MissingType,
  MissingSource,
  MissingTypes,
} from '#server/execution/missing-prerequisites.ts';
import {countsText, newWriteCounts} from '#server/execution/context.ts';
import type {Script} from '#server/languages/sql/ast-statement.ts';
import type {SchemaCommand, UserCommand} from '#server/plan/statement.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {RecordWriter} from '#server/records/records.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import type {Admission, ExecutionPermit} from './admission.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {TransferCommand} from '#server/plan/statement.ts';
import type {Transfers} from '../transfers.ts';
import type {Contention} from './contention.ts';
import {newSummary, PiecesCursor, rowsCursor, takePieces} from '../connections/cursors.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import type {Explanation} from './explain.ts';
import {ofOneEntry} from '#server/cluster/leadership.ts';
import {RestartableResult} from '../threads/restartable-result.ts';
import {finallyDo, recover, mapError} from '#server/base/maybe-promise.ts';
import {row} from './planned-change.ts';
import {BatchedRun} from './batched-run.ts';
import {explained, type Prepared, type PreparedBatched, type PreparedSchema} from './prepared.ts';
import type {PreparedQuery} from './prepared-query.ts';
import {
  partsWith,
  runOptions,
  type StatementContext,
  type StatementHost,
} from './statement-context.ts';
import {readerInForce} from '../current-schema-reader.ts';
import {runScript} from '../programs/script-runner.ts';
import type {Security} from '#server/security/security.ts';
import {runUserCommand} from '../schema/user-command.ts';
import type {ResultCursor, RunRequest} from '../session.ts';
import {
  type ResultOptions,
  type ReadData,
  type RunData,
  type RunEnvironment,
  StatementRun,
  type WriteData,
  writeData,
} from './statement-run.ts';
import {
  isLong,
  notIdempotent,
  prepare,
  prepareAhead,
  requireBatched,
  requireQuery,
  requireSchemaRight,
  sourceInside,
  typesInside,
  withoutSession,
} from './statement-preparation.ts';
import {runSingle} from './single-run.ts';
import {runSessionCommand} from '../schema/session-command.ts';
import {StreamCursor, type Streaming} from './stream-cursor.ts';
import {ThreadDispatch} from '../threads/thread-dispatch.ts';
import type {PlanThreads} from '../threads/plan-task.ts';
import {transact, type TransactOptions} from './transact.ts';
import type {HeldSession} from '../connections/transaction-sessions.ts';
import {
  asRequested,
  attachPlan,
  isGuarded,
  optionsOf,
  profiled,
  type ProfiledQuery,
} from './profiled-query.ts';

export interface StatementRunnerOptions {
  readonly environment: RunEnvironment;
  readonly admission: Admission;
  readonly settings: () => Settings;
  readonly security: Security;
  readonly profiler: QueryProfiler | undefined;
  /** Where long reads run; undefined: here. */
  readonly threads: PlanThreads | undefined;
  /** See cluster/align.ts. */
  readonly align: (database: string, signal: Cancellation) => Promise<readonly AlignedMember[]>;
  /** @returns The row of the answer. */
  readonly transfer: Transfers['run'];
}

export class StatementRunner implements StatementHost {
  readonly environment: RunEnvironment;
  readonly #admission: Admission;
  readonly #settings: () => Settings;
  readonly #security: Security;
  readonly #profiler: QueryProfiler | undefined;
  readonly #threads: ThreadDispatch | undefined;
  readonly #align: StatementRunnerOptions['align'];
  readonly #transfer: StatementRunnerOptions['transfer'];
  readonly #writing = new WeakMap<Transaction, WriteData>();

  constructor(options: StatementRunnerOptions) {
    this.environment = options.environment;
    this.#admission = options.admission;
    this.#settings = options.settings;
    this.#security = options.security;
    this.#profiler = options.profiler;
    this.#align = options.align;
    this.#transfer = options.transfer;
    const {threads} = options;
    this.#threads = threads && new ThreadDispatch({...options, threads});
  }

  /** A statement on its own. A short read answers at once, all else in a promise. */
  run(parts: StatementContext): ResultCursor | Promise<ResultCursor> {
    if (isLong(parts)) {
      return this.#prepared(parts).then(ready => this.run(ready));
    }
    const prepared = prepare(parts);
    if (prepared.kind === 'query' && prepared.writes) return this.#write(parts, prepared);
    return recover(
      () => this.#run(parts, prepared),
      error => this.#fetched(parts, error),
    );
  }

  async #prepared(parts: StatementContext): Promise<StatementContext> {
    const {ahead} = await prepareAhead(parts, this.environment.timers);
    return partsWith(parts, {ahead});
  }

  /** Again, with what the run asked for from outside; it wrote nothing that stands. */
  async #fetched(parts: StatementContext, error: unknown): Promise<ResultCursor> {
    if (!(error instanceof MissingSource)) throw error;
    await parts.sources.fetch(error.address);
    return this.run(parts);
  }

  #run(parts: StatementContext, prepared: Prepared): ResultCursor | Promise<ResultCursor> {
    switch (prepared.kind) {
      case 'query':
        return this.#read(parts, prepared);
      case 'schema':
        return this.#changeSchema(parts, prepared);
      case 'user':
        return this.#changeUser(parts, prepared.command);
      case 'align':
        return this.#alignCopies(parts);
      case 'transfer':
        return this.#transferDatabase(parts, prepared.command);
      case 'explained-command':
        return this.#tellCommand(parts, prepared.explanation);
      case 'explain':
        return this.#explain(parts, prepared);
      case 'script': {
        const [only, ...more] = prepared.script.statements;
        // It would end with the request, and whoever sent it would write outside of it.
        if (only?.kind === 'begin' && more.length === 0) throw withoutSession();
        return this.#script(parts, prepared.script);
      }
      case 'batched':
        return this.#runBatched(parts);
      case 'needs-types':
        return this.#runWithTypes(parts, prepared.missing);
      case 'session':
        throw withoutSession();
      default:
        return unreachable(prepared);
    }
  }

  /** A statement of a client's session, which has a transaction unless it was ended in it. */
  async runInside(outer: StatementContext, held: HeldSession): Promise<ResultCursor> {
    const parameters = held.parameters.under(outer.request.parameters);
    const request = {...outer.request, parameters};
    const {transaction} = held;
    let parts: StatementContext = partsWith(outer, {request, signal: eitherOf(outer.signal, held)});
    try {
      if (isLong(parts)) parts = await this.#prepared(parts);
    } catch (error) {
      if (transaction === undefined) held.done();
      else held.fail();
      throw error;
    }
    return transaction === undefined
      ? this.#runBetween(parts, held)
      : this.#runHeld(parts, held, transaction);
  }

  /** No transaction is open in the session: a statement has one of its own. */
  async #runBetween(parts: StatementContext, held: HeldSession): Promise<ResultCursor> {
    try {
      const prepared = prepare(parts);
      if (prepared.kind === 'session') return await runSessionCommand(this, parts, prepared, held);
      const end = (): void => {
        held.done();
        parts.end();
      };
      return await this.run(partsWith(parts, {end}));
    } catch (error) {
      held.done();
      throw error;
    }
  }

  async #runHeld(
    parts: StatementContext,
    held: HeldSession,
    transaction: Transaction,
  ): Promise<ResultCursor> {
    try {
      const data = this.beginStatement(parts.session, transaction);
      const prepared = prepare(parts, data.context);
      if (prepared.kind !== 'query') {
        return await this.#commandInside(parts, prepared, held, transaction);
      }
      if (prepared.writes) {
        const cursor = await this.#collect(parts, prepared, data);
        // Told to stop too late to notice: what it wrote is not there all the same.
        if (held.aborted) throw new Refusal('query.terminated', 'the transaction was terminated');
        held.charge();
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
      if (error instanceof MissingSource) throw sourceInside(error);
      throw error instanceof MissingTypes ? typesInside(error.types) : error;
    }
  }

  /** The commit of a client's transaction succeeded; what follows from it is done in the end. */
  async committed(session: DatabaseSession, transaction: Transaction): Promise<void> {
    const writer = this.#writing.get(transaction)?.writer;
    writer?.committed();
    if (writer !== undefined) await session.views.follow(writer.changes);
  }

  /**
   * Begins a statement of a client's or a script's transaction, and says what it reads and writes.
   *
   * It runs under the schema that its view has: the newest one while nothing is written (with
   * REPEATABLE_READ, while nothing is read), the same one from then on.
   */
  beginStatement(session: DatabaseSession, transaction: Transaction): WriteData {
    transaction.beginStatement();
    const {context} = session.schema;
    const known = this.#writing.get(transaction);
    if (known !== undefined) {
      const isBound = transaction.hasWrites || transaction.isolation === 'REPEATABLE_READ';
      if (isBound || known.context === context) return known;
    }
    transaction.beginAnew(context.catalog.version);
    const data = writeData(transaction, context);
    this.#writing.set(transaction, data);
    return data;
  }

  /**
   * The transaction goes on under the schema as it is now, which has new types. What it wrote
   * before means the same under it, unless somebody changed more: then it conflicts.
   */
  #underNewTypes({schema}: DatabaseSession, transaction: Transaction): void {
    const {context} = schema;
    const known = this.#writing.get(transaction);
    const isBound = transaction.hasWrites || transaction.isolation === 'REPEATABLE_READ';
    if (known === undefined || !isBound) {
      this.#writing.delete(transaction);
      return;
    }
    if (!extendsCatalog(known.context.catalog, context.catalog)) {
      throw new Refusal(
        'commit.conflict',
        'the schema was changed by another transaction: nothing was stored, run it again',
      );
    }
    transaction.schemaVersion = context.catalog.version;
    this.#writing.set(transaction, writeData(transaction, context, known));
  }

  /**
   * Runs `work` in a transaction and commits it, again on conflict: as often as the query says,
   * else the request, else the server.
   *
   * @throws {Refusal} what `work` throws, and what the last commit was refused for.
   */
  inTransaction<T>(
    parts: StatementContext,
    work: (data: RunData) => T | Promise<T>,
    query?: Pick<PreparedQuery, 'retry' | 'contention'>,
  ): Promise<T> {
    return transact(new OwnTransaction(this, parts, query), work);
  }

  /** How often a statement is run again that does not say so itself. */
  retriesOf({schema}: DatabaseSession): number {
    const own = databaseSetting(schema.catalog, 'svc.txRetries');
    return own ?? this.#settings().get('svc.txRetries');
  }

  consistencyOf(request: RunRequest, access?: DatabaseAccess): ResultOptions {
    const settings = this.#settings();
    return {
      groupLimit: access?.resultSetLimit ?? -1,
      format: request.format,
      typeHints: request.typeHints,
      limit: request.limit,
      limitDefault: settings.get('svc.server.httpQueryDefaultLimit'),
      ceiling: settings.get('svc.server.httpQueryMaxResultRows'),
    };
  }

  async #changeSchema(
    parts: StatementContext,
    {command, first = [], counts}: PreparedSchema,
  ): Promise<ResultCursor> {
    for (const one of [...first, command]) requireSchemaRight(parts, one);
    for (const one of first) await parts.session.executor.run(one, parts.signal);
    const row = await parts.session.change(command, runOptions(parts));
    parts.end();
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    summary.wrote = true;
    if (counts !== undefined) summary.stats = countsText(newWriteCounts(), counts);
    return rowsCursor(counts === undefined ? [row] : [], parts.request.format, summary);
  }

  /** The answer is whole before its first byte leaves: what it tells of is committed. */
  #runBatched(parts: StatementContext): Promise<ResultCursor> {
    return Promise.resolve(
      this.#admission.within(parts.guard?.user, place =>
        finallyDo(
          async () => this.#batched(parts),
          () => place.leave(),
        ),
      ),
    );
  }

  async #batched(parts: StatementContext): Promise<ResultCursor> {
    const prepared = (): PreparedBatched => requireBatched(prepare(parts));
    const rows = await this.#reading(parts, data =>
      new BatchedRun(this, parts, runOptions(parts), prepared).run(data),
    );
    try {
      return await this.#reading(parts, async data => {
        const {after} = prepared();
        const options = runOptions(parts);
        const run = new StatementRun(after, data, options, this.environment, rows.rows);
        const result = run.result(this.consistencyOf(parts.request, parts.access));
        const pieces: Buffer[] = [];
        try {
          await takePieces(result, pieces);
        } finally {
          run.close();
        }
        const summary = newSummary(result.limit);
        summary.returned = result.returned;
        summary.truncated = result.truncated;
        summary.wrote = true;
        summary.stats = countsText(rows.counts);
        return new PiecesCursor(pieces, summary);
      });
    } finally {
      parts.end();
    }
  }

  /** Over a view in which the schema is in force. */
  async #reading<T>(parts: StatementContext, work: (data: ReadData) => Promise<T>): Promise<T> {
    const {database, schema} = parts.session;
    const {reader, context} = await readerInForce(database, schema, this.environment.timers);
    try {
      return await work({kind: 'read', reader, context});
    } finally {
      reader.close();
    }
  }

  async #changeUser(parts: StatementContext, command: UserCommand): Promise<ResultCursor> {
    await runUserCommand(command, parts, this.#security);
    parts.end();
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    summary.wrote = true;
    return rowsCursor([], parts.request.format, summary);
  }

  async #alignCopies(parts: StatementContext): Promise<ResultCursor> {
    const {request, signal, guard} = parts;
    if (guard !== undefined) {
      const message = `User '${guard.user}' is not allowed to align databases: only root is`;
      throw new Refusal('security.root-only', message);
    }
    const members = await this.#align(request.database, signal);
    parts.end();
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    summary.wrote = true;
    const rows = members.map(member => row({operation: 'align database', ...member}));
    return rowsCursor(rows, request.format, summary);
  }

  async #transferDatabase(
    parts: StatementContext,
    command: TransferCommand,
  ): Promise<ResultCursor> {
    const {request, access, guard} = parts;
    if (!access.allows('updateSecurity')) {
      const message = `User '${guard?.user ?? ''}' is not allowed to ${command.what} the database`;
      throw new Refusal('security.denied', message, {detail: {right: 'updateSecurity'}});
    }
    const answer = await this.#transfer(request.database, command, parts.signal);
    parts.end();
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    summary.wrote = true;
    return rowsCursor([answer], request.format, summary);
  }

  /** Makes the types that a statement brings along, an entry each, and then runs it. */
  async #runWithTypes(
    parts: StatementContext,
    missing: readonly MissingType[],
  ): Promise<ResultCursor> {
    await this.makeTypes(parts, missing);
    return this.run(parts);
  }

  async makeTypes(parts: StatementContext, missing: readonly MissingType[]): Promise<void> {
    for (const {name, kind, superTypes} of missing) {
      const command: SchemaCommand = {
        kind: 'create-type',
        recordKind: kind,
        name,
        ifNotExists: true,
        supertypes: superTypes,
        buckets: undefined,
        bucketCount: undefined,
        custom: new Map(),
        unidirectional: false,
        lightweight: false,
        unique: false,
      };
      requireSchemaRight(parts, command);
      await parts.session.executor.run(command, parts.signal);
    }
  }

  async #commandInside(
    parts: StatementContext,
    prepared: Exclude<Prepared, PreparedQuery>,
    held: HeldSession,
    transaction: Transaction,
  ): Promise<ResultCursor> {
    if (prepared.kind === 'session') return runSessionCommand(this, parts, prepared, held);
    if (prepared.kind === 'schema') {
      if (transaction.hasWrites) {
        throw new Refusal(
          'query.execution',
          'a schema change is an entry of its own: commit what the transaction wrote before it',
        );
      }
      const cursor = await this.run(parts);
      // Nothing is written yet: the next statement begins under the schema as it is then.
      this.#writing.delete(transaction);
      held.done();
      return cursor;
    }
    if (prepared.kind === 'batched') {
      throw new Refusal(
        'query.execution',
        'BATCH and IN TRANSACTIONS commit by themselves: the statement stands in no transaction',
      );
    }
    if (prepared.kind === 'align') {
      throw new Refusal('query.execution', 'ALIGN DATABASE stands in no transaction');
    }
    if (prepared.kind === 'transfer') {
      const words = `${prepared.command.what.toUpperCase()} DATABASE`;
      throw new Refusal('query.execution', `${words} stands in no transaction`);
    }
    if (prepared.kind === 'user') {
      throw new Refusal('query.execution', 'users are changed outside of transactions');
    }
    if (prepared.kind === 'explain' || prepared.kind === 'explained-command') {
      const cursor =
        prepared.kind === 'explain'
          ? await this.#explain(parts, prepared)
          : this.#tellCommand(parts, prepared.explanation);
      held.done();
      return cursor;
    }
    if (prepared.kind === 'needs-types') {
      await this.makeTypes(parts, prepared.missing);
      this.#underNewTypes(parts.session, transaction);
      return this.#runHeld(parts, held, transaction);
    }
    const cursor = await this.#script(parts, prepared.script, transaction);
    held.charge();
    held.done();
    return cursor;
  }

  #read(parts: StatementContext, query: PreparedQuery): ResultCursor | Promise<ResultCursor> {
    const {context} = parts.session.schema;
    const reader = parts.session.database.read();
    const release = (): void => reader.close();
    // A plan reads only a view in which its catalog is in force.
    if (reader.schemaVersion !== context.catalog.version) {
      release();
      return this.#readAgain(parts);
    }
    const data = {kind: 'read', reader, context} as const;
    return this.#stream(parts, query, data, {done: release, failed: release});
  }

  /** A schema change is applied and not announced yet. */
  async #readAgain(parts: StatementContext): Promise<ResultCursor> {
    await this.environment.timers.yield();
    if (parts.signal.aborted) throw queryTerminated();
    const prepared = prepare(parts);
    return this.#read(parts, prepared.kind === 'explain' ? prepared.inner : requireQuery(prepared));
  }

  /** The cursor has its first piece, so that what is refused at once is refused here. */
  #stream(
    parts: StatementContext,
    plain: PreparedQuery,
    data: RunData,
    ends: {readonly done: () => void; readonly failed: () => void},
  ): ResultCursor | Promise<ResultCursor> {
    const streaming = (place: ExecutionPermit): ResultCursor | Promise<ResultCursor> => {
      const {query, report: tell} = this.#watched(parts, plain);
      const {result, close} = this.#begun(parts, query, data);
      const summary = newSummary(result.limit);
      summary.columns = query.columns;
      const cursor = new StreamCursor({
        result,
        summary,
        place,
        partialOnTimeout: query.onTimeout === 'partial',
        onEnd: failure => {
          close();
          place.leave();
          if (failure === undefined) tell(summary);
          parts.end(failure);
          if (failure === undefined) ends.done();
          else ends.failed();
        },
      });
      parts.onTerminate(reason => cursor.terminate(reason));
      return cursor.begin();
    };
    return mapError(
      () =>
        this.#admission.within(parts.guard?.user, place =>
          mapError(
            () => streaming(place),
            () => place.leave(),
          ),
        ),
      ends.failed,
    );
  }

  /** On a thread of its own when it is likely to be long, or when it turns out to hold this one. */
  #begun(parts: StatementContext, query: PreparedQuery, data: RunData): Streaming {
    const threads = this.#threads;
    if (threads === undefined || !threads.mayTake(parts, query, data)) {
      return this.#here(parts, query, data);
    }
    const elsewhere = (): Streaming | undefined => {
      const result = threads.start(
        parts,
        query,
        data,
        this.consistencyOf(parts.request, parts.access),
      );
      return result && {result, close: () => result.close()};
    };
    const far = threads.isFor(query) ? elsewhere() : undefined;
    if (far !== undefined) return far;
    const here = this.#here(parts, query, data);
    here.budget.mayMove = true;
    const movable = new RestartableResult(
      here,
      () => elsewhere() ?? this.#here(parts, query, data),
    );
    return {result: movable, close: () => movable.end()};
  }

  #here(
    parts: StatementContext,
    query: PreparedQuery,
    data: RunData,
  ): Streaming & {readonly budget: Budget} {
    const run = new StatementRun(query, data, runOptions(parts), this.environment);
    const result = run.result(this.consistencyOf(parts.request, parts.access));
    return {result, close: () => run.close(), budget: run.context.budget};
  }

  #write(parts: StatementContext, query: PreparedQuery): Promise<ResultCursor> {
    let prepared: PreparedQuery | undefined = query;
    let watched: ProfiledQuery | undefined;
    const attempt = (data: RunData): ResultCursor | Promise<ResultCursor> => {
      // Prepared anew for another attempt: the conflict may have been about the schema.
      watched = this.#watched(parts, prepared ?? requireQuery(prepare(parts)));
      prepared = undefined;
      return this.#collect(parts, watched.query, data);
    };
    return this.inTransaction(parts, attempt, query).then(
      cursor => {
        watched?.report(cursor.summary);
        parts.end();
        return cursor;
      },
      (error: unknown) => this.#writeFailed(parts, error),
    );
  }

  /** Again, with the types that the data asked for, as often as it finds new ones. */
  async #writeFailed(parts: StatementContext, error: unknown): Promise<ResultCursor> {
    try {
      if (error instanceof MissingSource) return await this.#fetched(parts, error);
      if (!(error instanceof MissingTypes)) throw ofOneEntry(error);
      await this.makeTypes(parts, error.types);
      return await this.#write(parts, requireQuery(prepare(parts)));
    } finally {
      parts.end();
    }
  }

  /** A script holds one place from its begin to its end; `outer` is the client's transaction. */
  #script(parts: StatementContext, script: Script, outer?: Transaction): Promise<ResultCursor> {
    return Promise.resolve(
      this.#admission.within(parts.guard?.user, place =>
        finallyDo(
          () => runScript(this, partsWith(parts, {place}), script, outer),
          () => place.leave(),
        ),
      ),
    );
  }

  /** Runs to the end and keeps the rows; in a promise only when it had to wait. */
  #collect(
    parts: StatementContext,
    query: PreparedQuery,
    data: RunData,
  ): ResultCursor | Promise<ResultCursor> {
    if (
      query.single !== undefined &&
      data.kind === 'write' &&
      this.#admission.isOpen(parts.guard?.user)
    ) {
      const made = runSingle(query.single, query.form, {
        parts,
        data,
        requested: this.consistencyOf(parts.request, parts.access),
      });
      if (made !== undefined) return made;
    }
    return this.#admission.within(parts.guard?.user, place => {
      let run: StatementRun | undefined;
      return finallyDo(
        () => {
          run = new StatementRun(query, data, runOptions(parts), this.environment);
          const result = run.result(this.consistencyOf(parts.request, parts.access));
          const pieces: Buffer[] = [];
          const pausing = takePieces(result, pieces);
          const collected = (): ResultCursor => {
            run?.requireComplete();
            const summary = newSummary(result.limit);
            summary.returned = result.returned;
            summary.truncated = result.truncated;
            summary.wrote = true;
            summary.columns = query.columns;
            if (query.reportsStats) summary.stats = run?.stats();
            return new PiecesCursor(pieces, summary);
          };
          return pausing === undefined ? collected() : pausing.then(collected);
        },
        () => {
          run?.close();
          place.leave();
        },
      );
    });
  }

  #tellCommand(parts: StatementContext, explanation: Explanation): ResultCursor {
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    parts.end();
    attachPlan(summary, explanation);
    return rowsCursor([], parts.request.format, summary);
  }

  async #explain(
    parts: StatementContext,
    {execute, inner}: Extract<Prepared, {kind: 'explain'}>,
  ): Promise<ResultCursor> {
    const summary = newSummary(this.#settings().get('svc.server.httpQueryDefaultLimit'));
    const measured = execute ? profiled(parts, inner, this.environment.clock) : undefined;
    if (measured !== undefined) {
      if (inner.writes && parts.request.readOnly) throw notIdempotent();
      const request = {...parts.request, format: 'record' as const, profile: undefined};
      try {
        const cursor = inner.writes
          ? await this.#writePrepared(partsWith(parts, {request}), measured.query)
          : await this.#read(partsWith(parts, {request}), measured.query);
        while ((await cursor.next()) !== undefined);
        cursor.close();
      } catch (error) {
        if (!(error instanceof MissingTypes)) throw error;
        await this.makeTypes(parts, error.types);
        return this.run(parts);
      }
    }
    parts.end();
    if (measured !== undefined) measured.report(summary);
    else attachPlan(summary, explained(inner, optionsOf(parts), {isGuarded: isGuarded(parts)}));
    return rowsCursor([], parts.request.format, summary);
  }

  #watched(parts: StatementContext, query: PreparedQuery): ProfiledQuery {
    return asRequested(parts, query, this.environment.clock, this.#profiler?.isRecording === true);
  }

  #writePrepared(parts: StatementContext, query: PreparedQuery): Promise<ResultCursor> {
    return this.inTransaction(parts, data => this.#collect(parts, query, data), query);
  }
}

/** How a statement is carried out in a transaction of its own: looked up where it is asked for. */
class OwnTransaction implements TransactOptions {
  readonly #runner: StatementRunner;
  readonly #parts: StatementContext;
  readonly #query: Pick<PreparedQuery, 'retry' | 'contention'> | undefined;

  constructor(
    runner: StatementRunner,
    parts: StatementContext,
    query: Pick<PreparedQuery, 'retry' | 'contention'> | undefined,
  ) {
    this.#runner = runner;
    this.#parts = parts;
    this.#query = query;
  }

  get session(): DatabaseSession {
    return this.#parts.session;
  }

  get environment(): RunEnvironment {
    return this.#runner.environment;
  }

  get signal(): Cancellation {
    return this.#parts.signal;
  }

  get retries(): number {
    const stated = this.#query?.retry?.times ?? this.#parts.request.retries;
    return stated ?? this.#runner.retriesOf(this.session);
  }

  get waitMs(): number | undefined {
    return this.#query?.retry?.waitMs;
  }

  get requestId(): string | undefined {
    return this.#parts.request.requestId;
  }

  get contention(): Contention | undefined {
    return this.#query?.contention;
  }

  committed({changes}: RecordWriter): Promise<void> | undefined {
    return this.session.views.follow(changes);
  }
}
