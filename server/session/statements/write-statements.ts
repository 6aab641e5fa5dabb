/**
 * Runs statements that write: to their end inside a transaction, which is committed before anybody
 * is answered. A conflict runs the work again (transact.ts).
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import {finallyDo} from '#server/base/maybe-promise.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import type {RecordWriter} from '#server/records/records.ts';
import {newSummary, PiecesCursor, takePieces} from '../connections/cursors.ts';
import type {DatabaseSession} from '../connections/database-session.ts';
import type {PreparedQuery} from '../preparation/prepared-query.ts';
import {prepare, requireQuery} from '../preparation/statement-preparation.ts';
import type {ResultCursor} from '../session.ts';
import type {Contention} from './contention.ts';
import {asRequested, type ProfiledQuery} from './profiled-query.ts';
import {runSingle} from './single-run.ts';
import {
  requestedOptions,
  runOptions,
  type StatementContext,
  type StatementDependencies,
} from './statement-context.ts';
import {type RunData, type RunEnvironment, StatementRun} from './statement-run.ts';
import {transact, type TransactOptions} from './transact.ts';

/** What a query says of the transaction that it runs in. */
type RetryOptions = Pick<PreparedQuery, 'retry' | 'contention'>;

export class WriteStatements {
  readonly #dependencies: StatementDependencies;

  constructor(dependencies: StatementDependencies) {
    this.#dependencies = dependencies;
  }

  /** @param onFailure - Answers instead, or ends the statement. */
  write(
    parts: StatementContext,
    query: PreparedQuery,
    onFailure: (error: unknown) => Promise<ResultCursor>,
  ): Promise<ResultCursor> {
    let prepared: PreparedQuery | undefined = query;
    let watched: ProfiledQuery | undefined;
    const attempt = (data: RunData): ResultCursor | Promise<ResultCursor> => {
      // Prepared anew for another attempt: the conflict may have been about the schema.
      const plain = prepared ?? requireQuery(prepare(parts));
      watched = asRequested(parts, plain, this.#dependencies);
      prepared = undefined;
      return this.collect(parts, watched.query, data);
    };
    return this.inTransaction(parts, attempt, query).then(cursor => {
      watched?.report(cursor.summary);
      parts.end();
      return cursor;
    }, onFailure);
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
    query?: RetryOptions,
  ): Promise<T> {
    return transact(new OwnTransaction(this.#dependencies, parts, query), work);
  }

  /** Runs to the end and keeps the rows; in a promise only when it had to wait. */
  collect(
    parts: StatementContext,
    query: PreparedQuery,
    data: RunData,
  ): ResultCursor | Promise<ResultCursor> {
    const {admission, settings} = this.#dependencies;
    const requested = requestedOptions(parts, settings());
    const owner = parts.guard?.user;
    if (query.single !== undefined && data.kind === 'write' && admission.isOpen(owner)) {
      const made = runSingle(query.single, query.form, {parts, data, requested});
      if (made !== undefined) return made;
    }
    return admission.within(owner, place => {
      let run: StatementRun | undefined;
      return finallyDo(
        () => {
          run = new StatementRun(query, data, runOptions(parts), this.#dependencies.environment);
          const result = run.result(requested);
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
}

/** How a statement is carried out in a transaction of its own: looked up where it is asked for. */
class OwnTransaction implements TransactOptions {
  readonly #dependencies: StatementDependencies;
  readonly #parts: StatementContext;
  readonly #query: RetryOptions | undefined;

  constructor(
    dependencies: StatementDependencies,
    parts: StatementContext,
    query: RetryOptions | undefined,
  ) {
    this.#dependencies = dependencies;
    this.#parts = parts;
    this.#query = query;
  }

  get session(): DatabaseSession {
    return this.#parts.session;
  }

  get environment(): RunEnvironment {
    return this.#dependencies.environment;
  }

  get signal(): Cancellation {
    return this.#parts.signal;
  }

  get retries(): number {
    const stated = this.#query?.retry?.times ?? this.#parts.request.retries;
    if (stated !== undefined) return stated;
    const ofDatabase = databaseSetting(this.session.schema.catalog, 'svc.txRetries');
    return ofDatabase ?? this.#dependencies.settings().get('svc.txRetries');
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
    return this.session.views.follow(changes, this.#parts.guard?.user);
  }
}
