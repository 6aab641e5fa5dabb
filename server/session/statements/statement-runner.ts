/**
 * Runs statements: prepares each and gives it to what carries out its kind, alone or inside a
 * client's transaction.
 *
 * A write answers only after its commit is known: its rows are kept until then. A conflict runs
 * it again from the start (new snapshot, newest schema), up to the retries allowed; an unknown
 * outcome never does. Inside a client's transaction nothing is retried and any failure ends it.
 */
import {unreachable} from '#server/base/assert.ts';
import {eitherOf} from '#server/base/cancellation.ts';
import {Refusal} from '#server/base/errors.ts';
import {finallyDo, recover} from '#server/base/maybe-promise.ts';
import {ofOneEntry} from '#server/cluster/leadership.ts';
import {MissingSource, MissingTypes} from '#server/execution/missing-prerequisites.ts';
import type {MissingType} from '#server/plan/statement.ts';
import type {Script} from '#server/languages/sql/ast-statement.ts';
import type {Transaction} from '#server/transactions/transaction-contract.ts';
import {newSummary, rowsCursor} from '../connections/cursors.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import type {HeldSession} from '../connections/transaction-sessions.ts';
import {explained, type Prepared} from '../preparation/prepared.ts';
import type {PreparedQuery} from '../preparation/prepared-query.ts';
import {
  isLong,
  notIdempotent,
  prepare,
  prepareAhead,
  requireQuery,
  sourceInside,
  typesInside,
  withoutSession,
} from '../preparation/statement-preparation.ts';
import {runScript} from '../programs/script-runner.ts';
import {runSessionCommand} from '../schema/session-command.ts';
import type {ResultCursor} from '../session.ts';
import type {Owner} from './admission.ts';
import {runBatched} from './batched-run.ts';
import {CommandStatements} from './command-statements.ts';
import {attachPlan, isGuarded, optionsOf, profiled} from './profiled-query.ts';
import {ReadStatements} from './read-statements.ts';
import {
  limitDefault,
  partsWith,
  requestedOptions,
  type StatementContext,
  type StatementDependencies,
  type StatementHost,
} from './statement-context.ts';
import type {RunData, RunEnvironment, WriteData} from './statement-run.ts';
import {TransactionSchemas} from './transaction-schemas.ts';
import {WriteStatements} from './write-statements.ts';

export class StatementRunner implements StatementHost {
  readonly environment: RunEnvironment;
  readonly #dependencies: StatementDependencies;
  readonly #reads: ReadStatements;
  readonly #writes: WriteStatements;
  readonly #commands: CommandStatements;
  readonly #schemas = new TransactionSchemas();

  constructor(dependencies: StatementDependencies) {
    this.environment = dependencies.environment;
    this.#dependencies = dependencies;
    this.#reads = new ReadStatements(dependencies);
    this.#writes = new WriteStatements(dependencies);
    this.#commands = new CommandStatements(dependencies);
  }

  get limitDefault(): number {
    return limitDefault(this.#dependencies.settings());
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

  /** Runs it again with what it asked for from outside; it wrote nothing that stands. */
  async #fetched(parts: StatementContext, error: unknown): Promise<ResultCursor> {
    if (!(error instanceof MissingSource)) throw error;
    await parts.sources.fetch(error.address);
    return this.run(parts);
  }

  #run(parts: StatementContext, prepared: Prepared): ResultCursor | Promise<ResultCursor> {
    switch (prepared.kind) {
      case 'query':
        return this.#reads.read(parts, prepared);
      case 'schema':
        return this.#commands.changeSchema(parts, prepared);
      case 'user':
        return this.#commands.changeUser(parts, prepared.command);
      case 'align':
        return this.#commands.alignCopies(parts);
      case 'transfer':
        return this.#commands.transferDatabase(parts, prepared.command);
      case 'explained-command':
        return this.#commands.explain(parts, prepared.explanation);
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

  #write(parts: StatementContext, query: PreparedQuery): Promise<ResultCursor> {
    return this.#writes.write(parts, query, error => this.#writeFailed(parts, error));
  }

  /** Runs it again with the types that the data asked for, as often as it finds new ones. */
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

  #runBatched(parts: StatementContext): Promise<ResultCursor> {
    const {admission, settings} = this.#dependencies;
    return Promise.resolve(
      admission.within(parts.guard?.user, place =>
        finallyDo(
          () => runBatched(this, parts, requestedOptions(parts, settings())),
          () => place.leave(),
        ),
      ),
    );
  }

  inTransaction<T>(parts: StatementContext, work: (data: RunData) => T | Promise<T>): Promise<T> {
    return this.#writes.inTransaction(parts, work);
  }

  makeTypes(parts: StatementContext, missing: readonly MissingType[]): Promise<void> {
    return this.#commands.makeTypes(parts, missing);
  }

