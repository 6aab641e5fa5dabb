/**
 * Puts a checkpoint of a server in the place of what this node holds: all of it or nothing.
 *
 * The files of a database come together in a staged directory beside it. One file, the plan, is
 * the moment from which on the install is going to be finished, whatever happens: it is the
 * server state that will hold then, and where the log goes on. Each step behind it may be done
 * again, so a start that finds a plan does them all again, and one that finds none has the old
 * data, untouched. Around a plan every directory that it concerns bears the mark
 * `.snapshot-pending`, so that nobody takes half of a swap for a database; what was replaced is
 * removed last of all, behind the plan.
 *
 * Invariant T10: a start finds all databases, documents and the state of a snapshot, or none.
 * Source: docs/design/0020-snapshots.md.
 */
import {Corruption} from '#server/base/errors.ts';
import {CheckedFile, readWhole, writeAtomically} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {StoreFailure} from '#server/storage/store.ts';
import {readPosition} from './database-set.ts';
import type {LogCheckpoint} from './engine-log.ts';
import type {Formats} from './formats/levels.ts';
import {type DatabaseEntry, type ServerState, ServerStateFile} from './server-state.ts';
import type {StoreFactory} from './store-factory.ts';

export interface SnapshotInstallOptions {
  readonly disk: Disk;
  readonly databaseDirectory: string;
  readonly configDirectory: string;
  /** `raft-storage-<node>`. */
  readonly storage: string;
  readonly stores: StoreFactory;
  readonly formats: Formats;
  readonly logger: Logger;
}

/** What is going to be: where the plan lies, its install is carried out to the end. */
export interface InstallPlan {
  readonly state: ServerState;
  /** Where the log goes on; undefined where it stays as it is. */
  readonly checkpoint: LogCheckpoint | undefined;
}

const planVersion = 1;
const staging = /^\.snapshot-new-\d+$/;
const backups = /^\.snapshot-backup-\d+$/;

export class SnapshotInstall {
  readonly #options: SnapshotInstallOptions;
  readonly #plan: CheckedFile<InstallPlan>;
  readonly #state: ServerStateFile;

