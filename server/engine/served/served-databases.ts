/**
 * The databases that this server serves: they are made, attached, renamed and dropped by entries of
 * the log, and opened or closed for requests by this server alone.
 */
import {assert} from '#server/base/assert.ts';
import {Refusal} from '#server/base/errors.ts';
import type {CommitFigures} from '#server/monitoring/commit-figures.ts';
import {Coordinator} from '#server/transactions/coordinator.ts';
import type {LogIndex} from '#server/transactions/commit.ts';
import type {EntryEncoder} from '#server/transactions/entry.ts';
import {Database} from '../database.ts';
import {checkDatabaseName, isHiddenName} from '../database-name.ts';
import type {DatabaseSet, OpenDatabase} from '../database-set.ts';
import type {EngineLog} from '../engine-log.ts';
import type {EngineEvents, EngineOptions} from '../engine-options.ts';
import type {FormatRaise} from '../formats/format-raise.ts';
import {isUnknown, type ServerEntries} from './server-entries.ts';

interface ServedDatabasesParts
  extends Pick<EngineOptions, 'clock' | 'timers' | 'stores' | 'settings'> {
  readonly set: DatabaseSet;
  readonly entries: ServerEntries;
  readonly encoder: EntryEncoder;
  readonly raise: FormatRaise;
  readonly commits: CommitFigures;
  /** Asked when a database is served: the log begins later. */
  readonly log: () => EngineLog;
  readonly events: () => EngineEvents;
}

export type DatabaseStatus = 'open' | 'closed' | 'fenced';

export class ServedDatabases {
  readonly #parts: ServedDatabasesParts;
  readonly #byName = new Map<string, Database>();
  readonly #closed = new Set<string>();
  readonly #changing = new Set<string>();
  /** Closed for a drop whose outcome is open. */
  readonly #dropping = new Set<Database>();
  #nextId: number;

  constructor(parts: ServedDatabasesParts) {
    this.#parts = parts;
    this.#nextId = parts.set.state.nextDatabaseId;
  }

  /** Names of all databases, closed and fenced ones too, sorted. */
  names(): string[] {
    return this.#allNames().filter(name => !isHiddenName(name));
  }

  /** Names of databases that are attached and have not got their final name. */
  hiddenNames(): string[] {
    return this.#allNames().filter(isHiddenName);
  }

