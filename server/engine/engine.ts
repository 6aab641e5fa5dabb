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
import type {Database} from './database.ts';
import type {DatabaseSet} from './database-set.ts';
import {DiskSpace} from './disk-space.ts';
import type {EngineLog, Followed, LocalData} from './engine-log.ts';
import {
  type DataPaths,
  dataPaths,
  type EngineEvents,
  type EngineOptions,
} from './engine-options.ts';
import {recoverEngine, type StartLog} from './engine-recovery.ts';
import {decodeServerBody, type Entry, EntryEncoder} from '#server/transactions/entry.ts';
import {FormatRaise} from './formats/format-raise.ts';
import {Migrations} from './formats/migrations.ts';
import {prepareRoot, storagePath} from './recovery/recovery.ts';
import {type DatabaseStatus, ServedDatabases} from './served/served-databases.ts';
import {captureServer} from './server-checkpoint.ts';
import {type ServerDocument, ServerDocuments} from './served/server-documents.ts';
import {ServerEntries} from './served/server-entries.ts';
import type {ServerState} from './server-state.ts';
import {type InstallPlan, SnapshotInstall} from './snapshot-install.ts';

export interface StorageFigures {
  readonly memtableBytes: number;
  /** Counts sorted files; the stores' own logs are not counted. */
  readonly fileBytes: number;
  readonly cacheBytes: number;
  /** What compactions that are due have to read, about. */
  readonly uncompactedBytes: number;
}

