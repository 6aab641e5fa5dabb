/**
 * The session service: what session.ts promises, over the engine.
 *
 * The way of a statement: rights on the database, prepared plan (cached), then one of three:
 * a read over a view, streamed as it is made; a write, run to its end inside a transaction,
 * committed, and only then answered (it is run again by itself when another commit was faster);
 * a statement of an open transaction. Schema commands go to the database's executor, scripts to
 * the script runner.
 */
import {setMaxListeners} from 'node:events';
import {type SearchIndexFigures, searchIndexFigures} from './search/search-figures.ts';
import type {CachedFamilies, IndexFiles} from '#server/caches/index-caches.ts';
import {columnsShare, edgesShare, ServerCacheMemory} from '#server/caches/memory-shares.ts';
import {isStoreDamage, queryTerminated, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {DatabaseAccess} from '#server/access/decide.ts';
import {rootName} from '#server/access/users.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {requireDatabaseSetting} from '#server/catalog/database-settings.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {MemoryPool} from '#server/execution/budget.ts';
import {type KeptHolder, KeptMemory, strangers} from './kept-memory.ts';
import type {FunctionRegistry, TableFunction} from '#server/execution/function-registry.ts';
import {
  type Procedure,
  type Procedures,
  proceduresWith,
} from '#server/languages/cypher/procedures.ts';
import {createFunctionRegistry} from '#server/execution/standard-functions.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Machine} from '#server/platform/machine.ts';
import type {JavaScriptEngine} from '#server/platform/javascript.ts';
import type {SourceReader} from '#server/platform/source-reader.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import {QueryTimings} from '#server/monitoring/query-timings.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import type {Isolation, Transaction} from '#server/transactions/transaction-contract.ts';
import type {CompactionThread} from '#server/engine/store-compaction.ts';
import {Admission, type AdmissionLimits} from './statements/admission.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {
  type AlignedMember,
  alignDatabase,
  alignedAlone,
  type ClusterCopies,
} from '#server/cluster/align.ts';
import type {DatabaseFiles} from './database/database-check.ts';
import {ChangeSubscriptions, type SubscriptionLimits} from './connections/change-subscriptions.ts';
import {DatabaseSession} from './connections/database-session.ts';
import {withLeader} from '#server/cluster/leadership.ts';
import {defaultEvaluator} from './schema/default-values.ts';
import {PrincipalView} from './connections/principal-view.ts';
import {type Executors, type ServiceLoad, serviceFigures} from './connections/service-figures.ts';
import {RequestRun, type RequestSurroundings} from './connections/request-run.ts';
import {refusalOf, unlessCommitted, wasCommitted} from './statements/outcome.ts';
import {
  type QueryWatch,
  type RegisteredQuery,
  RunningQueries,
} from './connections/running-queries.ts';
import {Scheduler} from '#server/schedule/scheduler.ts';
import type {Security} from '#server/security/security.ts';
import type {Principal} from '#server/security/principal.ts';
import type {
  ClientConnection,
  ChangesRequest,
  ChangeSubscription,
  ResultCursor,
  RowCursor,
  RowsRequest,
  RunningQuery,
  RunningTransaction,
  RunRequest,
  Service,
  StatementDescription,
  TransactionContext,
} from './session.ts';
import type {RunEnvironment} from './statements/statement-run.ts';
import type {StatementContext} from './statements/statement-context.ts';
import {languages} from './languages/front-ends.ts';
import {describe, mayWrite} from './preparation/statement-preparation.ts';
import {StatementRunner} from './statements/statement-runner.ts';
import type {PlanThreads} from './threads/plan-task.ts';
import {TransactionSessions} from './connections/transaction-sessions.ts';
import {ImportSession} from './import-session.ts';
import type {Transfers} from './transfers.ts';
import {rowsOver, typedRequest} from './statement-request.ts';
import type {WorkProgress} from './database/work-progress.ts';

