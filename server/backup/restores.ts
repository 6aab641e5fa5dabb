/**
 * Puts an archive in the place of a database, or makes one of it: all of it or nothing.
 *
 * The files come together in a hidden directory, checked byte by byte against the manifest; they
 * become a hidden database by an entry of the log, the other members of a cluster take copies of
 * it, and when most of them have, another entry gives it its name. Until that entry the old
 * database serves everybody, and whatever fails takes back what was begun.
 * Source: docs/backup.md; docs/design/0038-backup.md.
 */
import {mkdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {checkDatabaseName} from '#server/engine/database-name.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Random} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {ArchiveManifest} from './archive-manifest.ts';
import type {ArchiveThread, Progress} from './backups.ts';
import {namesIn, syncDirectory} from './directory.ts';

export interface RestoresOptions {
  /** Where the databases lie, a folder each. */
  readonly databaseDirectory: string;
  readonly engine: Pick<
    Engine,
    'attachDatabase' | 'dropDatabase' | 'hiddenDatabases' | 'renameDatabase' | 'status'
  >;
  readonly thread: ArchiveThread;
  readonly random: Random;
  readonly logger: Logger;
  /** Bytes that there is room for. */
  readonly bytesFree: () => number;
  /**
   * Resolves when most members of the cluster have a copy of a hidden database; on a server alone,
   * at once. @throws {Refusal} `cluster.no-quorum` that says why they have not.
   */
  readonly distribute: (database: string) => Promise<void>;
}

export interface RestoreRequest {
  /** The path of the archive. */
  readonly path: string;
  readonly target: string;
  /** Whether there may be a database of that name, which goes. */
  readonly overwrite: boolean;
  readonly password: string | undefined;
}

/** What a person who waits is told; a step without figures has a `total` of 0. */
export type RestoreProgress = (step: RestoreStep, done: number, total: number) => void;

export type RestoreStep = 'reading' | 'attaching' | 'copying to members' | 'putting in place';

const hiddenPattern = /^\.restoring-[0-9a-f]{16}$/;

export class Restores {
  readonly #options: RestoresOptions;
  /** Hidden databases of restores that are under way here. */
  readonly #own = new Set<string>();
  readonly #targets = new Set<string>();

  constructor(options: RestoresOptions) {
    this.#options = options;
  }

  /** Reads everything and changes nothing. @throws {Refusal} `backup.archive` */
  async verify(
    {path, password}: Pick<RestoreRequest, 'path' | 'password'>,
    onProgress: Progress,
  ): Promise<ArchiveManifest> {
    const order = {path, password, directory: undefined, bytesMax: Number.MAX_SAFE_INTEGER};
    return await this.#options.thread.read(order, onProgress);
  }

  /**
   * The database serves everybody when it resolves.
   *
   * @throws {Refusal} `argument`, `database.exists`, `backup.archive`, `storage.full`, what refuses
   *   a commit: everything is as it was. `commit.unknown`: it may be in its place, or not.
   */
  async restore(request: RestoreRequest, tell: RestoreProgress): Promise<ArchiveManifest> {
    const {target, overwrite} = request;
    checkDatabaseName(target);
    if (this.#targets.has(target)) {
      throw new Refusal('database.exists', `database ${target} is being restored already`);
    }
    if (!overwrite && this.#options.engine.status(target) !== undefined) {
      const advice = 'Enable overwrite to replace it with the backup';
      throw new Refusal('argument', `Database '${target}' already exists. ${advice}`);
    }
    this.#targets.add(target);
    const hidden = this.#hiddenName();
    this.#own.add(hidden);
    try {
      return await this.#restore(request, hidden, tell);
    } finally {
      this.#own.delete(hidden);
      this.#targets.delete(target);
    }
  }

  /**
   * Removes what a process left that was killed, files first: those of no database. Then, where
   * this server takes commits, hidden databases that no restore of its own is about to name.
   */
  async sweep(takesCommits: boolean): Promise<void> {
    const {engine, logger, databaseDirectory: directory} = this.#options;
    const known = new Set([...engine.hiddenDatabases(), ...this.#own]);
    for (const name of namesIn(directory).filter(name => hiddenPattern.test(name))) {
      if (known.has(name)) continue;
      rmSync(join(directory, name), {recursive: true, force: true});
      logger.log('info', 'restore.swept', {directory: name});
    }
    if (!takesCommits) return;
    for (const name of engine.hiddenDatabases()) {
      if (hiddenPattern.test(name) && !this.#own.has(name)) await this.#drop(name);
    }
  }

  async #restore(
    request: RestoreRequest,
    hidden: string,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const {engine, logger, distribute} = this.#options;
    const {target, overwrite} = request;
    try {
      const manifest = await this.#extract(request, hidden, tell);
      tell('attaching', 0, 0);
      await engine.attachDatabase(hidden);
      tell('copying to members', 0, 0);
      await distribute(hidden);
      tell('putting in place', 0, 0);
      await engine.renameDatabase(hidden, target, overwrite);
      logger.log('info', 'restore.done', {database: target, createdAt: manifest.createdAt});
      return manifest;
    } catch (error) {
      logger.log('warn', 'restore.failed', {database: target, reason: reasonOf(error)});
      await this.#takeBack(hidden, error);
      throw error;
    }
  }

  async #extract(
    {path, password}: RestoreRequest,
    hidden: string,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const {thread, bytesFree, databaseDirectory} = this.#options;
    const directory = this.#path(hidden);
    mkdirSync(directory, {mode: 0o700});
    const order = {path, directory, password, bytesMax: bytesFree()};
    const manifest = await thread.read(order, (done, total) => tell('reading', done, total));
    syncDirectory(databaseDirectory);
    return manifest;
  }

  /** What an entry became whose outcome is not known, a sweep finds when it is known. */
  async #takeBack(hidden: string, error: unknown): Promise<void> {
    if (error instanceof Refusal && error.code === 'commit.unknown') return;
    if (this.#options.engine.hiddenDatabases().includes(hidden)) await this.#drop(hidden);
    else rmSync(this.#path(hidden), {recursive: true, force: true});
  }

  /** Does not reject: who leads next tries again. */
  async #drop(hidden: string): Promise<void> {
    const {engine, logger} = this.#options;
    try {
      await engine.dropDatabase(hidden);
      logger.log('info', 'restore.swept', {database: hidden});
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      logger.log('warn', 'restore.not-swept', {database: hidden, reason: error.message});
    }
  }

  #hiddenName(): string {
    const bytes = Buffer.alloc(8);
    this.#options.random.fill(bytes);
    return `.restoring-${bytes.toString('hex')}`;
  }

  #path(hidden: string): string {
    return join(this.#options.databaseDirectory, hidden);
  }
}
