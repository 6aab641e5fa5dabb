/**
 * Runs statements that only read: over a store snapshot in which their schema is in force, or over
 * that of a transaction, here or on a scan thread; rows are streamed as they are made.
 */
import {queryTerminated} from '#server/base/errors.ts';
import {mapError} from '#server/base/maybe-promise.ts';
import type {Budget} from '#server/execution/budget.ts';
import {newSummary} from '../connections/cursors.ts';
import type {PreparedQuery} from '../preparation/prepared-query.ts';
import {prepare, requireQuery} from '../preparation/statement-preparation.ts';
import type {ResultCursor} from '../session.ts';
import {RestartableResult} from '../threads/restartable-result.ts';
import {ThreadDispatch} from '../threads/thread-dispatch.ts';
import type {ExecutionPermit} from './admission.ts';
import {asRequested} from './profiled-query.ts';
import {
  requestedOptions,
  runOptions,
  type StatementContext,
  type StatementDependencies,
} from './statement-context.ts';
import {type RunData, StatementRun} from './statement-run.ts';
import {StreamCursor, type Streaming} from './stream-cursor.ts';

export class ReadStatements {
  readonly #dependencies: StatementDependencies;
  readonly #threads: ThreadDispatch | undefined;

  constructor(dependencies: StatementDependencies) {
    this.#dependencies = dependencies;
    const {threads} = dependencies;
    this.#threads = threads && new ThreadDispatch({...dependencies, threads});
  }

  read(parts: StatementContext, query: PreparedQuery): ResultCursor | Promise<ResultCursor> {
    const {context} = parts.session.schema;
    const reader = parts.session.database.read();
    const release = (): void => reader.close();
    // A plan reads only a snapshot in which its catalog is in force.
    if (reader.schemaVersion !== context.catalog.version) {
      release();
      return this.#readAgain(parts);
    }
    const data = {kind: 'read', reader, context} as const;
    return this.stream(parts, query, data, {done: release, failed: release});
  }

  /** A schema change is applied and not announced yet. */
  async #readAgain(parts: StatementContext): Promise<ResultCursor> {
    await this.#dependencies.environment.timers.yield();
    if (parts.signal.aborted) throw queryTerminated();
    const prepared = prepare(parts);
    return this.read(parts, prepared.kind === 'explain' ? prepared.inner : requireQuery(prepared));
  }

  /** The cursor has its first piece, so that what is refused at once is refused here. */
  stream(
    parts: StatementContext,
    plain: PreparedQuery,
    data: RunData,
    ends: {readonly done: () => void; readonly failed: () => void},
  ): ResultCursor | Promise<ResultCursor> {
    const {admission} = this.#dependencies;
    const streaming = (place: ExecutionPermit): ResultCursor | Promise<ResultCursor> => {
      const {query, report} = asRequested(parts, plain, this.#dependencies);
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
          if (failure === undefined) report(summary);
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
        admission.within(parts.guard?.user, place =>
          mapError(
            () => streaming(place),
            () => place.leave(),
          ),
        ),
      ends.failed,
    );
  }

  /** Runs on a thread of its own if it is likely to be long, or turns out to hold this one. */
  #begun(parts: StatementContext, query: PreparedQuery, data: RunData): Streaming {
    const threads = this.#threads;
    if (threads === undefined || !threads.mayTake(parts, query, data)) {
      return this.#here(parts, query, data);
    }
    const elsewhere = (): Streaming | undefined => {
      const requested = requestedOptions(parts, this.#dependencies.settings());
      const result = threads.start(parts, query, data, requested);
      return result && {result, close: () => result.close()};
    };
    const far = threads.isFor(query) ? elsewhere() : undefined;
    if (far !== undefined) return far;
    const here = this.#here(parts, query, data);
    here.budget.moves = threads.movesOf(parts);
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
    const {environment, settings} = this.#dependencies;
    const run = new StatementRun(query, data, runOptions(parts), environment);
    const result = run.result(requestedOptions(parts, settings()));
    return {result, close: () => run.close(), budget: run.context.budget};
  }
}