  constructor(options: SnapshotInstallOptions) {
    const {disk, storage} = options;
    this.#options = options;
    this.#plan = new CheckedFile<InstallPlan>({
      disk,
      path: `${storage}/server/install`,
      kind: 'svc-snapshot-install',
      version: planVersion,
      title: 'the plan of a snapshot’s install',
    });
    this.#state = new ServerStateFile(disk, `${storage}/server`);
  }

  /** Where the files of a database come together before they are put in place. */
  stagedPath(databaseId: number): string {
    return `${this.#options.databaseDirectory}/.snapshot-new-${databaseId}`;
  }

  /** Selects the databases whose files are staged. */
  staged(databases: readonly DatabaseEntry[]): DatabaseEntry[] {
    return databases.filter(({id}) => this.#options.stores.exists(this.stagedPath(id)));
  }

  /**
   * Checks what is staged and makes the plan: from the return on the install is going to happen.
   * What is staged must be durable. Databases of the plan that are not staged stay as they are.
   *
   * @throws {Corruption} naming the database whose staged files are not what the plan says; all is
   *   as it was then.
   */
  async plan(plan: InstallPlan): Promise<void> {
    const {stores} = this.#options;
    const {databases} = plan.state;
    for (const entry of this.staged(databases)) await this.#check(entry, plan.state);
    for (const {id} of this.staged(databases)) stores.setPending(this.stagedPath(id), true);
    for (const path of this.#replaced(plan.state)) stores.setPending(path, true);
    this.#plan.save(plan);
  }

  /**
   * Carries the plan out; durable on return. No store that it replaces may be open. To be called
   * again after a crash until `forget`; what happened in between would be taken back.
   *
   * @returns The plan; undefined when there was none.
   */
  finish(): InstallPlan | undefined {
    const plan = this.#plan.load();
    if (plan === undefined) return undefined;
    const {stores, logger} = this.#options;
    const {state} = plan;
    const before = this.#state.load();
    if (before !== undefined) this.#setAside(before, state);
    for (const entry of state.databases) this.#swap(entry);
    this.#writeDocuments(before, state);
    this.#state.save(state);
    for (const {name} of state.databases) {
      const path = this.#path(name);
      if (stores.exists(path)) stores.setPending(path, false);
    }
    logger.log('info', 'snapshot.installed', {index: state.durableIndex});
    return plan;
  }

  /** The install is over: removes the plan, and then what was replaced. */
  forget(): void {
    const {disk, storage} = this.#options;
    disk.unlink(`${storage}/server/install`);
    disk.syncDirectory(`${storage}/server`);
    this.#remove(backups);
    this.discard();
  }

  /**
   * What a start without a plan does: databases that can be opened lose their mark, others are
   * brought back from what was kept of them. What was staged stays, to be gone on with.
   */
  async rollBack(): Promise<void> {
    const {stores, databaseDirectory} = this.#options;
    for (const {id, name} of this.#state.load()?.databases ?? []) {
      const backup = `${databaseDirectory}/.snapshot-backup-${id}`;
      const path = this.#path(name);
      if (!stores.exists(path) && stores.exists(backup)) stores.rename(backup, path);
      if (!stores.exists(path) || !stores.isPending(path)) continue;
      if (await this.#isLoadable(path)) stores.setPending(path, false);
      else this.#options.logger.log('error', 'database.snapshot-pending', {database: name});
    }
    this.#remove(backups);
  }

  /** Removes what was staged. */
  discard(): void {
    this.#remove(staging);
  }

  #remove(pattern: RegExp): void {
    const {stores, databaseDirectory} = this.#options;
    for (const name of stores.list(databaseDirectory)) {
      if (pattern.test(name)) stores.remove(`${databaseDirectory}/${name}`);
    }
  }

  async #isLoadable(path: string): Promise<boolean> {
    const {stores, formats} = this.#options;
    try {
      const store = await stores.open(path, {mustExist: true});
      const position = readPosition(store, path, formats);
      store.close();
      return position !== undefined;
    } catch (error) {
      if (error instanceof Corruption || error instanceof StoreFailure) return false;
      throw error;
    }
  }

  /** The directories of databases that are not going to be what they are. */
  #replaced(state: ServerState): string[] {
    const staged = this.staged(state.databases).map(({name}) => name);
    const names = new Set(state.databases.map(({name}) => name));
    const gone = (this.#state.load()?.databases ?? []).filter(({name}) => !names.has(name));
    const paths = [...staged, ...gone.map(({name}) => name)].map(name => this.#path(name));
    return paths.filter(path => this.#options.stores.exists(path));
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
    const {stores, databaseDirectory, logger} = this.#options;
    const names = new Set(plan.databases.map(({name}) => name));
    for (const {id, name} of before.databases) {
      const path = this.#path(name);
      if (names.has(name) || !stores.exists(path)) continue;
      if (before.logId === plan.logId) {
        // `sweep` of the set removes it.
        stores.rename(path, `${databaseDirectory}/.dropped-${id}`);
        continue;
      }
      const aside = `${databaseDirectory}/.kept-${name}-${plan.durableIndex}`;
      stores.rename(path, aside);
      stores.setPending(aside, false);
      logger.log('warn', 'database.kept-aside', {database: name, directory: aside});
    }
  }

  #swap(entry: DatabaseEntry): void {
    const {stores, databaseDirectory} = this.#options;
    const staged = this.stagedPath(entry.id);
    if (!stores.exists(staged)) return;
    const path = this.#path(entry.name);
    const backup = `${databaseDirectory}/.snapshot-backup-${entry.id}`;
    if (stores.exists(path)) {
      // One that stands there is of an earlier install, which is finished.
      if (stores.exists(backup)) stores.remove(backup);
      stores.rename(path, backup);
    }
    stores.rename(staged, path);
  }

  /** The files that people read; one that no state knows any more goes. */
  #writeDocuments(before: ServerState | undefined, plan: ServerState): void {
    const {disk, configDirectory: directory} = this.#options;
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
    return `${this.#options.databaseDirectory}/${name}`;
  }
}
