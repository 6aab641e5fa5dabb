/**
 * Rows carried out in transactions of their own: `CALL {...} IN TRANSACTIONS`, and BATCH.
 *
 * The rows before the call stream from one snapshot; so many at a time are a transaction, committed
 * before the next ones are read. What was committed stays, whatever follows. A transaction that
 * fails is taken back as a whole, and the statement says what becomes of the rest; one whose
 * outcome is unknown ends the statement. Between the plans records are ids: each transaction reads
 * them as they are then.
 */
import {Refusal} from '#server/base/errors.ts';
import {type Batch, BatchBuilder, unitBatch} from '#server/execution/batch.ts';
import {type Closure, RowCursor} from '#server/execution/closure.ts';
import {MissingSource, MissingTypes} from '#server/execution/missing-prerequisites.ts';
import type {MissingType} from '#server/plan/statement.ts';
import {countsText, newWriteCounts, type WriteCounts} from '#server/execution/context.ts';
import {isIntegerValue, isNumberValue, numberOf} from '#server/model/number.ts';
import {RecordValue, type Value} from '#server/model/value.ts';
import {newSummary, PiecesCursor, takePieces} from '../connections/cursors.ts';
import type {PreparedBatched} from '../preparation/prepared.ts';
import {prepare, requireBatched} from '../preparation/statement-preparation.ts';
import {readerInForce} from '../schema/current-schema-reader.ts';
import type {ResultCursor} from '../session.ts';
import {runOptions, type StatementContext} from './statement-context.ts';
import {
  type ReadData,
  type ResultOptions,
  type RunData,
  type RunEnvironment,
  type RunOptions,
  StatementRun,
} from './statement-run.ts';
import {backOff, isConflict} from './transact.ts';

/** What the runner of statements does for this one. */
export interface BatchedHost {
  readonly environment: RunEnvironment;
  inTransaction<T>(parts: StatementContext, work: (data: RunData) => T | Promise<T>): Promise<T>;
  makeTypes(parts: StatementContext, missing: readonly MissingType[]): Promise<void>;
}

/** The rows that all transactions gave, for the plan behind the call. */
interface BatchedRows {
  readonly rows: Batch;
  readonly counts: WriteCounts;
}

const sizeMax = 1_000_000;
/** Bytes that a kept row counts as. */
const rowBytes = 512;

/** The answer is whole before its first byte leaves: what it tells of is committed. */
export async function runBatched(
  host: BatchedHost,
  parts: StatementContext,
  requested: ResultOptions,
): Promise<ResultCursor> {
  const {environment} = host;
  const options = runOptions(parts);
  const prepared = (): PreparedBatched => requireBatched(prepare(parts));
  const {rows, counts} = await reading(parts, environment, data =>
    new BatchedRun(host, parts, options, prepared).run(data),
  );
  try {
    return await reading(parts, environment, async data => {
      const run = new StatementRun(prepared().after, data, options, environment, rows);
      const result = run.result(requested);
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
      summary.stats = countsText(counts);
      return new PiecesCursor(pieces, summary);
    });
  } finally {
    parts.end();
  }
}

/** Works over a snapshot in which the schema is in force. */
async function reading<T>(
  {session: {database, schema}}: StatementContext,
  {timers}: RunEnvironment,
  work: (data: ReadData) => Promise<T>,
): Promise<T> {
  const {reader, context} = await readerInForce(database, schema, timers);
  try {
    return await work({kind: 'read', reader, context});
  } finally {
    reader.close();
  }
}

class BatchedRun {
  readonly #host: BatchedHost;
  #parts: StatementContext;
  readonly #options: RunOptions;
  /** The statement, bound against the schema as it is: each transaction has its own. */
  readonly #prepared: () => PreparedBatched;
  /** The first binding: what it says of sizes and errors does not change. */
  readonly #first: PreparedBatched;
  readonly #kept = new BatchBuilder();
  readonly #counts = newWriteCounts();
  #committedRows = 0;
  #isBroken = false;

  constructor(
    host: BatchedHost,
    parts: StatementContext,
    options: RunOptions,
    prepared: () => PreparedBatched,
  ) {
    this.#host = host;
    this.#parts = parts;
    this.#options = options;
    this.#prepared = prepared;
    this.#first = prepared();
  }

