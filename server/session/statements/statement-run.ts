/**
 * One run of a prepared query: in a transaction, or over a snapshot that nothing changes.
 *
 * Makes the execution context (data, rights, budget), asks the gate for a place, and gives the
 * rows as bytes or as values. Whoever starts a run closes it; that ends its operators, gives its
 * place back and releases its snapshot.
 */
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {databaseSetting} from '#server/catalog/database-settings.ts';
import {type Batch, batchRowsDefault, unitBatch} from '#server/execution/batch.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Budget, type BudgetLimits, type MemoryPool} from '#server/execution/budget.ts';
import {
  countsText,
  type ExecutionContext,
  newWriteCounts,
  SubplanMemo,
  type WriteCounts,
} from '#server/execution/context.ts';
import {type Closure, RowCursor} from '#server/execution/closure.ts';
import {GraphReader} from '#server/execution/graph-reader.ts';
import {GraphWriter} from '#server/execution/graph-writer.ts';
import {keepValue, rowValue} from '#server/execution/output.ts';
import {QueryResult} from '#server/execution/query-result.ts';
import type {RecordJson} from '#server/execution/record-format.ts';
import type {VisibleServer, Sources} from '#server/execution/external-access.ts';
import {PlanRun} from '#server/execution/run.ts';
import {isNumberValue, numberOf} from '#server/model/number.ts';
import type {Value} from '#server/model/value.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import {RecordWriter} from '#server/records/records.ts';
import type {RecordTally} from '#server/records/writer-notes.ts';
import type {RecordContext} from '#server/records/context.ts';
import type {ReadContext, Transaction} from '#server/transactions/transaction-contract.ts';
import {guardGraph, guardWrites} from '../guarded-graph.ts';
import {type GraphsFor, Programs} from '../programs/inner-programs.ts';
import {type PreparedQuery, requireParameters} from '../preparation/prepared-query.ts';
import type {ReadSchema} from '#server/records/context.ts';
import type {Guard, TargetDatabase} from './target-database.ts';
import type {Parameters, ResultFormat} from '../session.ts';
import {type Fire, firingReads, firingWrites, hasTriggers} from '../programs/trigger-graph.ts';
import {TypeGuard} from '../type-guard.ts';

/** How long a statement may run unless it says less; 0: without end. */
export function serverTimeoutMs(catalog: Catalog, environment: RunEnvironment): number {
  return databaseSetting(catalog, 'svc.command.timeout') ?? environment.timeoutMs();
}

/** What a statement may spend beside time. */
export function limitsOf(environment: RunEnvironment): BudgetLimits {
  const {pool} = environment;
  return {
    memoryBytesMax: environment.memoryBytesMax(),
    valueBytesMax: environment.valueBytesMax(),
    pool,
  };
}

/** What every run of one server shares. */
export interface RunEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  /** `svc.queryMemoryMax`. */
  readonly memoryBytesMax: () => number;
  /** `svc.queryValueSizeMax`. */
  readonly valueBytesMax: () => number;
  readonly pool: MemoryPool;
  /** `svc.command.timeout`; 0: none. */
  readonly timeoutMs: () => number;
  /** What a call of JavaScript may take on this thread. */
  readonly javascriptMs: () => number;
  /** False on a replica, which takes no writes, not even those that it would make by itself. */
  readonly takesWrites: () => boolean;
}

/** What every run shares, of a server with these settings. */
export function runEnvironment({
  clock,
  random,
  timers,
  pool,
  settings,
  cluster,
}: Pick<RunEnvironment, 'clock' | 'random' | 'timers' | 'pool'> & {
  readonly settings: () => Settings;
  readonly cluster?: {readonly isLeader: boolean} | undefined;
}): RunEnvironment {
  return {
    clock,
    random,
    timers,
    memoryBytesMax: () => settings().get('svc.queryMemoryMax'),
    valueBytesMax: () => settings().get('svc.queryValueSizeMax'),
    pool,
    timeoutMs: () => settings().get('svc.command.timeout'),
    javascriptMs: () => settings().get('svc.javascript.networkCallTimeout'),
    takesWrites: () => cluster?.isLeader ?? true,
  };
}

export interface RunOptions {
  readonly session: TargetDatabase;
  readonly parameters: Parameters;
  readonly signal: Cancellation;
  /** Undefined: nothing from outside is read. */
  readonly sources: Sources | undefined;
  /** Undefined: the server itself asks. */
  readonly server: VisibleServer | undefined;
  /** Undefined: everything is allowed. */
  readonly guard: Guard | undefined;
  /** Wall clock that the statement sees; absent: that of its beginning. */
  readonly startedAt?: number;
  /** How long the client lets it take; absent or 0: as long as others do. */
  readonly timeoutMs?: number | undefined;
}

/** What a run reads, and the schema that is in force there. */
export interface ReadData {
  readonly kind: 'read';
  readonly reader: ReadContext;
  readonly context: ReadSchema;
}

