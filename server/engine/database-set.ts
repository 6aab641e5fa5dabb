/**
 * The databases of one server and its documents, as server-level entries make them.
 *
 * Executes those entries: directories under temporary names first, then the rename, then the
 * state file, so that each may be executed again after a crash at any point. The same code runs
 * for an entry just committed and for one replayed at start.
 *
 * Invariant T7 (server-state.ts). Invariant T8: a store is opened by one owner, this one; the
 * commit pipe is told before entries for it can arrive and lets go before it is closed.
 */
import {assert} from '#server/base/assert.ts';
import {Corruption, reasonOf, Refusal} from '#server/base/errors.ts';
import {readWhole, writeAtomically} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {type Store, StoreFailure} from '#server/storage/store.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {LocalData} from './engine-log.ts';
import {decodeServerBody, type Entry} from '#server/transactions/entry.ts';
import {checkFormat, type Formats} from './formats/levels.ts';
import {
  type DatabaseEntry,
  type ServerState,
  type ServerStateFile,
  withDatabase,
  withDocument,
  withoutDatabase,
} from './server-state.ts';
import {setAside} from './quarantine.ts';
import type {StoreFactory} from './store-factory.ts';
import {
  type DatabasePosition,
  decodeMigration,
  decodePosition,
  encodeMigration,
  encodePosition,
  migrationKey,
  nameKey,
  positionKey,
} from '#server/transactions/system-keys.ts';

export interface DatabaseSetOptions {
  readonly disk: Disk;
  readonly databaseDirectory: string;
  readonly configDirectory: string;
  readonly logId: string;
  readonly stores: StoreFactory;
  readonly stateFile: ServerStateFile;
  readonly logger: Logger;
  readonly formats: Formats;
}

/** A database with its store open. */
export interface OpenDatabase extends DatabaseEntry {
  readonly store: Store;
  /** The position when the database was opened; the applier knows the present one. */
  readonly position: DatabasePosition;
}

/** Who applies transaction entries: the applier while replaying, the commit pipe afterwards. */
export interface Attachments {
  attach(databaseId: number, store: Store, position: DatabasePosition): void;
  detach(databaseId: number): Promise<DatabasePosition | undefined> | DatabasePosition | undefined;
}

export class DatabaseSet {
  readonly #options: DatabaseSetOptions;
  readonly #open = new Map<number, OpenDatabase>();
  #foundIndex: LogIndex = 0;
  /** Why a database of the state cannot be used, by id. */
  readonly fences = new Map<number, string>();
  /** Databases whose directory an interrupted snapshot install left behind. */
  readonly pending = new Set<number>();
  /** Databases that cannot be opened: the log keeps everything after these indexes. */
  readonly #held = new Map<number, number>();
  #state: ServerState;
  #attachments: Attachments;

  constructor(options: DatabaseSetOptions, state: ServerState, attachments: Attachments) {
    this.#options = options;
    this.#state = state;
    this.#attachments = attachments;
  }

  get state(): ServerState {
    return this.#state;
  }

  get openDatabases(): IterableIterator<OpenDatabase> {
    return this.#open.values();
  }

  /**
   * The newest entry that a database held when it was opened. Behind a start more may be in the
   * stores than was applied again.
   */
  get foundIndex(): LogIndex {
    return this.#foundIndex;
  }

  byId(id: number): OpenDatabase | undefined {
    return this.#open.get(id);
  }

  entry(name: string): DatabaseEntry | undefined {
    return this.#state.databases.find(entry => entry.name === name);
  }

  document(name: string): {readonly version: number; readonly bytes: Buffer} | undefined {
    const stored = this.#state.documents[name];
    if (stored === undefined) return undefined;
    return {version: stored.version, bytes: Buffer.from(stored.base64, 'base64')};
  }

  path(name: string): string {
    return `${this.#options.databaseDirectory}/${name}`;
  }