const checkpointBytesMax = 32 << 20;

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
  readonly #entries: ServerEntries;
  readonly #served: ServedDatabases;
  readonly #documents: ServerDocuments;
  readonly #raise: FormatRaise;
  readonly #checkpoints: Checkpoints;
  readonly #space: DiskSpace;
  #events: EngineEvents = {};
  readonly #migrations: Migrations;

  constructor(options: EngineOptions & DataPaths, parts: EngineParts) {
    this.#options = options;
    this.#pipe = parts.pipe;
    this.#set = parts.databases;
    this.logId = parts.logId;
    const encoder = new EntryEncoder();
    const log = (): EngineLog => this.#log;
    this.#entries = new ServerEntries({clock: options.clock, encoder, log});
    this.#documents = new ServerDocuments(parts.databases, this.#entries);
    this.#raise = new FormatRaise({
      entries: this.#entries,
      formats: options.settings.formats,
      present: () => this.formatLevel,
    });
    this.#served = new ServedDatabases({
      ...options,
      set: parts.databases,
      entries: this.#entries,
      encoder,
      raise: this.#raise,
      commits: this.commits,
      log,
      events: () => this.#events,
    });
    const {raftStorageParent, segmentBytes} = options.settings;
    this.#checkpoints = new Checkpoints({
      pipe: parts.pipe,
      set: parts.databases,
      log,
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
      const served = this.#served.serve(database);
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
    return this.#served.names();
  }

  /** Names of databases that are attached and have not got their final name. */
  hiddenDatabases(): string[] {
    return this.#served.hiddenNames();
  }

  /** What can be done with a database of this name; undefined when there is none. */
  status(name: string): DatabaseStatus | undefined {
    return this.#served.status(name);
  }

  /** An open database; undefined when there is none of that name or it is closed. */
  database(name: string): Database | undefined {
    return this.#served.get(name);
  }

  createDatabase(name: string): Promise<Database> {
    return this.#served.create(name);
  }

  /** A new database under a hidden name, until `renameDatabase`. @throws {Refusal} */
  createHiddenDatabase(name: string): Promise<Database> {
    return this.#served.createHidden(name);
  }

  dropDatabase(name: string): Promise<void> {
    return this.#served.drop(name);
  }

  /** Takes files into service that stand in `databases/<name>` (served-databases.ts). */
  attachDatabase(name: string): Promise<void> {
    return this.#served.attach(name);
  }

  /** Gives a hidden database its name, in the place of the one that has it (`replaces`). */
  renameDatabase(hidden: string, name: string, replaces: boolean): Promise<void> {
    return this.#served.rename(hidden, name, replaces);
  }

  /** Serves the database again after `closeDatabase`. */
  openDatabase(name: string): void {
    this.#served.open(name);
  }

  /** Refuses requests for the database; its entries are applied all the same. */
  closeDatabase(name: string): void {
    this.#served.close(name);
  }

  /** What the stores of all databases hold in memory and on disk; cost: a call into each. */
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

  /** Raises the formats of a cluster to those of this build (formats/format-raise.ts). */
  raiseFormat(): Promise<void> {
    return this.#raise.raise();
  }

  /** A document of the whole server, such as `server-users.jsonl`. */
  serverDocument(name: string): ServerDocument | undefined {
    return this.#documents.get(name);
  }

  /** Replaces a document of the whole server (server-documents.ts). */
  putServerDocument(
    name: string,
    bytes: Uint8Array,
    expectedVersion?: number,
  ): Promise<ServerDocument> {
    return this.#documents.put(name, bytes, expectedVersion);
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
    this.commits.copiesFailed += 1;
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
    this.#served.mustExist(name);
    const bytes = Buffer.alloc(16);
    this.#options.random.fill(bytes);
    const marker = bytes.toString('hex');
    await this.#entries.propose('nothing', {head: {marker, name}});
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
    this.#served.each(database => database.close('the server is stopping'));
    if (this.#log.failure === undefined) await this.checkpoint();
    await this.#pipe.close();
    this.#set.close(this.#log.failure === undefined);
  }

  /** Executes a server-level entry, whoever appended it, and serves what is there then. */
  async #execute(index: LogIndex, entry: Entry): Promise<void> {
    if (entry.kind === 'drop-database') await this.#served.release(namesIn(entry));
    if (entry.kind === 'attach-database') await this.#served.release(namesIn(entry));
    await this.#set.execute(index, entry);
    this.#served.follow();
    if (entry.kind === 'format-level') {
      this.#served.each(database => database.dropSnapshot());
      const isOurs = this.#raise.settle();
      if (isOurs) this.#served.each(database => this.#migrations.resume(database));
    }
    if (entry.kind === 'put-document') this.#events.documentChanged?.();
    if (entry.kind.endsWith('-database')) this.#events.databasesChanged?.();
    if (entry.kind === 'nothing') this.#tellMarked(entry);
  }

  #tellMarked(entry: Entry): void {
    const {marker, name} = decodeServerBody(entry).head;
    const database = this.#served.named(String(name));
    if (typeof marker === 'string' && database !== undefined) {
      this.#events.marked?.(marker, database);
    }
  }

  async #install(plan: InstallPlan): Promise<void> {
    const {databases} = plan.state;
    const staged = new Set(this.snapshots.staged(databases).map(({id}) => id));
    const stays = ({id}: {readonly id: number}): boolean =>
      !staged.has(id) && databases.some(entry => entry.id === id);
    const replaced = this.#set.state.databases.filter(entry => !stays(entry));
    const used = await this.#served.setAside(database => !stays(database));
    try {
      await this.snapshots.plan(plan);
    } catch (error) {
      for (const database of used) database.reopen();
      throw error;
    }
    try {
      await this.#set.release(replaced);
      this.snapshots.finish();
      this.#served.forget(used);
      await this.#set.takeOver(plan.state);
    } catch (error) {
      // The next start finishes what the plan says.
      this.#log.fail(`a snapshot could not be put in place: ${String(error)}`);
      throw error;
    }
    this.#served.follow();
    this.#served.beginAt(plan.state.nextDatabaseId);
    this.#documents.settled();
    this.#events.documentChanged?.();
    this.#events.databasesChanged?.();
  }

  #follows(index: LogIndex, entry: Entry): Followed | 'passed-over' {
    const opened = this.#set.byId(entry.databaseId);
    if (opened === undefined) return 'passed-over';
    // It had been applied before this process began.
    if (index <= opened.position.index) return undefined;
    return this.#served.named(opened.name)?.follow(index, entry);
  }

  #leads(index: LogIndex): void {
    this.#served.beginAt(this.#set.state.nextDatabaseId);
    this.#documents.settled();
    this.#raise.settle();
    this.#served.each(database => {
      database.beginAnew(index);
      this.#migrations.resume(database);
    });
    this.#events.leadership?.(true);
  }

  #takenBack(index: LogIndex): void {
    this.#raise.settle();
    this.#served.takenBack(index);
    this.#events.takenBack?.();
  }

  #advanced(bytes: number, fences: ReadonlyMap<number, {readonly reason: string}>): void {
    for (const [id, fence] of fences) {
      const name = this.#set.byId(id)?.name;
      if (name === undefined || this.#set.fences.has(id)) continue;
      this.#set.fences.set(id, fence.reason);
      this.#served.named(name)?.close(fence.reason);
      this.#options.logger.log('error', 'database.fenced', {database: name, reason: fence.reason});
    }
    this.#checkpoints.advanced(bytes);
  }

  #failed(reason: string): void {
    this.#options.logger.log('error', 'log.failed', {reason});
    this.#events.failed?.(reason);
  }
}

/** Names the databases whose directories an entry moves or removes. */
function namesIn(entry: Entry): readonly string[] {
  const {name, renames} = decodeServerBody(entry).head;
  return [name, renames].filter(value => typeof value === 'string');
}