/** What a run reads and writes, and the schema under which it does. */
export interface WriteData {
  readonly kind: 'write';
  readonly transaction: Transaction;
  readonly writer: RecordWriter;
  readonly context: RecordContext;
}

export type RunData = ReadData | WriteData;

/** @param earlier - Of the same transaction, under a schema that this one extends. */
export function writeData(
  transaction: Transaction,
  context: RecordContext,
  earlier?: WriteData,
): WriteData {
  const writer = new RecordWriter(transaction, context, earlier?.writer);
  return {kind: 'write', transaction, writer, context};
}

export interface ResultOptions {
  readonly format: ResultFormat;
  readonly typeHints: boolean;
  /** The caller's own limit; see RunRequest. */
  readonly limit: number | undefined;
  readonly limitDefault: number;
  readonly ceiling: number;
  /** Most rows that the groups of the user let an answer have; -1 for no limit. */
  readonly groupLimit: number;
}

export class StatementRun {
  readonly context: ExecutionContext;
  readonly #query: PreparedQuery;
  readonly #json: RecordJson;
  readonly #environment: RunEnvironment;
  readonly #run: PlanRun;
  readonly #data: RunData;
  readonly #programs: Programs;
  readonly #tallyBefore: RecordTally | undefined;

  constructor(
    query: PreparedQuery,
    data: RunData,
    options: RunOptions,
    environment: RunEnvironment,
    argument?: Batch,
  ) {
    requireParameters(query, options.parameters);
    this.#query = query;
    this.#data = data;
    // A transaction's writer serves all of its statements.
    this.#tallyBefore =
      data.kind === 'write' && query.reportsStats ? copyOf(data.writer.tally) : undefined;
    this.#json = options.session.jsonOf(data.context, query.form);
    this.#environment = environment;
    this.#programs = new Programs({
      session: options.session,
      schema: data.context,
      signal: options.signal,
      memoryBytesMax: environment.memoryBytesMax(),
      callMsMax: environment.javascriptMs(),
    });
    const graphsFor = graphsOf(data, options.session, this.#programs, query.asked);
    this.context = contextOf(query, data, options, environment, {
      programs: this.#programs,
      json: this.#json,
      graphs: graphsFor(options.guard),
    });
    this.#programs.begin(this.context, graphsFor);
    this.#run = new PlanRun(query.plan, this.context, environment.timers, argument);
  }

  /** The rows as bytes. */
  result(requested: ResultOptions): QueryResult {
    const known = this.#known(this.#query.limit);
    const {limit, stated} = answerLimit(requested, known);
    return new QueryResult({
      run: this.#run,
      context: this.context,
      output: this.#query.output,
      json: this.#json,
      options: {
        format: requested.format,
        typeHints: requested.typeHints,
        loneRecords: this.#query.form.loneRecords,
        rowsMax: limit < 0 ? undefined : limit,
        ceilingRows: requested.ceiling < 0 ? Number.POSITIVE_INFINITY : requested.ceiling,
        beyondCeiling: stated ? 'refuse' : 'truncate',
        writes: this.#query.writes,
      },
    });
  }

  /** The next rows with all of their slots, or undefined at the end. */
  nextBatch(): Promise<Batch | undefined> {
    return this.#run.next();
  }

  /** The rows as values, all of them; for scripts. */
  async values(rowsMax: number): Promise<Value[]> {
    const rows: Value[] = [];
    for (let batch = await this.#run.next(); batch !== undefined; batch = await this.#run.next()) {
      for (let row = 0; row < batch.rowCount; row += 1) {
        if (rows.length >= rowsMax) {
          throw new Refusal(
            'query.result-too-large',
            `a statement of the script has more than ${rowsMax} rows`,
            {detail: {limit: rowsMax, args: String(rowsMax)}},
          );
        }
        const value = rowValue(this.#query.output, batch, row, this.context);
        keepValue(value, this.context.budget);
        rows.push(value);
      }
      if (this.context.budget.look()) await this.#run.rest();
    }
    return rows;
  }

  /** @throws {Refusal} `value.validation` when a record was left without what it must have. */
  requireComplete(): void {
    if (this.#data.kind === 'write') this.#data.writer.requireComplete();
  }

  /** What the run has changed; undefined when nobody asks or nothing can be. */
  counts(): WriteCounts | undefined {
    const before = this.#tallyBefore;
    if (this.#data.kind === 'read' || before === undefined) return undefined;
    const {made, deleted} = this.#data.writer.tally;
    return {
      ...this.context.counts,
      nodesCreated: made.vertex - before.made.vertex,
      nodesDeleted: deleted.vertex - before.deleted.vertex,
      relationshipsCreated: made.edge - before.made.edge,
      relationshipsDeleted: deleted.edge - before.deleted.edge,
    };
  }

  /** The same as JSON; undefined when nothing was changed. */
  stats(): string | undefined {
    const counts = this.counts();
    return counts && countsText(counts);
  }

  close(): void {
    this.#run.close();
    this.context.budget.end();
    this.#programs.close();
  }

  /** What a closure without a row says, as a whole number. */
  #known(closure: Closure | undefined): number | undefined {
    return closure && numberWithoutRow(closure, this.context);
  }

  get timers(): Timers {
    return this.#environment.timers;
  }
}

function copyOf({made, deleted}: RecordTally): RecordTally {
  return {made: {...made}, deleted: {...deleted}};
}

/**
 * Rows of an answer at most, negative for no limit: who states one gets it or a refusal, who states
 * none gets at most the ceiling.
 *
 * @param known - The LIMIT of the statement.
 */
export function answerLimit(
  requested: ResultOptions,
  known: number | undefined,
): {readonly limit: number; readonly stated: boolean} {
  const stated = requested.limit !== undefined || known !== undefined;
  const cap = capOf(requested, known);
  const limit = stated ? cap : smallerCap(cap, requested.ceiling);
  return {limit: smallerCap(limit, requested.groupLimit), stated};
}

/** `limit` absent: the default or the LIMIT of the statement, whichever is greater. */
function capOf(requested: ResultOptions, known: number | undefined): number {
  if (requested.limit !== undefined) return requested.limit <= 0 ? -1 : requested.limit;
  return requested.limitDefault < 0 ? -1 : Math.max(requested.limitDefault, known ?? 0);
}

/** The smaller of two caps; negative means none. */
function smallerCap(left: number, right: number): number {
  if (left < 0 || right < 0) return Math.max(left, right);
  return Math.min(left, right);
}

function numberWithoutRow(closure: Closure, context: ExecutionContext): number | undefined {
  const value = closure(new RowCursor(context, unitBatch));
  return isNumberValue(value) ? numberOf(value) : undefined;
}

function contextOf(
  query: PreparedQuery,
  data: RunData,
  options: RunOptions,
  environment: RunEnvironment,
  parts: {
    readonly programs: Programs;
    readonly json: RecordJson;
    readonly graphs: ReturnType<GraphsFor>;
  },
): ExecutionContext {
  const {clock, random} = environment;
  const {catalog} = data.context;
  const {session, signal, sources, server} = options;
  const limits = limitsOf(environment);
  const {programs, json, graphs} = parts;
  const unbounded: ExecutionContext = {
    ...graphs,
    catalog,
    databaseName: session.database.name,
    parameters: options.parameters,
    clock,
    random,
    budget: new Budget(clock, limits, signal),
    startedAt: options.startedAt ?? clock.now(),
    sources,
    server,
    viewFigures: typeId => session.views.figures(typeId),
    inner: programs,
    format: json.format,
    batchRows: batchRowsDefault,
    memo: new SubplanMemo(),
    counts: newWriteCounts(),
  };
  const allowedMs =
    smallest(serverTimeoutMs(catalog, environment), readTimeoutOf(query, options)) ?? 0;
  const serverMs = smallest(options.timeoutMs, allowedMs) ?? 0;
  if (query.timeoutMs === undefined && serverMs === 0) return unbounded;
  const ownMs = query.timeoutMs && numberWithoutRow(query.timeoutMs, unbounded);
  const timeoutMs = smallest(ownMs, serverMs);
  return timeoutMs === undefined
    ? unbounded
    : {...unbounded, budget: new Budget(clock, {...limits, timeoutMs}, signal)};
}

/** The data as users may read and write it, rights asked before anything fires. */
function graphsOf(
  data: RunData,
  session: TargetDatabase,
  programs: Programs,
  asked: ReadonlySet<string> | undefined,
): GraphsFor {
  const {catalog} = data.context;
  const plain = new GraphReader(
    data.kind === 'read' ? data.reader : data.transaction,
    data.context,
    session.kept,
    asked,
  );
  const fire: Fire = (trigger, images) => programs.fire(trigger, images);
  const reading = hasTriggers(catalog, ['read']) ? firingReads(plain, catalog, fire) : plain;
  const writer = data.kind === 'read' ? undefined : new GraphWriter(data.writer, catalog);
  const writing =
    writer !== undefined && hasTriggers(catalog, ['create', 'update', 'delete'])
      ? firingWrites(writer, plain, catalog, fire)
      : writer;
  return held => {
    const guard = held && new TypeGuard(held.access, held.user);
    if (guard === undefined) return {graph: reading, writes: writing};
    return {
      graph: guardGraph(reading, guard, catalog),
      writes: writing && guardWrites(writing, plain, {guard, catalog}),
    };
  };
}

/** What the groups of a user let a read take; 0: no limit. */
function readTimeoutOf(query: PreparedQuery, {guard}: RunOptions): number {
  return query.writes || guard === undefined ? 0 : Math.max(0, guard.access.readTimeout);
}

/** Zero and undefined mean no limit. */
function smallest(own: number | undefined, server: number): number | undefined {
  const limits = [own ?? 0, server].filter(ms => ms > 0);
  return limits.length === 0 ? undefined : Math.min(...limits);
}
