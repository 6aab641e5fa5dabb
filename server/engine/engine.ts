/**
 * The engine: everything below sessions of one server, opened from a root directory.
 *
 * `openEngine` recovers (recovery/recovery.ts), starts the commit pipe and hands out databases;
 * what is created, dropped or stored for the whole server goes through the same log as every
 * commit.
 * Read next, in `transactions/`: transaction-contract.ts (what a session may do), commit.ts (the
 * vocabulary), coordinator.ts, commit-pipeline.ts and apply.ts (the three phases of a commit).
 *
 * Invariant T9: the log forgets an entry only after every database and the server store that
 * needs it holds it durably, and after the state file says so.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import {isStoreFile} from '#server/storage/file-names.ts';
import {Checkpoints} from './checkpoints.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import {CommitFigures} from '#server/monitoring/commit-figures.ts';
import type {CommitPipeline} from '#server/transactions/commit-pipeline.ts';
import {Coordinator} from '#server/transactions/coordinator.ts';
import {Database} from './database.ts';
import {checkDatabaseName, isHiddenName} from './database-name.ts';
import type {DatabaseSet, OpenDatabase} from './database-set.ts';
import {DiskSpace} from './disk-space.ts';
import {DocumentVersions} from './document-versions.ts';
import type {EngineLog, Followed, LocalData} from './engine-log.ts';
import {
  type DataPaths,
  dataPaths,
  type EngineEvents,
  type EngineOptions,
} from './engine-options.ts';
import {recoverEngine, type StartLog} from './engine-recovery.ts';
import {
  decodeServerBody,
  type Entry,
  EntryEncoder,
  type EntryKind,
  type ServerBody,
} from '#server/transactions/entry.ts';
import {Migrations} from './formats/migrations.ts';
import {prepareRoot, storagePath} from './recovery/recovery.ts';
import {captureServer} from './server-checkpoint.ts';
import type {ServerState} from './server-state.ts';
import {type InstallPlan, SnapshotInstall} from './snapshot-install.ts';

export interface ServerDocument {
  readonly version: number;
  readonly bytes: Buffer;
}

export interface StorageFigures {
  readonly memtableBytes: number;
  /** Counts sorted files; the stores' own logs are not counted. */
  readonly fileBytes: number;
  readonly cacheBytes: number;
  /** What compactions that are due have to read, about. */
  readonly uncompactedBytes: number;
}

const checkpointBytesMax = 32 << 20;
const noBytes = new Uint8Array(0);

/**
 * Recovers the root and opens it for use. Refuses the start where recovery/recovery.ts does.
 *
 * The caller holds the root: nobody else has it open (node/data-lock.ts).
 */
export async function openEngine(given: EngineOptions): Promise<Engine> {
  const options = {...given, ...dataPaths(given)};
  prepareRoot(options.disk, options.rootPath);
  const {databases, pipeParts, startLog} = await recoverEngine(options);
  const pipe = options.startPipe({...pipeParts, settings: options.settings});
  await databases.moveTo(pipe);
  return new Engine(options, {pipe, databases, logId: pipeParts.logId, startLog});
}

interface EngineParts {
  readonly startLog: StartLog;
  readonly pipe: CommitPipeline;
  readonly databases: DatabaseSet;
  readonly logId: string;
}

export class Engine {
  readonly logId: string;
  /** Where files of a snapshot come together before `install`. */
  readonly snapshots: SnapshotInstall;
  /** What became of the transactions of all databases. */
  readonly commits = new CommitFigures();
  readonly #options: EngineOptions & DataPaths;
  readonly #pipe: CommitPipeline;
  readonly #set: DatabaseSet;
  readonly #log: EngineLog;
  readonly #encoder = new EntryEncoder();
  readonly #databases = new Map<string, Database>();
  readonly #closed = new Set<string>();
  readonly #changing = new Set<string>();
  readonly #versions = new DocumentVersions();
  readonly #checkpoints: Checkpoints;
  readonly #space: DiskSpace;
  #nextDatabaseId: number;
  /** Closed for a drop whose outcome is open. */
  readonly #dropping = new Set<Database>();
  #events: EngineEvents = {};
  /** What an entry of this leader that is under way raises the format level to. */
  #raisesTo: number | undefined;
  readonly #migrations: Migrations;

