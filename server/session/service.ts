/**
 * The session service: what session.ts promises, over the engine.
 *
 * The way of a statement: rights on the database, prepared plan (cached), then one of three:
 * a read over a snapshot, streamed as it is made; a write, run to its end inside a transaction,
 * committed, and only then answered (it is run again by itself when another commit was faster);
 * a statement of an open transaction. Schema commands go to the database's executor, scripts to
 * the script runner.
 */
import {rootName} from '#server/access/users.ts';
import {isStoreDamage, Refusal} from '#server/base/errors.ts';
import {ServerCacheMemory} from '#server/caches/memory-shares.ts';
import {ShownSchema} from '#server/catalog/shown-schema.ts';
import type {AlignedMember} from '#server/cluster/align.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Database} from '#server/engine/database.ts';
import {MemoryPool} from '#server/execution/budget.ts';
import {QueryTimings} from '#server/monitoring/query-timings.ts';
import {Scheduler} from '#server/schedule/scheduler.ts';
import type {Principal} from '#server/security/principal.ts';
import {type ChangeSubscriptions, changeSubscriptions} from './connections/change-subscriptions.ts';
import {openConnection} from './connections/client-connection.ts';
import {ClientTransactions} from './connections/client-transactions.ts';
import {DatabaseLifecycle} from './connections/database-lifecycle.ts';
import type {DatabaseSession} from './connections/database-session.ts';
import {DatabaseSessions} from './connections/database-sessions.ts';
import {PrincipalVisibility} from './connections/principal-visibility.ts';
import {RequestRun, type RequestSurroundings} from './connections/request-run.ts';
import {type RegisteredQuery, RunningQueries} from './connections/running-queries.ts';
import {
  type MeasuredParts,
  ServiceFigures,
  type ServiceLoad,
} from './connections/service-figures.ts';
import {TransactionSessions} from './connections/transaction-sessions.ts';
import type {DoneOfTotal, WorkProgress} from './database/work-progress.ts';
import {ImportSession} from './import-session.ts';
import {type KeptHolder, KeptMemory, strangers} from './kept-memory.ts';
import {functionsWith} from './languages/custom-procedures.ts';
import {languagesWith} from './languages/front-ends.ts';
import {describe, mayWrite} from './preparation/statement-preparation.ts';
import {RecordLoads} from './record-loads.ts';
import type {SearchIndexFigures} from './search/search-figures.ts';
import type {ServiceOptions} from './service-options.ts';
import type {
  ClientConnection,
  ClientContext,
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
import {rowsOver, typedRequest} from './statement-request.ts';
import {Admission, admissionLimits} from './statements/admission.ts';
import {unlessCommitted} from './statements/outcome.ts';
import type {StatementContext} from './statements/statement-context.ts';
import {type RunEnvironment, runEnvironment} from './statements/statement-run.ts';
import {StatementRunner} from './statements/statement-runner.ts';
import type {Transfers} from './transfers.ts';
import {toldRefusal} from './statements/told-refusals.ts';
import {currentGuard, isShownTo, TypeGuard} from './type-guard.ts';

const sessionsMax = 10_000;

export class SessionService implements Service {
  readonly #options: ServiceOptions;
  readonly #sessions: TransactionSessions;
  readonly #transactions: ClientTransactions;
  readonly #queries: RunningQueries;
  readonly #changes: ChangeSubscriptions;
  readonly #runner: StatementRunner;
  readonly #memory: KeptMemory;
  readonly #cacheMemory: ServerCacheMemory;
  readonly #admission: Admission;
  readonly #surroundings: RequestSurroundings;
  readonly #scheduler: Scheduler;
  #moving: Transfers | undefined;
  readonly #databases: DatabaseSessions;
  readonly #lifecycle: DatabaseLifecycle;
  /** What statements and their transactions count. */
  readonly figures: ServiceFigures;
  /** Loads of records, as values and as lines. */
  readonly loads: RecordLoads;

  constructor(options: ServiceOptions) {
    const {clock, random, timers, settings, machine, threads, cluster} = options;
    this.#options = options;
    const languages = languagesWith(options.frontEnds);
    const timings = new QueryTimings(languages.keys());
    this.#scheduler = options.scheduler ?? new Scheduler({clock, timers});
    const pool = new MemoryPool(
      () => settings().get('svc.queryMemoryTotalMax'),
      machine,
      threads && {pages: threads.pages, own: 0},
    );
    const limits = admissionLimits(settings, machine, pool);
    this.#admission = new Admission(() => limits, timers);
    for (const memory of [pool, threads]) memory?.onRelease(() => this.#admission.admitMore());
    this.#cacheMemory = new ServerCacheMemory(settings, machine);
    pool.onShortage(() => this.#cacheMemory.dropAll());
    this.#memory = new KeptMemory(pool, () => ({
      all: settings().get('svc.keptMemoryMax'),
      perUser: settings().get('svc.keptMemoryMaxPerUser'),
    }));
    this.#sessions = new TransactionSessions({clock, random, timers}, this.#memory, () => ({
      idleMs: settings().get('svc.server.httpSessionExpireTimeout'),
      sessionsMax,
      sessionsMaxOfUser: settings().get('svc.server.httpSessionMaxPerUser'),
    }));
    if (cluster !== undefined) this.#follow(cluster);
    this.#queries = new RunningQueries(clock, {
      timings: () => (settings().get('svc.serverMetrics') ? timings : undefined),
      profiler: options.profiler,
    });
    const environment = runEnvironment({...options, pool});
    const {sourceReader, security} = options;
    this.#databases = new DatabaseSessions({
      ...options,
      ...functionsWith(options.procedures ?? []),
      languages,
      compactions: options.compactions,
      environment,
      memory: this.#memory,
      cacheMemory: this.#cacheMemory,
      scheduler: this.#scheduler,
      admission: this.#admission,
    });
    this.#changes = changeSubscriptions(options, this.#databases);
    this.#surroundings = {
      sourceReader,
      settings,
      memory: this.#memory,
      serverOf: principal => new PrincipalVisibility(principal, this, security),
      ended: (database, failure) => this.#met(database, failure),
    };
    this.#runner = this.#runnerIn(environment);
    this.loads = new RecordLoads({...options, service: this, takesWrites: environment.takesWrites});
    this.#transactions = new ClientTransactions(
      this.#sessions,
      timers,
      (session, transaction, user) =>
        this.#runner.committed(session, transaction, user === rootName ? undefined : user),
    );
    this.#lifecycle = new DatabaseLifecycle(options, {
      databases: this.#databases,
      sessions: this.#sessions,
      queries: this.#queries,
    });
    this.figures = this.#measured({pool, limits, timings});
  }

  #measured(made: Pick<MeasuredParts, 'pool' | 'limits' | 'timings'>): ServiceFigures {
    const {threads, indexFiles} = this.#options;
    return new ServiceFigures({
      ...made,
      threads,
      indexFiles,
      admission: this.#admission,
      caches: this.#cacheMemory,
      queries: this.#queries,
      sessions: this.#sessions,
      loads: this.loads,
    });
  }

  #runnerIn(environment: RunEnvironment): StatementRunner {
    const {settings, profiler, security, threads} = this.#options;
    return new StatementRunner({
      environment,
      admission: this.#admission,
      settings,
      profiler,
      security,
      threads,
      align: (database, signal) => this.#lifecycle.align(database, signal),
      transfer: (who, database, command) => this.#transfers().run(who, database, command),
    });
  }

  #follow(cluster: Cluster): void {
    let leads = cluster.isLeader;
    cluster.onLeaderChange(() => {
      if (leads === cluster.isLeader) return;
      leads = cluster.isLeader;
      if (leads) for (const {views} of this.#databases.inUse()) void views.catchUp();
      else this.#sessions.endWhere(() => true, 'lost-leadership');
    });
  }

  get load(): ServiceLoad {
    return this.figures.load;
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
    try {
      return await describe({session, request: typedRequest(request)}, timers, mayRead);
    } catch (error) {
      const guard = principal.root ? undefined : new TypeGuard(access, principal.name);
      throw toldRefusal(error, guard, session.schema.catalog);
    }
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

  connect(context: ClientContext = {}): ClientConnection {
    return openConnection(context, connection => {
      this.#sessions.endWhere(session => session.connection === connection);
      this.#queries.terminateWhere(query => query.request.connection === connection);
    });
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
    const asked = {user: principal.name, session, id: transactionId, requestId};
    await this.#transactions.commit(asked, timeoutMs);
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
    await this.#lifecycle.create(name);
  }

  async dropDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    await this.#lifecycle.drop(name);
  }

  /** A database goes away here: another server has dropped it, or a snapshot takes its place. */
  databaseDropped(database: Database): void {
    this.#lifecycle.dropped(database);
  }

  /** This server takes commits from now on: what another one left unfinished goes on here. */
  resumeWork(): void {
    for (const session of this.#databases.inUse()) session.resumeWork();
  }

  openDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    this.#options.engine.openDatabase(name);
    return Promise.resolve();
  }

  closeDatabase(principal: Principal, name: string): Promise<void> {
    requireRoot(principal);
    this.#lifecycle.close(name);
    return Promise.resolve();
  }

  /** Saves a setting with the database. @throws {Refusal} `database.missing`. */
  setDatabaseSetting(name: string, key: string, value: string): Promise<void> {
    return this.#lifecycle.setSetting(name, key, value);
  }

  alignDatabase(principal: Principal, name: string): Promise<readonly AlignedMember[]> {
    requireRoot(principal);
    return this.#lifecycle.align(name, {aborted: false});
  }

  schemaOf(principal: Principal, name: string): ShownSchema {
    const access = this.#databases.access(principal, name);
    const {catalog} = this.#databases.open(name).schema;
    return new ShownSchema(catalog, type => isShownTo(access, type));
  }

  progress(principal: Principal, name: string): readonly WorkProgress[] {
    return this.#databases.progress(principal, name);
  }

  /** Shows work on a database that is done elsewhere, until the returned function is called. */
  showWork(name: string, operation: string, figures: DoneOfTotal): () => void {
    return this.#databases.ifOpen(name)?.work.show(operation, figures) ?? (() => {});
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

function requireRoot(principal: Principal): void {
  if (principal.root) return;
  throw new Refusal(
    'security.denied',
    `User '${principal.name}' is not allowed to administer databases: only root is`,
  );
}