  /** @throws {Refusal} of a transaction, when the statement says that one ends it. */
  async run(data: ReadData): Promise<BatchedRows> {
    const prepared = this.#first;
    const {environment} = this.#host;
    const before = new StatementRun(prepared.before, data, this.#options, environment);
    const size = sizeOf(prepared.size, before);
    let pending = new BatchBuilder();
    try {
      for (;;) {
        const batch = await this.#next(before);
        if (batch === undefined) break;
        for (let row = 0; row < batch.rowCount; row += 1) {
          copyIds(pending, batch, row);
          if (pending.rowCount < size) continue;
          await this.#transact(pending.take(), before);
          pending = new BatchBuilder();
        }
      }
      if (pending.rowCount > 0) await this.#transact(pending.take(), before);
    } finally {
      before.close();
    }
    return {rows: this.#kept.take(), counts: this.#counts};
  }

  /** A run that is begun again would carry rows out twice. */
  async #next(before: StatementRun): Promise<Batch | undefined> {
    try {
      return await before.nextBatch();
    } catch (error) {
      if (!(error instanceof MissingSource) || this.#committedRows === 0) throw error;
      throw new Refusal(
        'query.execution',
        `'${error.address}' is named only after ${this.#committedRows} rows were committed: ` +
          'name it before the rows',
      );
    }
  }

  async #transact(rows: Batch, before: StatementRun): Promise<void> {
    const {onError} = this.#first.statement;
    if (this.#isBroken) return this.#keep(rows, before, {started: false, error: undefined});
    try {
      const {batches, counts} = await this.#committed(rows, before);
      this.#committedRows += rows.rowCount;
      // Of several commits the first has the id: sent again, the statement is not begun again.
      this.#parts = {...this.#parts, request: {...this.#parts.request, requestId: undefined}};
      addCounts(this.#counts, counts);
      for (const batch of batches) this.#keep(batch, before, {started: true, error: undefined});
    } catch (error) {
      if (!(error instanceof Refusal) || onError === 'fail' || endsAll.has(error.code)) throw error;
      if (onError === 'break') this.#isBroken = true;
      this.#keep(rows, before, {started: true, error});
    }
  }

  /** Repeats it as long as the statement says, and with what the rows turn out to need. */
  async #committed(
    rows: Batch,
    before: StatementRun,
  ): Promise<{readonly batches: readonly Batch[]; readonly counts: WriteCounts | undefined}> {
    const {clock} = this.#host.environment;
    const {retryMs} = this.#first;
    const until =
      clock.monotonic() + (retryMs === undefined ? 0 : numberOfClosure(retryMs, before));
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#host.inTransaction(this.#parts, data => this.#inner(rows, data));
      } catch (error) {
        if (error instanceof MissingTypes) await this.#host.makeTypes(this.#parts, error.types);
        else if (error instanceof MissingSource) await this.#parts.sources.fetch(error.address);
        else if (isConflict(error) && clock.monotonic() < until) {
          const {signal} = this.#parts;
          await backOff(this.#host.environment, {attempt, signal, waitMs: undefined});
        } else throw error;
      }
    }
  }

  async #inner(
    rows: Batch,
    data: RunData,
  ): Promise<{readonly batches: readonly Batch[]; readonly counts: WriteCounts | undefined}> {
    const {inner} = this.#prepared();
    const run = new StatementRun(inner, data, this.#options, this.#host.environment, rows);
    const batches: Batch[] = [];
    try {
      for (let batch = await run.nextBatch(); batch; batch = await run.nextBatch()) {
        batches.push(batch);
      }
      run.requireComplete();
      return {batches, counts: run.counts()};
    } finally {
      run.close();
    }
  }

  /** Rows that nobody asks for are not kept. */
  #keep(
    rows: Batch,
    before: StatementRun,
    outcome: {readonly started: boolean; readonly error: Refusal | undefined},
  ): void {
    const {answers, results, status} = this.#first.statement;
    if (!answers) return;
    before.context.budget.keep(rows.rowCount * rowBytes);
    const {started, error} = outcome;
    const failed = !started || error !== undefined;
    for (let row = 0; row < rows.rowCount; row += 1) {
      copyIds(this.#kept, rows, row);
      if (failed) for (const slot of results) this.#kept.set(slot, null);
      if (status !== undefined) this.#kept.set(status, statusOf(started, !failed, error));
    }
  }
}

/** Whatever the statement says of errors: nothing more may be done after these. */
const endsAll = new Set(['query.terminated', 'query.timeout', 'query.memory', 'commit.unknown']);

function statusOf(started: boolean, committed: boolean, error: Refusal | undefined): Value {
  return new Map<string, Value>([
    ['started', started],
    ['committed', committed],
    ['transactionId', null],
    ['errorMessage', error?.message ?? null],
  ]);
}

/** Starts a row like another one, with ids in the place of records. */
function copyIds(into: BatchBuilder, batch: Batch, row: number): void {
  into.copy(batch, row);
  batch.columns.forEach((column, slot) => {
    const value = column?.[row];
    if (value instanceof RecordValue) into.set(slot, value.rid);
  });
}

function addCounts(sum: WriteCounts, more: WriteCounts | undefined): void {
  for (const name of Object.keys(sum) as (keyof WriteCounts)[]) sum[name] += more?.[name] ?? 0;
}

function sizeOf(closure: Closure, {context}: StatementRun): number {
  const size = closure(new RowCursor(context, unitBatch));
  if (isIntegerValue(size) && Number(size) >= 1 && Number(size) <= sizeMax) return Number(size);
  throw new Refusal('argument', `a transaction has 1 to ${sizeMax} rows`);
}

function numberOfClosure(closure: Closure, {context}: StatementRun): number {
  const value = closure(new RowCursor(context, unitBatch));
  if (isNumberValue(value)) return numberOf(value);
  throw new Refusal('argument', 'a number of seconds is needed to retry for');
}