  #allNames(): string[] {
    return this.#parts.set.state.databases.map(entry => entry.name).sort();
  }

  /** What can be done with a database of this name; undefined when there is none. */
  status(name: string): DatabaseStatus | undefined {
    const entry = this.#parts.set.entry(name);
    if (entry === undefined) return undefined;
    if (this.#byName.get(name)?.fence !== undefined || this.#parts.set.fences.has(entry.id)) {
      return 'fenced';
    }
    return this.#closed.has(name) ? 'closed' : 'open';
  }

  /** An open database; undefined when there is none of that name or it is closed. */
  get(name: string): Database | undefined {
    if (this.#closed.has(name)) return undefined;
    const database = this.#byName.get(name);
    if (database !== undefined) return database;
    const entry = this.#parts.set.entry(name);
    const fence = entry === undefined ? undefined : this.#parts.set.fences.get(entry.id);
    if (entry === undefined || fence === undefined) return undefined;
    const isPending = this.#parts.set.pending.has(entry.id);
    const code = isPending ? 'cluster.snapshot-pending' : 'database.fenced';
    throw new Refusal(code, `database ${name}: ${fence}`);
  }

  async create(name: string): Promise<Database> {
    checkDatabaseName(name);
    return await this.#create(name);
  }

  /** A new database under a hidden name, until `rename`. @throws {Refusal} */
  async createHidden(name: string): Promise<Database> {
    assert(isHiddenName(name), 'it is hidden by its name');
    return await this.#create(name);
  }

  async #create(name: string): Promise<Database> {
    if (this.#parts.set.entry(name) !== undefined || this.#changing.has(name)) {
      throw new Refusal('database.exists', `database ${name} exists already`);
    }
    if (this.#parts.stores.exists(this.#parts.set.path(name))) {
      throw new Refusal(
        'database.exists',
        `a directory databases/${name} exists that this server did not make: restart to adopt it`,
      );
    }
    const id = this.#nextId++;
    await this.#change(name, () =>
      this.#parts.entries.propose('create-database', {head: {id, name}}),
    );
    const database = this.#byName.get(name);
    if (database?.id === id) return database;
    throw new Refusal('database.fenced', `database ${name} did not open`);
  }

  async drop(name: string): Promise<void> {
    const entry = this.#parts.set.entry(name);
    if (entry === undefined || this.#changing.has(name)) {
      throw new Refusal('database.missing', `there is no database ${name}`);
    }
    const database = this.#byName.get(name);
    database?.close('the database is being dropped');
    if (database !== undefined) this.#dropping.add(database);
    try {
      await this.#change(name, async () => {
        await database?.released();
        await this.#parts.entries.propose('drop-database', {head: {id: entry.id, name}});
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
   * its name is hidden until `rename`. Members of a cluster that have no such directory
   * know of the database then, and have no copy of it.
   *
   * @throws {Refusal} what refuses a commit, or files that this release does not read.
   */
  async attach(name: string): Promise<void> {
    assert(isHiddenName(name), 'a database is attached under a hidden name');
    const path = this.#parts.set.path(name);
    const formatLevel = await this.#parts.set.formatLevelIn(path);
    const id = this.#nextId++;
    await this.#change(name, () =>
      this.#parts.entries.propose('attach-database', {head: {id, name}}),
    );
    if (formatLevel < this.#parts.set.state.formatLevel) await this.#parts.raise.raiseRows();
  }

  /**
   * Gives a hidden database its name, in the place of the one that has it, in one step. Whoever
   * uses that one is told that it is dropped, and waited for.
   *
   * @param replaces - Whether there may be a database of that name.
   * @throws {Refusal} `database.missing`, `database.exists`, and what refuses a commit: everything
   *   is as it was then.
   */
  async rename(hidden: string, name: string, replaces: boolean): Promise<void> {
    checkDatabaseName(name);
    const entry = this.#parts.set.entry(hidden);
    if (entry === undefined) throw new Refusal('database.missing', `there is no ${hidden}`);
    const taken = this.#parts.set.entry(name);
    if (this.#changing.has(name) || (taken !== undefined && !replaces)) {
      throw new Refusal('database.exists', `database ${name} exists already`);
    }
    const head = {id: entry.id, name, renames: hidden, replaces: taken?.id ?? 0};
    await this.#change(name, () => this.#parts.entries.propose('attach-database', {head}));
    if (this.#parts.set.entry(name)?.id === entry.id) return;
    throw new Refusal('database.exists', `database ${name} was made by another request meanwhile`);
  }

  /** Serves the database again after `close`. */
  open(name: string): void {
    this.mustExist(name);
    this.#closed.delete(name);
    this.#parts.events().databasesChanged?.();
  }

  /** Refuses requests for the database; its entries are applied all the same. */
  close(name: string): void {
    this.mustExist(name);
    this.#closed.add(name);
    this.#parts.events().databasesChanged?.();
  }

  /** Serves a database whose store is open. */
  serve(opened: OpenDatabase): Database {
    const {settings, clock, timers} = this.#parts;
    const present = this.#byName.get(opened.name);
    if (present !== undefined && present.id === opened.id) return present;
    const {id, name, store, position} = opened;
    const database = new Database({
      id,
      name,
      store,
      log: this.#parts.log(),
      clock,
      timers,
      limits: settings.transaction,
      schemaVersion: position.schemaVersion,
      formatLevel: () => this.#parts.set.state.formatLevel,
      makeCoordinator: onApplied =>
        new Coordinator({
          databaseId: id,
          store,
          log: this.#parts.log(),
          clock,
          encoder: this.#parts.encoder,
          limits: settings.commit,
          figures: this.#parts.commits,
          positionIndex: position.index,
          schemaVersion: position.schemaVersion,
          formatLevel: () => this.#parts.raise.level,
          onApplied,
        }),
    });
    this.#byName.set(name, database);
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

  /** Nobody uses the databases any more that an entry drops, renames or replaces. */
  async release(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const database = this.#byName.get(name);
      if (database === undefined) continue;
      database.close('the database is being dropped');
      this.#parts.events().dropping?.(database);
      await database.released();
      this.#byName.delete(name);
      this.#closed.delete(name);
    }
  }

  /** Serves what the set has now, and nothing else. */
  follow(): void {
    for (const [name, {id}] of this.#byName) {
      if (this.#parts.set.byId(id) === undefined && this.#parts.set.entry(name)?.id !== id) {
        this.#byName.delete(name);
        this.#closed.delete(name);
      }
    }
    for (const opened of this.#parts.set.openDatabases) this.serve(opened);
  }

  /**
   * Ends the use of the databases that `isReplaced` picks, and waits for whoever uses them; answers
   * them. They are to be forgotten, or reopened when nothing takes their place.
   */
  async setAside(isReplaced: (database: Database) => boolean): Promise<readonly Database[]> {
    const used = [...this.#byName.values()].filter(isReplaced);
    for (const database of used) {
      database.close('a snapshot is being put in its place');
      this.#parts.events().dropping?.(database);
    }
    for (const database of used) await database.released();
    return used;
  }

  forget(databases: readonly Database[]): void {
    for (const {name} of databases) this.#byName.delete(name);
  }

  /** The ids that databases get from now on. */
  beginAt(nextId: number): void {
    this.#nextId = nextId;
  }

  /** What was under way behind `index` is void: drops of it did not happen. */
  takenBack(index: LogIndex): void {
    this.each(database => database.takeBack(index));
    for (const database of this.#dropping) this.#reopen(database);
  }

  #reopen(database: Database | undefined): void {
    if (database !== undefined && this.#dropping.delete(database)) database.reopen();
  }

  /** The database of this name as it is served, open for requests or not. */
  named(name: string): Database | undefined {
    return this.#byName.get(name);
  }

  each(work: (database: Database) => void): void {
    for (const database of this.#byName.values()) work(database);
  }

  /** @throws {Refusal} `database.missing`. */
  mustExist(name: string): void {
    if (this.#parts.set.entry(name) === undefined) {
      throw new Refusal('database.missing', `there is no database ${name}`);
    }
  }
}