  constructor(options: EngineOptions & DataPaths, parts: EngineParts) {
    this.#options = options;
    this.#pipe = parts.pipe;
    this.#set = parts.databases;
    this.logId = parts.logId;
    this.#nextDatabaseId = parts.databases.state.nextDatabaseId;
    const {raftStorageParent, segmentBytes} = options.settings;
    this.#checkpoints = new Checkpoints({
      pipe: parts.pipe,
      set: parts.databases,
      log: () => this.#log,
      logger: options.logger,
      bytesMax: Math.min(checkpointBytesMax, segmentBytes * 2),
    });
    this.snapshots = new SnapshotInstall({
      ...options,
      formats: options.settings.formats,
      storage: storagePath(raftStorageParent ?? options.rootPath, options.nodeName),
    });
    this.#migrations = new Migrations(options.settings.formats, options.logger);
    this.#space = new DiskSpace(options.disk, options.clock, {
      paths: [raftStorageParent ?? options.rootPath, options.databaseDirectory],
      reserveBytes: options.settings.segmentBytes + options.settings.freeBytesMin,
    });
    this.#log = parts.startLog(parts.pipe, {
      failed: reason => this.#failed(reason),
      advanced: (bytes, fences) => this.#advanced(bytes, fences),
      obstacle: bytes => this.#space.obstacle(bytes),
      execute: (index, entry) => this.#execute(index, entry),
      follows: (index, entry) => this.#follows(index, entry),
      leads: index => this.#leads(index),
      takenBack: index => this.#takenBack(index),
      isLong: () => this.#checkpoints.soon(),
      leadershipEnded: () => this.#events.leadership?.(false),
    });
    for (const database of parts.databases.openDatabases) {
      const served = this.#serve(database);
      // In a cluster the leader's work.
      if (options.memberLog === undefined) this.#migrations.resume(served);
    }
  }

  /** Names of databases whose rows are being brought to the format level of this release. */
  get migrating(): readonly string[] {
    return this.#migrations.names;
  }

  /** The format level that this server writes at present (formats/levels.ts). */
  get formatLevel(): number {
    return this.#set.state.formatLevel;
  }

  get appliedIndex(): LogIndex {
    return this.#log.appliedIndex;
  }

  /** No snapshot that was taken before this is asked shows an entry behind it. */
  get readableIndex(): LogIndex {
    return Math.max(this.#log.readableIndex, this.#set.foundIndex);
  }

  /** Set once the log can write nothing more: the process should be replaced. */
  get failure(): string | undefined {
    return this.#log.failure;
  }

  /** Whom to tell of what happens to the engine by itself, from now on. */
  listen(events: EngineEvents): void {
    this.#events = events;
  }

  /** Resolves when the entry at `index` is applied here, or nothing more will be. */
  whenApplied(index: LogIndex): Promise<void> {
    return this.#log.whenApplied(index);
  }

  /** Names of all databases, closed and fenced ones too, sorted. */
  databases(): string[] {
    return this.#names().filter(name => !isHiddenName(name));
  }

  /** Names of databases that are attached and have not got their final name. */
  hiddenDatabases(): string[] {
    return this.#names().filter(isHiddenName);
  }

  #names(): string[] {
    return this.#set.state.databases.map(entry => entry.name).sort();
  }

  /** What can be done with a database of this name; undefined when there is none. */
  status(name: string): 'open' | 'closed' | 'fenced' | undefined {
    const entry = this.#set.entry(name);
    if (entry === undefined) return undefined;
    if (this.#databases.get(name)?.fence !== undefined || this.#set.fences.has(entry.id)) {
      return 'fenced';
    }
    return this.#closed.has(name) ? 'closed' : 'open';
  }

  /** An open database; undefined when there is none of that name or it is closed. */
  database(name: string): Database | undefined {
    if (this.#closed.has(name)) return undefined;
    const database = this.#databases.get(name);
    if (database !== undefined) return database;
    const entry = this.#set.entry(name);
    const fence = entry === undefined ? undefined : this.#set.fences.get(entry.id);
    if (entry === undefined || fence === undefined) return undefined;
    const isPending = this.#set.pending.has(entry.id);
    const code = isPending ? 'cluster.snapshot-pending' : 'database.fenced';
    throw new Refusal(code, `database ${name}: ${fence}`);
  }

  /** What the stores of all databases hold in memory and on disk; some microseconds for each. */
  storage(): StorageFigures {
    const figures = {memtableBytes: 0, fileBytes: 0, cacheBytes: 0, uncompactedBytes: 0};
    for (const {store} of this.#set.openDatabases) {
      const properties = store.properties();
      figures.memtableBytes += properties.memtableBytes;
      figures.fileBytes += properties.sstBytes;
      figures.uncompactedBytes += properties.uncompactedBytes;
      // One cache for all.
      figures.cacheBytes = Math.max(figures.cacheBytes, properties.blockCacheBytes);
    }
    return figures;
  }

  async createDatabase(name: string): Promise<Database> {
    checkDatabaseName(name);
    return await this.#createDatabase(name);
  }

  /** A new database under a hidden name, until `renameDatabase`. @throws {Refusal} */
  async createHiddenDatabase(name: string): Promise<Database> {
    assert(isHiddenName(name), 'it is hidden by its name');
    return await this.#createDatabase(name);
  }

  async #createDatabase(name: string): Promise<Database> {
    if (this.#set.entry(name) !== undefined || this.#changing.has(name)) {
      throw new Refusal('database.exists', `database ${name} exists already`);
    }
    if (this.#options.stores.exists(this.#set.path(name))) {
      throw new Refusal(
        'database.exists',
        `a directory databases/${name} exists that this server did not make: restart to adopt it`,
      );
    }
    const id = this.#nextDatabaseId++;
    await this.#change(name, () => this.#propose('create-database', {head: {id, name}}));
    const database = this.#databases.get(name);
    if (database?.id === id) return database;
    throw new Refusal('database.fenced', `database ${name} did not open`);
  }

  async dropDatabase(name: string): Promise<void> {
    const entry = this.#set.entry(name);
    if (entry === undefined || this.#changing.has(name)) {
      throw new Refusal('database.missing', `there is no database ${name}`);
    }
    const database = this.#databases.get(name);
    database?.close('the database is being dropped');
    if (database !== undefined) this.#dropping.add(database);
    try {
      await this.#change(name, async () => {
        await database?.released();
        await this.#propose('drop-database', {head: {id: entry.id, name}});
      });
    } catch (error) {
      // It did not happen: the database goes on. Where that is not known it may be told later.
      if (error instanceof Refusal && !isUnknown(error)) this.#reopen(database);
      throw error;
    }
    if (database !== undefined) this.#dropping.delete(database);
  }

  /**
   * Takes a database into service whose files stand in `databases/<name>`, written under any log;
   * its name is hidden until `renameDatabase`. Members of a cluster that have no such directory
   * know of the database then, and have no copy of it.
   *
   * @throws {Refusal} what refuses a commit, or files that this release does not read.
   */
  async attachDatabase(name: string): Promise<void> {
    assert(isHiddenName(name), 'a database is attached under a hidden name');
    const path = this.#set.path(name);
    const formatLevel = await this.#set.formatLevelIn(path);
    const id = this.#nextDatabaseId++;
    await this.#change(name, () => this.#propose('attach-database', {head: {id, name}}));
    if (formatLevel < this.formatLevel) await this.#raiseRows();
  }

  /**
   * Gives a hidden database its name, in the place of the one that has it, in one step. Whoever
   * uses that one is told that it is dropped, and waited for.
   *
   * @param replaces - Whether there may be a database of that name.
   * @throws {Refusal} `database.missing`, `database.exists`, and what refuses a commit: everything
   *   is as it was then.
   */
  async renameDatabase(hidden: string, name: string, replaces: boolean): Promise<void> {
    checkDatabaseName(name);
    const entry = this.#set.entry(hidden);
    if (entry === undefined) throw new Refusal('database.missing', `there is no ${hidden}`);
    const taken = this.#set.entry(name);
    if (this.#changing.has(name) || (taken !== undefined && !replaces)) {
      throw new Refusal('database.exists', `database ${name} exists already`);
    }
    const head = {id: entry.id, name, renames: hidden, replaces: taken?.id ?? 0};
    await this.#change(name, () => this.#propose('attach-database', {head}));
    if (this.#set.entry(name)?.id === entry.id) return;
    throw new Refusal('database.exists', `database ${name} was made by another request meanwhile`);
  }

  /** Serves the database again after `closeDatabase`. */
  openDatabase(name: string): void {
    this.#mustExist(name);
    this.#closed.delete(name);
    this.#events.databasesChanged?.();
  }

  /** Refuses requests for the database; its entries are applied all the same. */
  closeDatabase(name: string): void {
    this.#mustExist(name);
    this.#closed.add(name);
    this.#events.databasesChanged?.();
  }

  /** What lies in the database's directory and is none of its store's: nothing refers to it. */
  unreferencedFiles(name: string): readonly string[] {
    return this.#options.stores.list(this.#set.path(name)).filter(file => !isStoreFile(file));
  }

  /** Removes one of `unreferencedFiles`. */
  removeUnreferencedFile(name: string, file: string): void {
    assert(!isStoreFile(file) && !file.includes('/'), 'a file of the store is not removed');
    this.#options.stores.remove(`${this.#set.path(name)}/${file}`);
  }

  /** Why no store here may grow by `bytes` for a while, if so. */
  shortageFor(bytes: number): string | undefined {
    return this.#space.shortage(this.#options.databaseDirectory, bytes);
  }

  /**
   * Raises the formats of a cluster to those of this build, and begins to bring the rows there.
   * For a leader, once every member reads them: one that does not stops at the entry. Commits that
   * meet the entry are conflicts, so that nothing of the old level comes behind it.
   *
   * @throws {Refusal} what refuses a commit.
   */
  async raiseFormat(): Promise<void> {
    const {level} = this.#options.settings.formats;
    if (this.#raisesTo !== undefined || this.formatLevel >= level) return;
    await this.#raiseTo(level);
  }

  /** A database of an earlier level was attached: its rows are brought to that of the others. */
  async #raiseRows(): Promise<void> {
    if (this.#raisesTo === undefined) await this.#raiseTo(this.formatLevel);
  }

  async #raiseTo(level: number): Promise<void> {
    this.#raisesTo = level;
    try {
      await this.#propose('format-level', {head: {level}});
    } catch (error) {
      // One whose outcome is not known may be executed yet.
      if (!isUnknown(error)) this.#raisesTo = undefined;
      throw error;
    }
  }

  /** A document of the whole server, such as `server-users.jsonl`. */
  serverDocument(name: string): ServerDocument | undefined {
    return this.#set.document(name);
  }

  /**
   * Replaces a document; durable and in `config/<name>` on return. With `expectedVersion`, only
   * if it has that version (0: absent); otherwise a retryable refusal.
   */
  async putServerDocument(
    name: string,
    bytes: Uint8Array,
    expectedVersion?: number,
  ): Promise<ServerDocument> {
    const current = this.#versions.newest(name, this.#set.document(name)?.version ?? 0);
    if (expectedVersion !== undefined && expectedVersion !== current) {
      throw new Refusal('commit.conflict', `${name} was changed by another request meanwhile`);
    }
    const version = current + 1;
    const giveBack = this.#versions.take(name, version);
    try {
      await this.#propose('put-document', {head: {name, version}, bytes});
    } catch (error) {
      // An unknown one may be executed yet.
      if (!isUnknown(error)) giveBack();
      throw error;
    }
    return {version, bytes: Buffer.from(bytes)};
  }

  /**
   * A whole copy of a database in a new directory, as of everything that was committed before the
   * call; by hard links where the file system has them. Commits go on meanwhile.
   *
   * @returns The log index up to which the copy holds every entry.
   * @throws {Refusal} `database.missing`; `database.operation` when it cannot be copied.
   */
  async copyDatabase(name: string, directory: string): Promise<LogIndex> {
    const database = this.database(name);
    if (database === undefined)
      throw new Refusal('database.missing', `there is no database ${name}`);
    const outcome = await this.#pipe.copy([{databaseId: database.id, directory}]);
    if (outcome.kind === 'copied') return outcome.index;
    throw new Refusal('database.operation', `${name} cannot be copied: ${outcome.reason}`);
  }

  /**
   * A checkpoint of the whole server in `directory` (server-checkpoint.ts), at the index that the
   * answer names as `durableIndex`.
   *
   * @throws {Refusal} `database.operation` when a database cannot be copied.
   */
  async capture(directory: string): Promise<ServerState> {
    const {disk, stores} = this.#options;
    return await captureServer(
      {
        disk,
        stores,
        pipe: this.#pipe,
        state: () => this.#set.state,
        executed: index => this.#log.executed(index),
      },
      directory,
    );
  }

  /** Why a leader would refuse commits for want of room on the disk; undefined: there is some. */
  get spaceObstacle(): string | undefined {
    return this.#space.obstacle(0)?.detail;
  }

  /** What there is, for a comparison with other servers. */
  localData(): LocalData {
    return this.#set.localData();
  }

  /**
   * Puts a marker for a database into the log. Every member of a cluster tells its listener of it
   * when the database holds exactly what was committed before.
   *
   * @returns Its name.
   * @throws {Refusal} `database.missing`, and what refuses a commit.
   */
  async mark(name: string): Promise<string> {
    this.#mustExist(name);
    const bytes = Buffer.alloc(16);
    this.#options.random.fill(bytes);
    const marker = bytes.toString('hex');
    await this.#propose('nothing', {head: {marker, name}});
    return marker;
  }

  /** Databases, documents and positions, as last saved. */
  get state(): ServerState {
    return this.#set.state;
  }

  /**
   * Puts the staged files of a snapshot in the place of what is here, and goes on with them. Call
   * while nothing is applied, and `snapshots.forget` once the log agrees with the plan. Whoever
   * uses a database that is replaced is told that it is dropped, and waited for.
   *
   * @throws {Corruption} when the staged files are not what the plan says: all is as it was.
   * @throws {Refusal} `cluster.membership` when more is applied here than the snapshot holds: the
   *   log went on while it was fetched, and what is behind it would be lost.
   */
  async install(plan: InstallPlan): Promise<void> {
    const index = plan.checkpoint?.last.index;
    if (index !== undefined && index < this.appliedIndex) {
      throw new Refusal(
        'cluster.membership',
        `the snapshot ends at entry ${index}, and this server has applied ${this.appliedIndex}`,
      );
    }
    await this.#checkpoints.during(() => this.#install(plan));
  }

  /** Makes everything applied durable and lets the log forget what is in the databases. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.run();
  }

  /** Finishes what is under way; afterwards `databases/` is complete without the log. */
  async close(): Promise<void> {
    this.#log.stop();
    this.#pipe.stopWaiting();
    await this.#log.settled();
    await this.#migrations.ended();
    await this.#log.close();
    await this.#checkpoints.ended();
    for (const database of this.#databases.values()) database.close('the server is stopping');
    if (this.#log.failure === undefined) await this.checkpoint();
    await this.#pipe.close();
    this.#set.close(this.#log.failure === undefined);
  }

  #serve(opened: OpenDatabase): Database {
    const {settings, clock, timers} = this.#options;
    const present = this.#databases.get(opened.name);
    if (present !== undefined && present.id === opened.id) return present;
    const {id, name, store, position} = opened;
    const database = new Database({
      id,
      name,
      store,
      log: this.#log,
      clock,
      timers,
      limits: settings.transaction,
      schemaVersion: position.schemaVersion,
      formatLevel: () => this.formatLevel,
      makeCoordinator: onApplied =>
        new Coordinator({
          databaseId: id,
          store,
          log: this.#log,
          clock,
          encoder: this.#encoder,
          limits: settings.commit,
          figures: this.commits,
          positionIndex: position.index,
          schemaVersion: position.schemaVersion,
          formatLevel: () => this.#raisesTo ?? this.formatLevel,
          onApplied,
        }),
    });
    this.#databases.set(name, database);
    return database;
  }

  async #change(name: string, work: () => Promise<void>): Promise<void> {
    this.#changing.add(name);
    try {
      await work();
    } finally {
      this.#changing.delete(name);
    }
  }

  /** Appends a server-level entry; resolves when it is executed here. */
  async #propose(
    kind: EntryKind,
    body: {readonly head: ServerBody['head']; readonly bytes?: Uint8Array},
  ): Promise<void> {
    const clock = Math.max(0, Math.floor(this.#options.clock.now()));
    const bytes = this.#encoder.encodeServer(kind, clock, {
      head: body.head,
      bytes: body.bytes ?? noBytes,
    });
    const result = await this.#log.propose(bytes);
    if (result.kind === 'refused') throw refusalOf(result.code, result.detail);
    if (result.kind === 'unknown') throw new Refusal('commit.unknown', result.detail);
  }

  /** Executes a server-level entry, whoever appended it, and serves what is there then. */
  async #execute(index: LogIndex, entry: Entry): Promise<void> {
    if (entry.kind === 'drop-database') await this.#release(namesIn(entry));
    if (entry.kind === 'attach-database') await this.#release(namesIn(entry));
    await this.#set.execute(index, entry);
    for (const [name, {id}] of this.#databases) {
      if (this.#set.byId(id) === undefined && this.#set.entry(name)?.id !== id) {
        this.#databases.delete(name);
        this.#closed.delete(name);
      }
    }
    for (const opened of this.#set.openDatabases) this.#serve(opened);
    if (entry.kind === 'format-level') this.#eachServed(database => database.dropSnapshot());
    if (entry.kind === 'format-level' && this.#raisesTo !== undefined) {
      this.#raisesTo = undefined;
      this.#eachServed(database => this.#migrations.resume(database));
    }
    if (entry.kind === 'put-document') this.#events.documentChanged?.();
    if (entry.kind.endsWith('-database')) this.#events.databasesChanged?.();
    if (entry.kind === 'nothing') this.#tellMarked(entry);
  }

  #tellMarked(entry: Entry): void {
    const {marker, name} = decodeServerBody(entry).head;
    const database = this.#databases.get(String(name));
    if (typeof marker === 'string' && database !== undefined) {
      this.#events.marked?.(marker, database);
    }
  }

  /** Nobody uses the databases any more that an entry drops, renames or replaces. */
  async #release(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const database = this.#databases.get(name);
      if (database === undefined) continue;
      database.close('the database is being dropped');
      this.#events.dropping?.(database);
      await database.released();
      this.#databases.delete(name);
      this.#closed.delete(name);
    }
  }

  async #install(plan: InstallPlan): Promise<void> {
    const {databases} = plan.state;
    const staged = new Set(this.snapshots.staged(databases).map(({id}) => id));
    const stays = ({id}: {readonly id: number}): boolean =>
      !staged.has(id) && databases.some(entry => entry.id === id);
    const replaced = this.#set.state.databases.filter(entry => !stays(entry));
    const used = [...this.#databases.values()].filter(database => !stays(database));
    for (const database of used) {
      database.close('a snapshot is being put in its place');
      this.#events.dropping?.(database);
    }
    for (const database of used) await database.released();
    try {
      await this.snapshots.plan(plan);
    } catch (error) {
      for (const database of used) database.reopen();
      throw error;
    }
    try {
      await this.#set.release(replaced);
      this.snapshots.finish();
      for (const {name} of used) this.#databases.delete(name);
      await this.#set.takeOver(plan.state);
    } catch (error) {
      // The next start finishes what the plan says.
      this.#log.fail(`a snapshot could not be put in place: ${String(error)}`);
      throw error;
    }
    for (const opened of this.#set.openDatabases) this.#serve(opened);
    this.#nextDatabaseId = plan.state.nextDatabaseId;
    this.#versions.clear();
    this.#events.documentChanged?.();
    this.#events.databasesChanged?.();
  }

  #follows(index: LogIndex, entry: Entry): Followed | 'passed-over' {
    const opened = this.#set.byId(entry.databaseId);
    if (opened === undefined) return 'passed-over';
    // It had been applied before this process began.
    if (index <= opened.position.index) return undefined;
    return this.#databases.get(opened.name)?.follow(index, entry);
  }

  #leads(index: LogIndex): void {
    this.#nextDatabaseId = this.#set.state.nextDatabaseId;
    this.#versions.clear();
    this.#raisesTo = undefined;
    this.#eachServed(database => {
      database.beginAnew(index);
      this.#migrations.resume(database);
    });
    this.#events.leadership?.(true);
  }

  #takenBack(index: LogIndex): void {
    this.#raisesTo = undefined;
    this.#eachServed(database => database.takeBack(index));
    for (const database of this.#dropping) this.#reopen(database);
  }

  #reopen(database: Database | undefined): void {
    if (database !== undefined && this.#dropping.delete(database)) database.reopen();
  }

  #eachServed(work: (database: Database) => void): void {
    for (const database of this.#databases.values()) work(database);
  }

  #advanced(bytes: number, fences: ReadonlyMap<number, {readonly reason: string}>): void {
    for (const [id, fence] of fences) {
      const name = this.#set.byId(id)?.name;
      if (name === undefined || this.#set.fences.has(id)) continue;
      this.#set.fences.set(id, fence.reason);
      this.#databases.get(name)?.close(fence.reason);
      this.#options.logger.log('error', 'database.fenced', {database: name, reason: fence.reason});
    }
    this.#checkpoints.advanced(bytes);
  }

  #failed(reason: string): void {
    this.#options.logger.log('error', 'log.failed', {reason});
    this.#events.failed?.(reason);
  }

  #mustExist(name: string): void {
    if (this.#set.entry(name) === undefined) {
      throw new Refusal('database.missing', `there is no database ${name}`);
    }
  }
}

/** Names the databases whose directories an entry moves or removes. */
function namesIn(entry: Entry): readonly string[] {
  const {name, renames} = decodeServerBody(entry).head;
  return [name, renames].filter(value => typeof value === 'string');
}

function isUnknown(error: unknown): boolean {
  return error instanceof Refusal && error.code === 'commit.unknown';
}

function refusalOf(code: string, detail: string): Refusal {
  if (code === 'queue-full') return new Refusal('commit.queue-full', detail);
  if (code === 'disk-full') return new Refusal('storage.full', detail);
  if (code === 'not-leader') return new Refusal('cluster.not-leader', detail);
  return new Refusal('server.stopping', detail);
}