  async #runWithTypes(
    parts: StatementContext,
    missing: readonly MissingType[],
  ): Promise<ResultCursor> {
    await this.makeTypes(parts, missing);
    return this.run(parts);
  }

  /** A script holds one place from its begin to its end; `outer` is the client's transaction. */
  #script(parts: StatementContext, script: Script, outer?: Transaction): Promise<ResultCursor> {
    return Promise.resolve(
      this.#dependencies.admission.within(parts.guard?.user, place =>
        finallyDo(
          () => runScript(this, partsWith(parts, {place}), script, outer),
          () => place.leave(),
        ),
      ),
    );
  }

  async #explain(
    parts: StatementContext,
    {execute, answersRows, inner}: Extract<Prepared, {kind: 'explain'}>,
  ): Promise<ResultCursor> {
    if (execute && answersRows && !inner.writes) {
      const profile = parts.request.profile ?? 'plan';
      return this.#reads.read(partsWith(parts, {request: {...parts.request, profile}}), inner);
    }
    const summary = newSummary(this.limitDefault);
    const measured = execute ? profiled(parts, inner, this.environment.clock) : undefined;
    if (measured !== undefined) {
      if (inner.writes && parts.request.readOnly) throw notIdempotent();
      try {
        await this.#runMeasured(parts, measured.query);
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

  async #runMeasured(outer: StatementContext, query: PreparedQuery): Promise<void> {
    const request = {...outer.request, format: 'record' as const, profile: undefined};
    const parts = partsWith(outer, {request});
    const collect = (data: RunData): ResultCursor | Promise<ResultCursor> =>
      this.#writes.collect(parts, query, data);
    const cursor = query.writes
      ? await this.#writes.inTransaction(parts, collect, query)
      : await this.#reads.read(parts, query);
    while ((await cursor.next()) !== undefined);
    cursor.close();
  }

  /** A statement of a client's session, which has a transaction unless it was ended in it. */
  async runInside(outer: StatementContext, held: HeldSession): Promise<ResultCursor> {
    const parameters = held.parameters.under(outer.request.parameters);
    const readOnly = outer.request.readOnly || held.readOnly;
    const request = {...outer.request, parameters, readOnly};
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
        const cursor = await this.#writes.collect(parts, prepared, data);
        // Told to stop too late to notice: what it wrote is not there all the same.
        if (held.aborted) throw new Refusal('query.terminated', 'the transaction was terminated');
        held.charge();
        held.done();
        parts.end();
        return cursor;
      }
      return await this.#reads.stream(parts, prepared, data, {
        done: () => held.done(),
        failed: () => held.fail(),
      });
    } catch (error) {
      held.fail();
      if (error instanceof MissingSource) throw sourceInside(error);
      throw error instanceof MissingTypes ? typesInside(error.types) : error;
    }
  }

  async #commandInside(
    parts: StatementContext,
    prepared: Exclude<Prepared, PreparedQuery>,
    held: HeldSession,
    transaction: Transaction,
  ): Promise<ResultCursor> {
    switch (prepared.kind) {
      case 'session':
        return runSessionCommand(this, parts, prepared, held);
      case 'schema': {
        requireNoWrites(transaction);
        const cursor = await this.run(parts);
        this.#schemas.release(transaction);
        held.done();
        return cursor;
      }
      case 'explain':
      case 'explained-command': {
        const cursor =
          prepared.kind === 'explain'
            ? await this.#explain(parts, prepared)
            : this.#commands.explain(parts, prepared.explanation);
        held.done();
        return cursor;
      }
      case 'needs-types':
        await this.makeTypes(parts, prepared.missing);
        this.#schemas.extend(parts.session, transaction);
        return this.#runHeld(parts, held, transaction);
      case 'script': {
        const cursor = await this.#script(parts, prepared.script, transaction);
        held.charge();
        held.done();
        return cursor;
      }
      default:
        throw new Refusal('query.execution', outsideOnly(prepared));
    }
  }

  beginStatement(session: DatabaseSession, transaction: Transaction): WriteData {
    return this.#schemas.begin(session, transaction);
  }

  committed(session: DatabaseSession, transaction: Transaction, user: Owner): Promise<void> {
    return this.#schemas.committed(session, transaction, user);
  }
}

function requireNoWrites({hasWrites}: Transaction): void {
  if (!hasWrites) return;
  throw new Refusal(
    'query.execution',
    'a schema change is an entry of its own: commit what the transaction wrote before it',
  );
}

/** Why the statement stands in no transaction. */
function outsideOnly(
  prepared: Extract<Prepared, {kind: 'batched' | 'align' | 'transfer' | 'user'}>,
): string {
  switch (prepared.kind) {
    case 'batched':
      return (
        'BATCH and IN TRANSACTIONS commit by themselves: ' +
        'the statement stands in no transaction'
      );
    case 'align':
      return 'ALIGN DATABASE stands in no transaction';
    case 'transfer':
      return `${prepared.command.what.toUpperCase()} DATABASE stands in no transaction`;
    case 'user':
      return 'users are changed outside of transactions';
    default:
      return unreachable(prepared);
  }
}