export interface ServiceOptions {
  readonly engine: Engine;
  readonly security: Security;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly sourceReader: SourceReader;
  readonly machine: Machine;
  readonly javascript: JavaScriptEngine;
  readonly settings: () => Settings;
  /** Absent: a server alone. Transactions of clients end when it stops leading. */
  readonly cluster?: Cluster | undefined;
  /** The copies of the cluster's databases; absent: a server alone. */
  readonly copies?: ClusterCopies | undefined;
  /** The families of indexes that there are. */
  readonly families: CachedFamilies;
  /** Threads for long reads; absent: all runs on this one. */
  readonly threads?: PlanThreads;
  /** Compacts stores; absent: nothing does. */
  readonly compactions?: CompactionThread | undefined;
  /** Procedures beside the server's own. */
  readonly procedures?: readonly CustomProcedure[];
  /** Keeps what is kept of indexes while the server is down; absent: it is made again. */
  readonly indexFiles?: ((databaseId: number) => IndexFiles) | undefined;
  /** Plans what is done again and again; absent: one of its own. */
  readonly scheduler?: Scheduler | undefined;
  /** Records what statements cost; absent: nobody asks. */
  readonly profiler?: QueryProfiler | undefined;
  /** Hears of every request to run something, with the connection that it came by. */
  readonly onRequest?: (connection: object | undefined) => void;
}

/** What CALL knows a procedure by, and what carries it out. */
export interface CustomProcedure {
  readonly signature: Procedure;
  readonly table: TableFunction;
}

const sessionsMax = 10_000;

export class SessionService implements Service {
  readonly #options: ServiceOptions;
  readonly #functions: FunctionRegistry;
  readonly #procedures: Procedures;
  readonly #sessions: TransactionSessions;
  readonly #queries: RunningQueries;
  readonly #changes: ChangeSubscriptions;
  readonly #timings = new QueryTimings(languages);
  readonly #runner: StatementRunner;
  readonly #pool: MemoryPool;
  readonly #memory: KeptMemory;
  readonly #cacheMemory: ServerCacheMemory;
  readonly #admission: Admission;
  readonly #surroundings: RequestSurroundings;
  readonly #scheduler: Scheduler;
  #moving: Transfers | undefined;
  /** The session of each database object: one dropped and created again is another. */
  readonly #databases = new WeakMap<Database, DatabaseSession>();

