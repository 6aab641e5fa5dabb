/**
 * The session service: what session.ts promises, over the engine.
 *
 * The way of a statement: rights on the database, prepared plan (cached), then one of three:
 * a read over a snapshot, streamed as it is made; a write, run to its end inside a transaction,
 * committed, and only then answered (it is run again by itself when another commit was faster);
 * a statement of an open transaction. Schema commands go to the database's executor, scripts to
 * the script runner.
 */
import {setMaxListeners} from 'node:events';
import type {SearchIndexFigures} from './search/search-figures.ts';
import type {CachedFamilies, IndexFolders} from '#server/caches/index-caches.ts';
import {
  columnsShare,
  edgesShare,
  listsShare,
  ServerCacheMemory,
  vectorsShare,
} from '#server/caches/memory-shares.ts';
import {rootName} from '#server/access/users.ts';
import {isStoreDamage, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Catalog} from '#server/catalog/catalog.ts';
import {requireDatabaseSetting} from '#server/catalog/database-settings.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {MemoryPool} from '#server/execution/budget.ts';
import {type KeptHolder, KeptMemory, strangers} from './kept-memory.ts';
import type {TableFunction} from '#server/execution/function-registry.ts';
import {type Procedure, proceduresWith} from '#server/languages/cypher/procedures.ts';
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
import type {CompactionThread} from '#server/engine/store-compaction.ts';
import {Admission, type AdmissionLimits, admissionLimits} from './statements/admission.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import {
  type AlignedMember,
  alignDatabase,
  alignedAlone,
  type ClusterCopies,
} from '#server/cluster/align.ts';
import {ChangeSubscriptions, type SubscriptionLimits} from './connections/change-subscriptions.ts';
import {ClientTransactions} from './connections/client-transactions.ts';
import type {DatabaseSession, DatabaseSessionOptions} from './connections/database-session.ts';
import {DatabaseSessions} from './connections/database-sessions.ts';
import {withLeader} from '#server/cluster/leadership.ts';
import {PrincipalVisibility} from './connections/principal-visibility.ts';
import {type Executors, type ServiceLoad, serviceFigures} from './connections/service-figures.ts';
import {RequestRun, type RequestSurroundings} from './connections/request-run.ts';
import {unlessCommitted} from './statements/outcome.ts';
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
  LoadRequest,
  RecordLoad,
  RequestContext,
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
import {type FrontEnds, languagesWith} from './languages/front-ends.ts';
import {describe, mayWrite} from './preparation/statement-preparation.ts';
import {StatementRunner} from './statements/statement-runner.ts';
import type {PlanThreads} from './threads/plan-task.ts';
import {TransactionSessions} from './connections/transaction-sessions.ts';
import {ImportSession} from './import-session.ts';
import type {Transfers} from './transfers.ts';
import {RecordLoads, type TemporaryFiles} from './record-loads.ts';
import {rowsOver, typedRequest} from './statement-request.ts';
import {currentGuard} from './type-guard.ts';
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
  /** Languages beside the server's own. */
  readonly frontEnds?: FrontEnds | undefined;
  /** Keeps what is kept of indexes while the server is down; absent: it is made again. */
  readonly indexFiles?: IndexFolders | undefined;
  /** Plans what is done again and again; absent: one of its own. */
  readonly scheduler?: Scheduler | undefined;
  /** Records what statements cost; absent: nobody asks. */
  readonly profiler?: QueryProfiler | undefined;
  /** Where loads keep what memory does not take. */
  readonly temporary: TemporaryFiles;
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
  readonly #sessions: TransactionSessions;
  readonly #transactions: ClientTransactions;
  readonly #queries: RunningQueries;
  readonly #changes: ChangeSubscriptions;
  readonly #timings: QueryTimings;
  readonly #runner: StatementRunner;
  readonly #pool: MemoryPool;
  readonly #memory: KeptMemory;
  readonly #cacheMemory: ServerCacheMemory;
  readonly #admission: Admission;
  readonly #limits: AdmissionLimits;
  readonly #surroundings: RequestSurroundings;
  readonly #scheduler: Scheduler;
  #moving: Transfers | undefined;
  readonly #databases: DatabaseSessions;
  /** Loads of records, as values and as lines. */
  readonly loads: RecordLoads;

  constructor(options: ServiceOptions) {
    const {clock, random, timers, settings, machine, threads, cluster} = options;
    this.#options = options;
    const languages = languagesWith(options.frontEnds);
    this.#timings = new QueryTimings(languages.keys());
    this.#scheduler = options.scheduler ?? new Scheduler({clock, timers});
    this.#pool = new MemoryPool(
      () => settings().get('svc.queryMemoryTotalMax'),
      machine,
      threads && {pages: threads.pages, own: 0},
    );
    this.#limits = admissionLimits(settings, machine, this.#pool);
    this.#admission = new Admission(() => this.#limits, timers);
    for (const memory of [this.#pool, threads])
      memory?.onRelease(() => this.#admission.admitMore());
    this.#cacheMemory = new ServerCacheMemory(settings, machine);
    this.#pool.onShortage(() => this.#cacheMemory.dropAll());
    this.#memory = new KeptMemory(this.#pool, () => ({
      all: settings().get('svc.keptMemoryMax'),
      perUser: settings().get('svc.keptMemoryMaxPerUser'),
    }));
    this.#sessions = new TransactionSessions({clock, random, timers}, this.#memory, () => ({
      idleMs: settings().get('svc.server.httpSessionExpireTimeout'),
      sessionsMax,
      sessionsMaxOfUser: settings().get('svc.server.httpSessionMaxPerUser'),
    }));
    let leads = cluster?.isLeader ?? true;
    cluster?.onLeaderChange(() => {
      if (leads === cluster.isLeader) return;
      leads = cluster.isLeader;
      if (leads) for (const {views} of this.#databases.inUse()) void views.catchUp();
      else this.#sessions.endWhere(() => true, 'lost-leadership');
    });
    this.#queries = new RunningQueries(clock, this.#queryWatch());
    const environment = runEnvironment(options, this.#pool);
    const {sourceReader, security} = options;
    this.#databases = new DatabaseSessions({
      ...options,
      ...functionsOf(options.procedures ?? []),
      languages,
      compactions: options.compactions,
      environment,
      memory: this.#memory,
      cacheMemory: this.#cacheMemory,
      scheduler: this.#scheduler,
      admission: this.#admission,
    });
    this.#changes = this.#makeChanges();
    this.#surroundings = {
      sourceReader,
      settings,
      memory: this.#memory,
      serverOf: principal => new PrincipalVisibility(principal, this, security),
      ended: (database, failure) => this.#met(database, failure),
    };
    this.#runner = new StatementRunner({
      environment,
      admission: this.#admission,
      settings,
      profiler: options.profiler,
      security: options.security,
      threads,
      align: (database, signal) => this.#align(database, signal),
      transfer: (who, database, command) => this.#transfers().run(who, database, command),
    });
    this.loads = new RecordLoads({...options, service: this, takesWrites: environment.takesWrites});
    this.#transactions = new ClientTransactions(this.#sessions, (session, transaction, user) =>
      this.#runner.committed(session, transaction, user === rootName ? undefined : user),
    );
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
      access: (who: Principal, database: string) => this.#databases.access(who, database),
    };
    const limits = (): SubscriptionLimits => ({
      countMax: settings().get('svc.changes.subscriptionsMax'),
      countMaxOfUser: settings().get('svc.changes.subscriptionsMaxPerUser'),
    });
    return new ChangeSubscriptions(rights, limits, () => timers.yield());
  }

  get load(): ServiceLoad {
    return {
      queriesRunning: this.#queries.count,
      queriesWaiting: this.#admission.queued,
      permitsHeld: this.#admission.running,
      queriesRefused: this.#admission.refused,
      queryMemoryBytes: this.#pool.bytes,
      graphViewBytes: this.#cacheMemory.of(edgesShare).bytes,
      columnViewBytes: this.#cacheMemory.of(columnsShare).bytes,
      searchBytes:
        this.#cacheMemory.of(listsShare).bytes + this.#cacheMemory.of(vectorsShare).bytes,
      searchFilesDamaged: this.#options.indexFiles?.damaged ?? 0,
      transactionsOpen: this.#sessions.list().length,
      loadsRunning: this.loads.count,
    };
  }

  /** Places of the admission of statements, and threads of long reads. */
  executors(): Executors {
    const {threads} = this.#options;
    const {concurrentMax, queueLengthMax} = this.#limits;
    const {queued} = this.#admission;
    return {
      query: {
        size: concurrentMax,
        active: this.#queries.count,
        queued,
        capacity: Math.max(0, queueLengthMax - queued),
        completed: this.#timings.count,
        fallbacks: 0,
      },
      // The first word is the network thread's.
      parallel_scan: {
        size: threads === undefined ? 0 : threads.pages.length - 1,
        active: threads?.busy ?? 0,
        queued: 0,
        capacity: -1,
        completed: threads === undefined ? 0 : threads.taken - threads.busy,
        fallbacks: threads?.declined ?? 0,
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
    const access = this.#databases.access(principal, request.database);
    const session = this.#databases.open(request.database);
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
        throw registered.failure(parts.told(error));
      });
    } catch (error) {
      parts.end();
      this.#met(session.database, error);
      throw parts.told(error);
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
    const {timers} = this.#runner.environment;
    return mayWrite(
      {session: this.#databases.openFor(principal, request.database), request},
      timers,
    );
  }

  async rows(principal: Principal, request: RowsRequest): Promise<RowCursor> {
    return rowsOver(await this.run(principal, typedRequest(request)));
  }

  async prepare(principal: Principal, request: RowsRequest): Promise<StatementDescription> {
    const access = this.#databases.access(principal, request.database);
    const {timers} = this.#runner.environment;
    const session = this.#databases.open(request.database);
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

  async loadRecords(principal: Principal, request: LoadRequest): Promise<RecordLoad> {
    this.#options.onRequest?.(request.connection);
    return this.loads.begin(principal, request);
  }

  async changes(principal: Principal, request: ChangesRequest): Promise<ChangeSubscription> {
    this.#options.onRequest?.(request.connection);
    return this.#changes.open(
      principal,
      this.#databases.openFor(principal, request.database),
      request,
    );
  }

  connect(context: RequestContext = {}): ClientConnection {
    const controller = new AbortController();
    const {signal} = controller;
    // Each of its statements may listen.
    setMaxListeners(0, signal);
    const connection: ClientConnection = {
      signal,
      get context() {
        return {...context, signal, connection};
      },
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
    {isolation = 'READ_COMMITTED', ...context}: TransactionContext = {},
  ): Promise<string> {
    const {tag, clientName, connection, readOnly} = context;
    const session = this.#databases.openFor(principal, database);
    const owner = {user: principal.name, tag, clientName, connection, readOnly};
    return Promise.resolve(this.#transactions.begin(owner, session, isolation));
  }

  async commit(
    principal: Principal,
    database: string,
    transactionId: string,
    requestId: string | undefined,
    {timeoutMs}: RequestContext = {},
  ): Promise<void> {
    const session = this.#databases.openFor(principal, database);
    const user = principal.name;
    const committing = this.#transactions.commit({user, session, id: transactionId, requestId});
    await this.#knownWithin(timeoutMs, committing);
  }

  /** Waits so long for the outcome of a commit. @throws {Refusal} `commit.unknown`. */
  #knownWithin(timeoutMs: number | undefined, committing: Promise<void>): Promise<void> {
    if (timeoutMs === undefined) return committing;
    return new Promise((resolve, reject) => {
      const late = (): void => reject(unknownWithin(timeoutMs));
      const cancel = this.#options.timers.after(timeoutMs, late);
      committing.finally(cancel).then(resolve, reject);
    });
  }

  async rollback(principal: Principal, database: string, transactionId: string): Promise<void> {
    this.#databases.access(principal, database);
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

  searchFigures(principal: Principal): ReadonlyMap<string, readonly SearchIndexFigures[]> {
    return this.#databases.searchFigures(principal);
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
    if (database !== undefined) this.#databases.close(database);
  }

  /**
   * Ends what uses a database that goes away here: another server of the cluster has dropped it, or
   * a snapshot takes its place. Reads fail as those that come now do, so the leader answers them.
   */
  databaseDropped(database: Database): void {
    this.#endUsersOf(database.name, database.refusal);
    this.#databases.close(database);
  }

  /** This server takes commits from now on: what another one left unfinished goes on here. */
  resumeWork(): void {
    for (const session of this.#databases.inUse()) session.resumeWork();
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
    if (database !== undefined) this.#databases.close(database);
    this.#sessions.endWhere(session => session.database === name);
    return Promise.resolve();
  }

  /** Saves a setting with the database. @throws {Refusal} `database.missing`. */
  async setDatabaseSetting(name: string, key: string, value: string): Promise<void> {
    const database = this.#options.engine.database(name);
    if (database === undefined)
      throw new Refusal('database.missing', `there is no database ${name}`);
    const setting = requireDatabaseSetting(key);
    const {executor} = this.#databases.of(database);
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
    return this.#databases.openFor(principal, name).schema.catalog;
  }

  progress(principal: Principal, name: string): readonly WorkProgress[] {
    const access = this.#databases.access(principal, name);
    const {engine} = this.#options;
    const database = engine.status(name) === 'open' ? engine.database(name) : undefined;
    // An import that makes a database is asked about before it is there.
    if (database === undefined) return [];
    const {work, schema} = this.#databases.of(database);
    const types = [...schema.catalog.types];
    // Its figures count records of any type, and its steps name some.
    return types.every(type => access.allowsOnType('readRecord', type.name))
      ? work.list()
      : work.list().map(withoutTypes);
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
    const board = this.#databases.of(database).work;
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
    return this.#sessions
      .list()
      .filter(({user}) => principal.root || user === principal.name)
      .map(open => ({...open, queryIds: this.#queries.idsIn(open.id)}));
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
    const guard = currentGuard(this.#options.security, principal, name);
    return new ImportSession(this, principal, {
      session: this.#databases.openFor(principal, name),
      guard,
    });
  }

  /** The session state of a database that the principal may use; for bulk loads. */
  databaseSession(principal: Principal, name: string): DatabaseSession {
    return this.#databases.openFor(principal, name);
  }

  /** The engine can be closed then: no thread holds a snapshot. */
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
}

/** Work as somebody may see it who may not read all that it is about: in percent. */
function withoutTypes(work: WorkProgress): WorkProgress {
  const {done, total} = work;
  const unnamed = {...work, stepName: work.operation};
  if (total === undefined) return {...unnamed, done: 0};
  return {...unnamed, done: total === 0 ? 100 : Math.floor((100 * done) / total), total: 100};
}

/** What every run of a statement shares. */
function runEnvironment(
  {clock, random, timers, settings, cluster}: ServiceOptions,
  pool: MemoryPool,
): RunEnvironment {
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

/** Functions and procedures of all languages, with those that are brought along. */
function functionsOf(
  brought: readonly CustomProcedure[],
): Pick<DatabaseSessionOptions, 'functions' | 'procedures'> {
  const tables = brought.map(({signature, table}) => [signature.name, table] as const);
  return {
    functions: createFunctionRegistry([{tables: Object.fromEntries(tables)}]),
    procedures: proceduresWith(brought.map(({signature}) => signature)),
  };
}

function unknownWithin(timeoutMs: number): Refusal {
  return new Refusal(
    'commit.unknown',
    `the outcome of the commit was not known within ${timeoutMs} ms: it may or may not have ` +
      'happened; read before writing again',
  );
}

function requireRoot(principal: Principal): void {
  if (principal.root) return;
  throw new Refusal(
    'security.denied',
    `User '${principal.name}' is not allowed to administer databases: only root is`,
  );
}
