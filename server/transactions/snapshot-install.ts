/**
 * Puts a checkpoint of a server in the place of what this node holds: all of it or nothing.
 *
 * The files of a database come together in a staged directory beside it. One file, the plan, is
 * the moment from which on the install is going to be finished, whatever happens: it is the
 * server state that will hold then. Each step behind it may be done again, so a start that finds
 * a plan does them all again, and one that finds none has the old data, untouched. While a plan
 * is being carried out every directory that it concerns bears the mark `.snapshot-pending`, so
 * that nobody takes half of a swap for a database; what was replaced is removed last of all.
 * Source: specification, "Cluster peer and replication"; reference 3.7; note 20.
 */
import {Corruption} from '#server/base/errors.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {readPosition} from './database-set.ts';
import type {Formats} from './formats/levels.ts';
import {
  type DatabaseEntry,
  readWhole,
  type ServerState,
  ServerStateFile,
  writeAtomically,
} from './server-state.ts';
import type {StoreFactory} from './store-factory.ts';

export interface SnapshotInstallOptions {
  readonly disk: Disk;
  readonly rootPath: string;
  /** `raft-storage-<node>`. */
  readonly storage: string;
  readonly stores: StoreFactory;
  readonly formats: Formats;
  readonly logger: Logger;
}

const leftovers = /^\.snapshot-(?:new|backup)-\d+$/;

export class SnapshotInstall {
  readonly #options: SnapshotInstallOptions;
  readonly #plan: ServerStateFile;
  readonly #state: ServerStateFile;

  constructor(options: SnapshotInstallOptions) {
    const directory = `${options.storage}/server`;
    this.#options = options;
    this.#plan = new ServerStateFile(options.disk, directory, 'install');
    this.#state = new ServerStateFile(options.disk, directory);
  }

  /** Whether a plan was made and is not carried out to its end. */
  get isUnfinished(): boolean {
    return this.#plan.exists;
  }

  /** Where the files of a database come together before they are put in place. */
  stagedPath(databaseId: number): string {
    return `${this.#options.rootPath}/databases/.snapshot-new-${databaseId}`;
  }

  /**
   * Checks what is staged and makes the plan: from the return on the install is going to happen.
   * What is staged must be durable. Databases of `state` that are not staged stay as they are.
   *
   * @throws {Corruption} naming the database whose staged files are not what `state` says; nothing
   *   has happened then.
   */
  async plan(state: ServerState): Promise<void> {
    const {stores} = this.#options;
    for (const entry of state.databases) {
      const path = this.stagedPath(entry.id);
      if (!stores.exists(path)) continue;
      await this.#check(entry, state);
      stores.setPending(path, true);
    }
    this.#plan.save(state);
  }

  /**
   * Carries the plan out; durable on return. No store of the server may be open.
   *
   * @returns The server state from now on; undefined when there was no plan.
   */
  finish(): ServerState | undefined {
    const plan = this.#plan.load();
    if (plan === undefined) return undefined;
    const {stores, disk, logger} = this.#options;
    for (const {id, name} of plan.databases) {
      const isDue = stores.exists(this.stagedPath(id)) && stores.exists(this.#path(name));
      if (isDue) stores.setPending(this.#path(name), true);
    }
    const before = this.#state.load();
    if (before !== undefined) this.#setAside(before, plan);
    for (const entry of plan.databases) this.#swap(entry);
    this.#writeDocuments(before, plan);
    this.#state.save(plan);
    for (const {name} of plan.databases) {
      const path = this.#path(name);
      if (stores.exists(path)) stores.setPending(path, false);
    }
    disk.unlink(this.#plan.path);
    disk.syncDirectory(`${this.#options.storage}/server`);
    this.discard();
    logger.log('info', 'snapshot.installed', {index: plan.durableIndex});
    return plan;
  }

  /**
   * Removes staged files and what was replaced, of installs that are finished or never began.
   * Never called while there is a plan.
   */
  discard(): void {
    const {stores, rootPath} = this.#options;
    for (const name of stores.list(`${rootPath}/databases`)) {
      if (leftovers.test(name)) stores.remove(`${rootPath}/databases/${name}`);
    }
  }

  async #check(entry: DatabaseEntry, state: ServerState): Promise<void> {
    const path = this.stagedPath(entry.id);
    const store = await this.#options.stores.open(path, {mustExist: true});
    const position = readPosition(store, path, this.#options.formats);
    store.close();
    const expected = {
      databaseId: entry.id,
      logId: state.logId,
      index: state.positions[String(entry.id)],
    };
    for (const [part, value] of Object.entries(expected)) {
      const found = position?.[part as keyof typeof expected];
      if (found === value) continue;
      throw new Corruption(
        `the snapshot of database ${entry.name} says ${part} ${value}, its files say ${found}`,
        {path},
      );
    }
  }

  /** Databases that the new state has not: an entry of its log dropped them, or they go aside. */
  #setAside(before: ServerState, plan: ServerState): void {
    const {stores, rootPath, logger} = this.#options;
    const names = new Set(plan.databases.map(({name}) => name));
    for (const {id, name} of before.databases) {
      const path = this.#path(name);
      if (names.has(name) || !stores.exists(path)) continue;
      if (before.logId === plan.logId) {
        // `sweep` of the set removes it.
        stores.rename(path, `${rootPath}/databases/.dropped-${id}`);
        continue;
      }
      const aside = `${rootPath}/databases/.kept-${name}-${plan.durableIndex}`;
      stores.rename(path, aside);
      logger.log('warn', 'database.kept-aside', {database: name, directory: aside});
    }
  }

  #swap(entry: DatabaseEntry): void {
    const {stores, rootPath} = this.#options;
    const staged = this.stagedPath(entry.id);
    if (!stores.exists(staged)) return;
    const path = this.#path(entry.name);
    const backup = `${rootPath}/databases/.snapshot-backup-${entry.id}`;
    if (stores.exists(path)) {
      // One that stands there is of an earlier install, which is finished.
      if (stores.exists(backup)) stores.remove(backup);
      stores.rename(path, backup);
    }
    stores.rename(staged, path);
  }

  /** The files that people read; one that no state knows any more goes. */
  #writeDocuments(before: ServerState | undefined, plan: ServerState): void {
    const {disk, rootPath} = this.#options;
    const directory = `${rootPath}/config`;
    for (const [name, document] of Object.entries(plan.documents)) {
      const path = `${directory}/${name}`;
      const bytes = Buffer.from(document.base64, 'base64');
      if (disk.exists(path) && readWhole(disk, path).equals(bytes)) continue;
      writeAtomically(disk, path, bytes);
    }
    for (const name of Object.keys(before?.documents ?? {})) {
      if (Object.hasOwn(plan.documents, name) || !disk.exists(`${directory}/${name}`)) continue;
      disk.unlink(`${directory}/${name}`);
      disk.syncDirectory(directory);
    }
  }

  #path(name: string): string {
    return `${this.#options.rootPath}/databases/${name}`;
  }
}