  constructor(options: ServiceOptions) {
    const {clock, random, timers, settings, machine} = options;
    this.#options = options;
    this.#scheduler = options.scheduler ?? new Scheduler({clock, timers});
    const {threads} = options;
    this.#pool = new MemoryPool(
      () => settings().get('svc.queryMemoryTotalMax'),
      machine,
      threads && {pages: threads.pages, own: 0},
    );
    threads?.onRelease(() => this.#admission.admitMore());
    this.#cacheMemory = new ServerCacheMemory(settings);
    this.#pool.onShortage(() => this.#cacheMemory.dropAll());
    const brought = options.procedures ?? [];
    this.#procedures = proceduresWith(brought.map(({signature}) => signature));
    const tables = brought.map(({signature, table}) => [signature.name, table] as const);
    this.#functions = createFunctionRegistry([{tables: Object.fromEntries(tables)}]);
    this.#memory = new KeptMemory(this.#pool, () => ({
      all: settings().get('svc.keptMemoryMax'),
      perUser: settings().get('svc.keptMemoryMaxPerUser'),
    }));
    this.#sessions = new TransactionSessions({clock, random, timers}, this.#memory, () => ({
      idleMs: settings().get('svc.server.httpSessionExpireTimeout'),
      sessionsMax,
      sessionsMaxOfUser: settings().get('svc.server.httpSessionMaxPerUser'),
    }));
    const {cluster} = options;
    let leads = cluster?.isLeader ?? true;
    cluster?.onLeaderChange(() => {
      if (leads === cluster.isLeader) return;
      leads = cluster.isLeader;
      if (leads) this.#refreshViews();
      else this.#sessions.endWhere(() => true, 'lost-leadership');
    });
    this.#queries = new RunningQueries(clock, this.#queryWatch());
    const environment: RunEnvironment = {
      clock,
      random,
      timers,
      memoryBytesMax: () => settings().get('svc.queryMemoryMax'),
      valueBytesMax: () => settings().get('svc.queryValueSizeMax'),
      pool: this.#pool,
      timeoutMs: () => settings().get('svc.command.timeout'),
      javascriptMs: () => settings().get('svc.javascript.networkCallTimeout'),
      takesWrites: () => cluster?.isLeader ?? true,
    };
    const {sourceReader, security} = options;
    this.#changes = this.#makeChanges();
    this.#surroundings = {
      sourceReader,
      settings,
      memory: this.#memory,
      serverOf: principal => new PrincipalView(principal, this, security),
      ended: (database, failure) => this.#met(database, failure),
    };
    const limits = this.#admissionLimits();
    this.#admission = new Admission(() => limits, timers);
    this.#pool.onRelease(() => this.#admission.admitMore());
    this.#runner = new StatementRunner({
      environment,
      admission: this.#admission,
      settings,
      profiler: options.profiler,
      security: options.security,
      threads,
      align: (database, signal) => this.#align(database, signal),
      transfer: (database, command, signal) => this.#transfers().run(database, command, signal),
    });
  }

  #queryWatch(): QueryWatch {
    const {settings, profiler} = this.#options;
    const timings = (): QueryTimings | undefined =>
      settings().get('svc.serverMetrics') ? this.#timings : undefined;
    return {timings, profiler};
  }

  #makeChanges(): ChangeSubscriptions {
    const {security, settings, timers} = this.#options;
    const rights = {
      // Root is not always a user of this server's own, and cannot be dropped.
      current: (who: Principal) => security.principalOf(who.name) ?? (who.root ? who : undefined),
      access: (who: Principal, database: string) => this.#access(who, database),
    };
    const limits = (): SubscriptionLimits => ({
      countMax: settings().get('svc.changes.subscriptionsMax'),
      countMaxOfUser: settings().get('svc.changes.subscriptionsMaxPerUser'),
    });
    return new ChangeSubscriptions(rights, limits, () => timers.yield());
  }

  /** Refreshes the databases that are in use here; the others follow when they are opened. */
  #refreshViews(): void {
    const {engine} = this.#options;
    for (const name of engine.databases()) {
      const database = engine.status(name) === 'open' ? engine.database(name) : undefined;
      if (database !== undefined) void this.#databases.get(database)?.views.followAll();
    }
  }

  /** Reads the limits anew whenever they are asked for. */
  #admissionLimits(): AdmissionLimits {
    const {settings, machine} = this.#options;
    const pool = this.#pool;
    return {
      get concurrentMax() {
        const concurrent = settings().get('svc.queryMaxConcurrent');
        return concurrent < 0 ? 2 * machine.processors : concurrent;
      },
      get concurrentMaxOfUser() {
        return settings().get('svc.queryMaxConcurrentPerUser');
      },
      get memoryIsShort() {
        return pool.share > settings().get('svc.queryAdmissionHeapWatermark') / 100;
      },
      get queueTimeoutMs() {
        return settings().get('svc.queryQueueTimeout');
      },
      get queueLengthMax() {
        return settings().get('svc.queryQueueMaxSize');
      },
    };
  }

  get load(): ServiceLoad {
    return {
      queriesRunning: this.#queries.count,
      queriesWaiting: this.#admission.queued,
      queriesRefused: this.#admission.refused,
      queryMemoryBytes: this.#pool.bytes,
      graphViewBytes: this.#cacheMemory.of(edgesShare).bytes,
      columnViewBytes: this.#cacheMemory.of(columnsShare).bytes,
      transactionsOpen: this.#sessions.list().length,
    };
  }

  /** Places of the admission of statements, and threads of long reads. */
  executors(): Executors {
    const {threads} = this.#options;
    const {concurrentMax, queueLengthMax} = this.#admissionLimits();
    const {queued} = this.#admission;
    return {
      query: {
        size: concurrentMax,
        active: this.#queries.count,
        queued,
        capacity: Math.max(0, queueLengthMax - queued),
      },
      // The first word is the network thread's.
      parallel_scan: {
        size: threads === undefined ? 0 : threads.pages.length - 1,
        active: threads?.busy ?? 0,
        queued: 0,
        capacity: -1,
      },
    };
  }

  /** How many statements of each database ended. */
  statementsByDatabase(): ReturnType<QueryTimings['byDatabase']> {
    return this.#timings.byDatabase();
  }

  /** What statements and their transactions count. */
  figures(): Figures {
    return {...this.#timings.figures(), ...serviceFigures(this.load, this.executors())};
  }

  /** Lets go of what is kept only to answer faster: the machine is short of memory. */
  dropViews(): void {
    this.#cacheMemory.dropAll();
  }

  get appliedIndex(): number {
    return this.#options.engine.appliedIndex;
  }

  get readableIndex(): number {
    return this.#options.engine.readableIndex;
  }

  get ready(): boolean {
    return this.#options.engine.failure === undefined;
  }

  run(who: Principal, request: RunRequest): Promise<ResultCursor> | ResultCursor {
    this.#options.onRequest?.(request.connection);
    const principal = this.#options.security.current(who);
    const access = this.#access(principal, request.database);
    const session = this.#open(request.database);
    const registered = this.#queries.start(principal.name, request);
    const parts = new RequestRun(registered, session, {principal, access}, this.#surroundings);
    try {
      const {transactionId, requestId} = request;
      const cursor =
        transactionId !== undefined
          ? this.#runInside(principal, transactionId, parts)
          : requestId === undefined
            ? this.#runner.run(parts)
            : unlessCommitted(session.database, requestId, () => this.#runner.run(parts));
      // A short read is done already; awaiting what is there would only cost time.
      if (!(cursor instanceof Promise)) return cursor;
      return cursor.catch((error: unknown) => {
        parts.end();
        this.#met(session.database, error);
        throw registered.failure(error);
      });
    } catch (error) {
      parts.end();
      this.#met(session.database, error);
      throw error;
    }
  }

  /**
   * What a statement failed with. Where others have copies, a damaged one is marked, so that it is
   * taken anew; a replica refuses everything of it until then, and the leader answers for it. A
   * leader goes on with what is sound: somebody has to lead until it is another one.
   */
  #met(database: Database, error: unknown): void {
    const {cluster, settings, logger} = this.#options;
    if (!isStoreDamage(error) || cluster === undefined) return;
    if (!settings().get('svc.ha.divergedFollowerRecovery')) return;
    if (database.damage === undefined) {
      logger.log('error', 'database.damaged', {database: database.name, reason: error.message});
      database.damage = error.message;
    }
    if (!cluster.state().isLeader) database.close(`its files are damaged: ${error.message}`);
  }

  needsLeader(principal: Principal, request: RunRequest): boolean | Promise<boolean> {
    this.#access(principal, request.database);
    const {timers} = this.#runner.environment;
    return mayWrite({session: this.#open(request.database), request}, timers);
  }

  async rows(principal: Principal, request: RowsRequest): Promise<RowCursor> {
    return rowsOver(await this.run(principal, typedRequest(request)));
  }

  async prepare(principal: Principal, request: RowsRequest): Promise<StatementDescription> {
    const access = this.#access(principal, request.database);
    const {timers} = this.#runner.environment;
    const session = this.#open(request.database);
    const mayRead = (type: string): boolean => access.allowsOnType('readRecord', type);
    return describe({session, request: typedRequest(request)}, timers, mayRead);
  }

  async #runInside(
    principal: Principal,
    id: string,
    parts: StatementContext,
  ): Promise<ResultCursor> {
    const held = await this.#sessions.hold(principal.name, parts.request.database, id);
    return this.#runner.runInside(parts, held);
  }

  keep(principal: Principal | undefined): KeptHolder {
    const user = principal?.name ?? strangers;
    return this.#memory.holder(principal?.root === true ? undefined : user);
  }

  async changes(principal: Principal, request: ChangesRequest): Promise<ChangeSubscription> {
    this.#access(principal, request.database);
    return this.#changes.open(principal, this.#open(request.database), request);
  }

  connect(): ClientConnection {
    const controller = new AbortController();
    // Each of its statements may listen.
    setMaxListeners(0, controller.signal);
    const connection: ClientConnection = {
      signal: controller.signal,
      close: () => {
        if (controller.signal.aborted) return;
        controller.abort();
        this.#sessions.endWhere(session => session.connection === connection);
        this.#queries.terminateWhere(query => query.request.connection === connection);
      },
    };
    return connection;
  }

  begin(
    principal: Principal,
    database: string,
    isolation: Isolation,
    {tag, connection}: TransactionContext = {},
  ): Promise<string> {
    this.#access(principal, database);
    // Nobody would end it.
    if (connection?.signal.aborted === true) throw queryTerminated();
    const {database: opened} = this.#open(database);
    const transaction = opened.begin(isolation);
    const owner = {user: principal.name, tag, connection};
    return Promise.resolve(this.#sessions.add(owner, database, transaction));
  }

  async commit(
    principal: Principal,
    database: string,
    transactionId: string,
    requestId: string | undefined,
  ): Promise<void> {
    this.#access(principal, database);
    const session = this.#open(database);
    // A commit whose answer was lost is asked for again; it happened once.
    if (this.#sessions.wasCommitted(principal.name, transactionId)) return;
    const isLive = this.#sessions.isLive(principal.name, database, transactionId);
    // The leader that lost it may have been another one.
    if (!isLive && (await wasCommitted(session.database, requestId))) return;
    const held = await this.#sessions.hold(principal.name, database, transactionId);
    const {transaction} = held;
    held.end();
    // Ended by a statement before: nothing is left to commit.
    if (transaction === undefined) return;
    // Who asks while it is under way, or when its outcome is lost, is not told that it is gone.
    this.#sessions.committed(principal.name, transactionId, 'unknown');
    const outcome = await this.#commit(transaction, transactionId, requestId);
    if (outcome.kind === 'conflict' || outcome.kind === 'refused') {
      this.#sessions.notCommitted(transactionId);
    } else if (outcome.kind !== 'unknown') this.#sessions.committed(principal.name, transactionId);
    const refusal = refusalOf(outcome);
    if (refusal !== undefined) throw refusal;
    await this.#runner.committed(session, transaction);
  }

  async #commit(
    transaction: Transaction,
    transactionId: string,
    requestId: string | undefined,
  ): Promise<CommitOutcome> {
    try {
      return await transaction.commit(requestId);
    } catch (error) {
      // Refused before anything was appended.
      this.#sessions.notCommitted(transactionId);
      throw error;
    }
  }

  async rollback(principal: Principal, database: string, transactionId: string): Promise<void> {
    this.#access(principal, database);
    await this.#sessions.rollback(principal.name, database, transactionId);
  }

  transactionIsLive(principal: Principal, database: string, transactionId: string): boolean {
    return this.#sessions.isLive(principal.name, database, transactionId);
  }

  databaseNames(principal: Principal): string[] {
    const {engine, security} = this.#options;
    return engine
      .databases()
      .filter(name => engine.status(name) !== 'closed')
      .filter(name => security.access(principal, name) !== undefined);
  }

  databaseExists(principal: Principal, name: string): boolean {
    return this.databaseNames(principal).includes(name);
  }

  searchFigures(): ReadonlyMap<string, readonly SearchIndexFigures[]> {
    const {engine} = this.#options;
    const found = new Map<string, readonly SearchIndexFigures[]>();
    for (const name of engine.databases()) {
      const database = engine.database(name);
      const session = database && this.#databases.get(database);
      if (session === undefined) continue;
      const figures = searchIndexFigures(session.schema.catalog, session.kept);
      if (figures.length > 0) found.set(name, figures);
    }
    return found;
  }

  async createDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    await withLeader(() => this.#options.engine.createDatabase(name));
  }

  async dropDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    this.#endUsersOf(name);
    const {engine} = this.#options;
    const database = engine.status(name) === 'fenced' ? undefined : engine.database(name);
    await withLeader(() => engine.dropDatabase(name));
    if (database !== undefined) this.#databases.get(database)?.close();
  }

  /**
   * Ends what uses a database that goes away here: another server of the cluster has dropped it, or
   * a snapshot takes its place. Reads fail as those that come now do, so the leader answers them.
   */
  databaseDropped(database: Database): void {
    this.#endUsersOf(database.name, database.refusal);
    this.#databases.get(database)?.close();
  }

  /** This server takes commits from now on: what another one left unfinished goes on here. */
  resumeWork(): void {
    const {engine} = this.#options;
    for (const name of engine.databases()) {
      if (engine.status(name) !== 'open') continue;
      const database = engine.database(name);
      if (database !== undefined) this.#databases.get(database)?.resumeWork();
    }
  }

  #endUsersOf(name: string, reason?: Refusal): void {
    this.#sessions.endWhere(session => session.database === name);
    this.#queries.terminateWhere(query => query.request.database === name, reason);
  }

  openDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    this.#options.engine.openDatabase(name);
    return Promise.resolve();
  }

  closeDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    const {engine} = this.#options;
    const database = engine.status(name) === 'fenced' ? undefined : engine.database(name);
    engine.closeDatabase(name);
    if (database !== undefined) this.#databases.get(database)?.close();
    this.#sessions.endWhere(session => session.database === name);
    return Promise.resolve();
  }

  /** Saves a setting with the database. @throws {Refusal} `database.missing`. */
  async setDatabaseSetting(name: string, key: string, value: string): Promise<void> {
    const database = this.#options.engine.database(name);
    if (database === undefined)
      throw new Refusal('database.missing', `there is no database ${name}`);
    const setting = requireDatabaseSetting(key);
    const {executor} = this.#session(database);
    await withLeader(() => executor.run({kind: 'alter-database', setting, value}, undefined));
  }

  alignDatabase(principal: Principal, name: string): Promise<readonly AlignedMember[]> {
    requireRoot(principal);
    return this.#align(name, {aborted: false});
  }

  async #align(name: string, signal: Cancellation): Promise<readonly AlignedMember[]> {
    const {copies, settings} = this.#options;
    if (copies === undefined) return [alignedAlone(settings().get('svc.server.name'))];
    return withLeader(() => alignDatabase(copies, name, signal));
  }

  schemaOf(principal: Principal, name: string): Catalog {
    this.#access(principal, name);
    return this.#open(name).schema.catalog;
  }

  progress(principal: Principal, name: string): readonly WorkProgress[] {
    this.#access(principal, name);
    return this.#open(name).work.list();
  }

  /**
   * Shows work on a database that is done elsewhere, until the returned function is called. A
   * database that is not open has nobody who could ask for it.
   */
  showWork(
    name: string,
    operation: string,
    figures: {readonly done: number; readonly total: number},
  ): () => void {
    const {engine} = this.#options;
    const database = engine.status(name) === 'open' ? engine.database(name) : undefined;
    if (database === undefined) return () => {};
    const board = this.#session(database).work;
    const work = board.begin(operation, 1);
    const total = (): number | undefined => (figures.total > 0 ? figures.total : undefined);
    work.next({name: operation, total, done: () => figures.done});
    return () => board.end(work);
  }

  /** What moves databases out and in uses the service itself, so it is made behind it. */
  useTransfers(transfers: Transfers): void {
    this.#moving = transfers;
  }

  #transfers(): Transfers {
    if (this.#moving !== undefined) return this.#moving;
    throw new Refusal('not-available', 'this server writes no databases out and reads none in');
  }

  queries(principal: Principal): RunningQuery[] {
    return this.#queries.list().filter(query => principal.root || query.user === principal.name);
  }

  terminateQuery(principal: Principal, id: string): boolean {
    return this.#terminate(principal, query => String(query.id) === id) > 0;
  }

  terminateTagged(principal: Principal, tag: string): number {
    return this.#terminate(principal, query => query.request.tag === tag);
  }

  transactions(principal: Principal): RunningTransaction[] {
    return this.#sessions.list().filter(({user}) => principal.root || user === principal.name);
  }

  terminateTransaction(principal: Principal, id: string): Promise<boolean> {
    const ended = this.#sessions.endWhere(
      session => session.id === id && (principal.root || session.user === principal.name),
    );
    return Promise.resolve(ended > 0);
  }

  endSessionsOf(user: string, reason?: Refusal): void {
    this.#sessions.endWhere(session => session.user === user);
    this.#queries.terminateWhere(query => query.user === user, reason);
    // Who has only lost rights is asked for them with each change.
    if (reason === undefined) this.#changes.endOf(user);
  }

  /** A database as imports and exports see it. */
  importSession(principal: Principal, name: string): ImportSession {
    this.#access(principal, name);
    return new ImportSession(this, principal, this.#open(name));
  }

  /** The session state of a database that the principal may use; for bulk loads. */
  databaseSession(principal: Principal, name: string): DatabaseSession {
    this.#access(principal, name);
    return this.#open(name);
  }

  /** The engine can be closed then: no thread holds a view. */
  async close(): Promise<void> {
    this.#queries.terminateWhere(() => true);
    this.#sessions.close();
    const {threads, compactions} = this.#options;
    await Promise.all([this.#scheduler.end(), threads?.close(), compactions?.close()]);
  }

  #terminate(principal: Principal, matches: (query: RegisteredQuery) => boolean): number {
    return this.#queries.terminateWhere(
      query => matches(query) && (principal.root || query.user === principal.name),
    );
  }

  /** A database that does not exist and one that is not granted are told apart for root only. */
  #access(who: Principal, name: string): DatabaseAccess {
    const {security} = this.#options;
    const principal = security.current(who);
    const access = security.access(principal, name);
    if (access !== undefined) return access;
    throw new Refusal(
      'security.denied',
      `User '${principal.name}' has not access to database '${name.slice(0, 128)}'`,
    );
  }

  #open(name: string): DatabaseSession {
    const database = this.#options.engine.database(name);
    if (database === undefined) {
      const closed = this.#options.engine.status(name) === 'closed';
      throw new Refusal(
        'database.not-found',
        `Database '${name.slice(0, 128)}' ${closed ? 'is closed' : 'is not available'}`,
      );
    }
    return this.#session(database);
  }

  /** @throws {Refusal} `security.denied`. */
  #guardOf(user: string, database: string): StatementContext['guard'] {
    if (user === rootName) return undefined;
    const {security} = this.#options;
    const principal = security.principalOf(user);
    const access = principal && security.access(principal, database);
    if (access !== undefined) return {access, user};
    const message = `User '${user}', in whose name it runs, may not use database '${database}'`;
    throw new Refusal('security.denied', `${message}: have another user make it anew`);
  }

  #filesOf(name: string): DatabaseFiles {
    const {engine} = this.#options;
    return {
      unreferenced: () => engine.unreferencedFiles(name),
      remove: file => engine.removeUnreferencedFile(name, file),
      shortageFor: bytes => engine.shortageFor(bytes),
    };
  }

  #session(database: Database): DatabaseSession {
    const known = this.#databases.get(database);
    if (known !== undefined) return known;
    const {settings} = this.#options;
    const functions = this.#functions;
    const session: DatabaseSession = new DatabaseSession(database, {
      families: this.#options.families,
      indexFiles: this.#options.indexFiles?.(database.id),
      functions,
      procedures: this.#procedures,
      javascript: this.#options.javascript,
      settings,
      environment: this.#runner.environment,
      scheduler: this.#scheduler,
      memory: this.#memory,
      limits: {
        get depthMax() {
          return settings().get('svc.parser.depthMax');
        },
        get textLengthMax() {
          return settings().get('svc.parser.statementSizeMax');
        },
        get columnsMax() {
          return settings().get('svc.parser.columnsMax');
        },
      },
      recordBytesMax: settings().get('svc.recordSizeMax'),
      indexKeyBytesMax: settings().get('svc.indexKeySizeMax'),
      files: this.#filesOf(database.name),
      compactions: this.#options.compactions,
      staleReadCheck: settings().get('svc.txStaleReadCheck'),
      cacheMemory: this.#cacheMemory,
      patterns: {
        date: settings().get('svc.dateFormat'),
        dateTime: settings().get('svc.dateTimeFormat'),
      },
      guardOf: user => this.#guardOf(user, database.name),
      defaultsOf: catalog => defaultEvaluator(catalog, functions, this.#options),
    });
    this.#databases.set(database, session);
    return session;
  }
}

function requireRoot(principal: Principal): void {
  if (principal.root) return;
  throw new Refusal(
    'security.denied',
    `User '${principal.name}' is not allowed to administer databases: only root is`,
  );
}