  /** What there is, for a comparison with other servers. */
  localData(): LocalData {
    const databases = [...this.#open.values()].map(({name, store}) => {
      const bytes = store.get(positionKey);
      const transactions = bytes === undefined ? 0 : decodePosition(bytes).transactionCount;
      return {name, transactions};
    });
    return {databases, documents: Object.keys(this.#state.documents).length};
  }

  /** Hands the open stores over to another owner of the writing side. */
  async moveTo(attachments: Attachments): Promise<void> {
    for (const database of this.#open.values()) {
      const position = await this.#attachments.detach(database.id);
      attachments.attach(database.id, database.store, position ?? database.position);
    }
    this.#attachments = attachments;
  }

  /** Records how far everything is durable; the log may then forget what is before. */
  saveDurable(durableIndex: number, positions: ReadonlyMap<number, DatabasePosition>): void {
    const known = Object.fromEntries(
      [...positions].map(([id, position]) => [String(id), position.index]),
    );
    this.#save({
      ...this.#state,
      durableIndex: Math.max(this.#state.durableIndex, durableIndex),
      positions: {...this.#state.positions, ...known},
    });
  }

  /** The log keeps everything that the database did not hold durably when it was last seen. */
  holdLog(databaseId: number): void {
    this.#held.set(databaseId, this.#state.positions[String(databaseId)] ?? 0);
  }

  /** How much of what is durable in all open databases the log may forget. */
  heldFloor(durableIndex: number): number {
    return Math.min(durableIndex, ...this.#held.values());
  }

  /**
   * Documents in `config/` whose content no entry has told of. A file that is missing is written
   * again from the state.
   */
  editedDocuments(): {readonly name: string; readonly bytes: Buffer}[] {
    const {disk, configDirectory} = this.#options;
    const edited: {readonly name: string; readonly bytes: Buffer}[] = [];
    const present = disk.list(configDirectory).filter(isServerDocument);
    for (const name of present) {
      const bytes = this.#readDocument(name);
      if (bytes === undefined) continue;
      if (this.document(name)?.bytes.equals(bytes) !== true) edited.push({name, bytes});
    }
    for (const name of Object.keys(this.#state.documents)) {
      if (present.includes(name)) continue;
      const bytes = this.document(name)?.bytes ?? Buffer.alloc(0);
      writeAtomically(disk, `${configDirectory}/${name}`, bytes);
    }
    return edited;
  }

  /**
   * Undefined: a document's file can be written. A pipe or a device in its place gives way, as the
   * new file is renamed over it; a directory does not.
   */
  documentFault(name: string): string | undefined {
    const {disk, configDirectory} = this.#options;
    const path = `${configDirectory}/${name}`;
    if (!disk.exists(path)) return undefined;
    try {
      disk.open(path, 'read').close();
      return undefined;
    } catch {
      if (!isDirectory(disk, path)) return undefined;
      const what = `${path} is a directory: move it away`;
      return `the server keeps ${name} in a file of its own, and ${what}`;
    }
  }

  /** Undefined: a schedule of backups that cannot be read, which stops no start. */
  #readDocument(name: string): Buffer | undefined {
    const {disk, configDirectory, logger} = this.#options;
    try {
      return readWhole(disk, `${configDirectory}/${name}`);
    } catch (error) {
      if (name !== 'backup.json') throw error;
      logger.log('error', 'document.unreadable', {name, reason: reasonOf(error)});
      return undefined;
    }
  }

  /** Executes one server-level entry; passes over those that the state has already. */
  async execute(index: number, entry: Entry): Promise<void> {
    if (index <= this.#state.index) return;
    const {head, bytes} = decodeServerBody(entry);
    const name = String(head['name'] ?? '');
    const id = Number(head['id'] ?? 0);
    switch (entry.kind) {
      case 'create-database':
        return this.#create(index, {id, name});
      case 'drop-database':
        return this.#drop(index, {id, name});
      case 'attach-database': {
        const renames = head['renames'];
        if (typeof renames !== 'string') return this.#attach(index, {id, name});
        return this.#rename(index, {id, name}, {renames, replaces: Number(head['replaces'])});
      }
      case 'put-document':
        return this.#putDocument(index, {name, version: Number(head['version']), bytes});
      case 'format-level':
        return this.#raiseFormat(index, Number(head['level']));
      case 'nothing':
        return;
      case 'transaction':
        throw new Corruption('a transaction entry names no database', {index});
      default:
        entry.kind satisfies never;
    }
  }

  /** Opens the store of a database that the state names; its position is not judged here. */
  async openStore(entry: DatabaseEntry): Promise<OpenDatabase> {
    const path = this.path(entry.name);
    const store = await this.#options.stores.open(path, {mustExist: true});
    const position = readPosition(store, path, this.#options.formats);
    if (position === undefined || position.databaseId !== entry.id) {
      store.close();
      throw new Refusal(
        'start.refused',
        `${path} is not the database that this server knows by that name: move the directory ` +
          'away, or give the server a root of its own',
      );
    }
    return {...entry, store, position};
  }

  /** Takes an opened database into service. */
  adopt(database: OpenDatabase): void {
    assert(!this.#open.has(database.id), 'a database is opened once');
    this.#open.set(database.id, database);
    this.#foundIndex = Math.max(this.#foundIndex, database.position.index);
    this.#attachments.attach(database.id, database.store, database.position);
  }

  /** Lets go of databases whose files are going to be replaced. */
  async release(databases: readonly DatabaseEntry[]): Promise<void> {
    for (const {id} of databases) {
      await this.#letGo(id);
      this.#forgetFaults(id);
    }
  }

  /**
   * Goes on with `state`, which is on the disk already, and opens the databases of it that are not
   * open: a snapshot was put in place.
   */
  async takeOver(state: ServerState): Promise<void> {
    this.#state = state;
    for (const entry of state.databases) {
      if (!this.#open.has(entry.id) && !this.fences.has(entry.id)) {
        this.adopt(await this.openStore(entry));
      }
    }
  }

  /** Removes what an interrupted create or drop left. */
  sweep(): void {
    const {stores, databaseDirectory} = this.#options;
    for (const name of stores.list(databaseDirectory)) {
      if (/^\.(creating|dropped)-\d+$/.test(name)) stores.remove(`${databaseDirectory}/${name}`);
    }
  }

  /**
   * Closes every store; `flush` writes what is in memory to sorted files first, so that the next
   * start has no store's log to read again.
   */
  close(flush: boolean): void {
    for (const {id, name, store} of this.#open.values()) {
      try {
        if (flush && !this.fences.has(id)) store.makeDurable();
      } catch (error) {
        // All of it is in the store's own log, which was synced before.
        if (!(error instanceof StoreFailure || error instanceof Corruption)) throw error;
        this.#options.logger.log('warn', 'database.not-flushed', {database: name, error});
      }
      store.close();
    }
    this.#open.clear();
  }

  async #create(index: number, entry: DatabaseEntry): Promise<void> {
    const {stores, databaseDirectory, logId, logger} = this.#options;
    const path = this.path(entry.name);
    if (stores.exists(path) && !(await this.#isMade(entry))) setAside(this.#options, entry.name);
    if (!stores.exists(path)) {
      const temporary = `${databaseDirectory}/.creating-${entry.id}`;
      stores.remove(temporary);
      const store = await stores.open(temporary);
      const batch = store.batch();
      batch.put(nameKey, Buffer.from(entry.name, 'utf8'));
      const position = firstPosition(entry.id, logId, index);
      const {formatLevel} = this.#state;
      batch.put(positionKey, encodePosition({...position, formatLevel}));
      store.write(batch, {sync: true});
      store.close();
      stores.rename(temporary, path);
    }
    const database = await this.openStore(entry);
    this.#save(withDatabase(this.#state, index, entry));
    this.adopt(database);
    logger.log('info', 'database.created', {database: entry.name, id: entry.id});
  }

  /** Whether the directory is that of the entry, which was executed before a crash. */
  async #isMade(entry: DatabaseEntry): Promise<boolean> {
    const {stores, logId, formats} = this.#options;
    const path = this.path(entry.name);
    try {
      const store = await stores.open(path, {mustExist: true});
      const position = readPosition(store, path, formats);
      store.close();
      return position?.databaseId === entry.id && position.logId === logId;
    } catch (error) {
      if (!(error instanceof StoreFailure || error instanceof Corruption)) throw error;
      return false;
    }
  }

  async #drop(index: number, entry: DatabaseEntry): Promise<void> {
    const {stores, databaseDirectory, logger} = this.#options;
    await this.#letGo(entry.id);
    const path = this.path(entry.name);
    const dropped = `${databaseDirectory}/.dropped-${entry.id}`;
    if (stores.exists(path) && !stores.exists(dropped)) stores.rename(path, dropped);
    this.#forgetFaults(entry.id);
    this.#save(withoutDatabase(this.#state, index, entry.id));
    stores.remove(dropped);
    logger.log('info', 'database.dropped', {database: entry.name, id: entry.id});
  }

  async #letGo(id: number): Promise<void> {
    const database = this.#open.get(id);
    if (database === undefined) return;
    await this.#attachments.detach(id);
    database.store.close();
    this.#open.delete(id);
  }

  #forgetFaults(id: number): void {
    this.fences.delete(id);
    this.pending.delete(id);
    this.#held.delete(id);
  }

  /** Gives a directory of another log (a copy, an upgrade) its identity in this one. */
  async #attach(index: number, entry: DatabaseEntry): Promise<void> {
    const {stores, logId, logger} = this.#options;
    const path = this.path(entry.name);
    this.#forgetFaults(entry.id);
    if (!stores.exists(path)) {
      this.#save(withDatabase(this.#state, index, entry));
      this.#fenceAbsent(entry);
      return;
    }
    const store = await stores.open(path, {mustExist: true});
    const before = readPosition(store, path, this.#options.formats);
    if (before === undefined) throw new Corruption(`${path} holds no database`, {path});
    const isOurs = before.logId === logId && before.databaseId === entry.id;
    const position = isOurs ? before : {...before, databaseId: entry.id, logId, index, chain: 0};
    const batch = store.batch();
    batch.put(positionKey, encodePosition(position));
    store.write(batch, {sync: true});
    this.#save(withDatabase(this.#state, index, entry));
    this.adopt({...entry, store, position});
    logger.log('info', 'database.attached', {database: entry.name, id: entry.id});
  }

  /**
   * Gives a database another name, in the place of the one that has it. Each step may be done again
   * after a crash: the state forgets the one that goes before its name is taken (T7).
   */
  async #rename(
    index: number,
    entry: DatabaseEntry,
    {renames, replaces}: {readonly renames: string; readonly replaces: number},
  ): Promise<void> {
    const {stores, databaseDirectory, logger} = this.#options;
    const taken = this.entry(entry.name);
    const isKnown = this.#state.databases.some(({id}) => id === entry.id);
    if (!isKnown || (taken !== undefined && taken.id !== replaces)) {
      logger.log('warn', 'database.not-renamed', {database: entry.name, id: entry.id});
      this.#save({...this.#state, index});
      return;
    }
    const path = this.path(entry.name);
    const dropped = `${databaseDirectory}/.dropped-${replaces}`;
    if (taken !== undefined) {
      await this.#letGo(taken.id);
      if (stores.exists(path) && !stores.exists(dropped)) stores.rename(path, dropped);
      this.#forgetFaults(taken.id);
      this.#save(withoutDatabase(this.#state, this.#state.index, taken.id));
    }
    await this.#letGo(entry.id);
    this.#forgetFaults(entry.id);
    if (stores.exists(this.path(renames))) {
      if (stores.exists(path)) setAside(this.#options, entry.name);
      stores.rename(this.path(renames), path);
    }
    this.#save(withDatabase(this.#state, index, entry));
    if (stores.exists(path)) this.adopt(await this.openStore(entry));
    else this.#fenceAbsent(entry);
    if (replaces > 0) stores.remove(dropped);
    logger.log('info', 'database.renamed', {database: entry.name, id: entry.id, from: renames});
  }

  /** Fences a database whose files only another member of the cluster has. */
  #fenceAbsent({id, name}: DatabaseEntry): void {
    const reason = 'this server has no copy of it yet: the leader has';
    this.fences.set(id, reason);
    this.#options.logger.log('warn', 'database.absent', {database: name, reason});
  }

  /** The level of the formats in which a directory of a database is written. */
  async formatLevelIn(path: string): Promise<number> {
    const store = await this.#options.stores.open(path, {mustExist: true});
    const position = readPosition(store, path, this.#options.formats);
    store.close();
    if (position !== undefined) return position.formatLevel;
    throw new Corruption(`${path} holds no database`, {path});
  }

  /**
   * Writes databases in `level` from here on. Those that hold rows of an earlier one say so
   * first, so that whoever opens them after a crash knows.
   */
  async #raiseFormat(index: number, level: number): Promise<void> {
    const {formats} = this.#options;
    checkFormat(formats, {level, oldest: level}, 'the cluster of this server');
    for (const database of this.#open.values()) {
      if (database.position.formatLevel >= level) continue;
      const before = (await this.#attachments.detach(database.id)) ?? database.position;
      const position = {...before, formatLevel: level};
      const {store} = database;
      const batch = store.batch();
      const state = {from: before.formatLevel, rowsRewritten: 0, cursor: Buffer.alloc(0)};
      batch.put(positionKey, encodePosition(position));
      batch.put(migrationKey, encodeMigration(state));
      store.write(batch, {sync: true});
      this.#open.set(database.id, {...database, position});
      this.#attachments.attach(database.id, store, position);
    }
    this.#save({...this.#state, index, formatLevel: level});
    this.#options.logger.log('info', 'format.raised', {level});
  }

  /** The file first: were the state first, a crash between would look like an edit by hand. */
  #putDocument(
    index: number,
    document: {readonly name: string; readonly version: number; readonly bytes: Uint8Array},
  ): void {
    const {disk, configDirectory, logger} = this.#options;
    const {name, bytes} = document;
    try {
      writeAtomically(disk, `${configDirectory}/${name}`, bytes);
    } catch (error) {
      if (!isDirectoryInTheWay(error)) throw error;
      // The state has it, and writes the file when it is missing at a start.
      logger.log('error', 'document.not-written', {name, reason: this.documentFault(name)});
    }
    this.#save(withDocument(this.#state, index, document));
  }

  #save(state: ServerState): void {
    this.#options.stateFile.save(state);
    this.#state = state;
  }
}

/** Whether it is one, where something lies there that is no regular file. */
function isDirectory(disk: Disk, path: string): boolean {
  try {
    disk.list(path);
    return true;
  } catch {
    return false;
  }
}

function isDirectoryInTheWay(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EISDIR';
}

/**
 * Users, groups and tokens, what agents may do, and when backups are made; other files in
 * `config/` are none of ours.
 */
export function isServerDocument(name: string): boolean {
  return /^(?:server-[a-z0-9-]+\.jsonl?|(?:mcp-config|backup)\.json)$/.test(name);
}

/**
 * The position in a store, or undefined when it is none of ours.
 *
 * @throws {Refusal} when `formats` do not read the database; the store is closed then.
 */
export function readPosition(
  store: Store,
  path: string,
  formats: Formats,
): DatabasePosition | undefined {
  try {
    const bytes = store.get(positionKey);
    if (bytes === undefined) return undefined;
    const position = decodePosition(bytes);
    const level = position.formatLevel;
    const migration = store.get(migrationKey);
    const oldest = migration === undefined ? level : decodeMigration(migration).from;
    checkFormat(formats, {level, oldest}, `the database in ${path}`);
    return position;
  } catch (error) {
    store.close();
    throw error;
  }
}

function firstPosition(
  databaseId: number,
  logId: string,
  index: number,
): Omit<DatabasePosition, 'formatLevel'> {
  return {databaseId, logId, index, chain: 0, transactionCount: 0, schemaVersion: 0};
}
