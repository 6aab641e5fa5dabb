/**
 * The archives of a server's databases: made, listed, checked and removed.
 *
 * A backup is a checkpoint of the database, which costs the writers nothing but the linking of
 * files, written into an archive by another thread. One database has one backup at a time. What a
 * killed process leaves (a checkpoint, a part of an archive) is removed by the next start.
 * Source: docs/backup.md.
 */
import {existsSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {checkDatabaseName, isDatabaseName} from '#server/engine/database-name.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Clock, Random} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {archiveName, archiveNameFault, archiveTime} from './archive-name.ts';
import type {ArchiveManifest} from './archive-manifest.ts';
import type {BackupOptions} from './backup-options.ts';
import {namesIn, syncDirectory} from './directory.ts';
import {expired, type Retention} from './retention.ts';
import {type ArchiveOrder, type ArchiveWritten, isPart, partPath} from './write-archive.ts';

/** Makes and reads archives on a thread of its own. */
export interface ArchiveThread {
  write(order: ArchiveOrder, onProgress: Progress): Promise<ArchiveWritten>;
  /** @param order - `directory` undefined: everything is read and checked alone. */
  read(order: ReadOrder, onProgress: Progress): Promise<ArchiveManifest>;
}

export type Progress = (done: number, total: number) => void;

/** A plain value: it is given to a thread. */
export interface ReadOrder {
  readonly path: string;
  readonly directory: string | undefined;
  readonly password: string | undefined;
  /** What there is room for. */
  readonly bytesMax: number;
}

/** Work that somebody may watch; `end` whatever becomes of it. */
export interface WatchedWork {
  readonly onProgress: Progress;
  readonly end: () => void;
}

export interface BackupsOptions {
  /** Where the databases lie, a folder each. */
  readonly databaseDirectory: string;
  /** The release of this server, such as `26.11.1`. */
  readonly release: string;
  readonly engine: Pick<Engine, 'copyDatabase' | 'formatLevel' | 'status' | 'hiddenDatabases'>;
  readonly thread: ArchiveThread;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Where archives lie now (configuration-file.ts). */
  readonly directory: () => string;
  /** Shows work on a database to whoever asks for its progress. */
  readonly watch: (database: string, operation: string) => WatchedWork;
}

export interface ArchiveMade extends ArchiveWritten {
  readonly fileName: string;
  readonly path: string;
}

export interface ListedArchive {
  readonly fileName: string;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly lastModified: number;
  /** The moment that its name tells; undefined for a name that somebody gave it. */
  readonly at: number | undefined;
}

/** Counts since the start. */
export interface BackupCounts {
  readonly running: number;
  readonly completed: number;
  readonly failed: number;
  /** The size of all archives that were made. */
  readonly bytes: number;
  /** When each database had its last one, in seconds since 1970. */
  readonly lastCompleted: ReadonlyMap<string, number>;
}

/** A checkpoint of a database, or one that was still being built (buildCheckpoint). */
const checkpointPattern = /^\.backup-[0-9a-f]{16}(?:\.partial)?$/;

export class Backups {
  readonly #options: BackupsOptions;
  readonly #running = new Set<string>();
  readonly #lastCompleted = new Map<string, number>();
  readonly #sums = {completed: 0, failed: 0, bytes: 0};

  constructor(options: BackupsOptions) {
    this.#options = options;
  }

  get counts(): BackupCounts {
    return {running: this.#running.size, lastCompleted: this.#lastCompleted, ...this.#sums};
  }

  /**
   * Writes an archive of a database as of now. Commits go on meanwhile.
   *
   * @throws {Refusal} `backup.running` while one is under way; `database.missing`;
   *   `database.operation` when the database cannot be copied, or the archive is there already.
   */
  async make(database: string, options: BackupOptions): Promise<ArchiveMade> {
    if (this.#running.has(database)) {
      throw new Refusal(
        'backup.running',
        `A backup of database '${database}' is already in progress`,
      );
    }
    this.#running.add(database);
    try {
      const made = await this.#make(database, options);
      this.#sums.completed += 1;
      this.#sums.bytes += made.bytes;
      this.#lastCompleted.set(database, Math.floor(this.#options.clock.now() / 1_000));
      return made;
    } catch (error) {
      this.#sums.failed += 1;
      this.#options.logger.log('error', 'backup.failed', {database, reason: reasonOf(error)});
      throw error;
    } finally {
      this.#running.delete(database);
    }
  }

  /** Newest first. A database that there is no longer has its archives all the same. */
  list(database: string): readonly ListedArchive[] {
    checkDatabaseName(database);
    const directory = join(this.#options.directory(), database);
    if (!existsSync(directory)) return [];
    const archives: ListedArchive[] = [];
    for (const fileName of readdirSync(directory)) {
      if (archiveNameFault(fileName) !== undefined || isPart(fileName)) continue;
      const facts = lstatSync(join(directory, fileName), {throwIfNoEntry: false});
      if (facts === undefined || !facts.isFile()) continue;
      const at = archiveTime(database, fileName);
      archives.push({fileName, size: facts.size, lastModified: Math.floor(facts.mtimeMs), at});
    }
    const momentOf = ({at, lastModified}: ListedArchive): number => at ?? lastModified;
    return archives.sort((left, right) => momentOf(right) - momentOf(left));
  }

  /** Names of databases that have archives, in their order, whether they are there or not. */
  databases(): readonly string[] {
    const directory = this.#options.directory();
    return namesIn(directory)
      .filter(name => isDatabaseName(name) && statSync(join(directory, name)).isDirectory())
      .filter(name => this.list(name).length > 0)
      .toSorted();
  }

  /** @throws {Refusal} `argument` for a path; `backup.archive` when there is none of that name. */
  remove(database: string, fileName: string): void {
    const path = this.pathOf(database, fileName);
    rmSync(path);
    syncDirectory(join(path, '..'));
    this.#options.logger.log('info', 'backup.removed', {database, file: fileName});
  }

  /** Removes what is not to be kept. @returns The names of those that went. */
  rotate(database: string, retention: Retention): readonly string[] {
    const archives = this.list(database).flatMap(({fileName, at}) =>
      at === undefined ? [] : [{fileName, at}],
    );
    const names = expired(archives, retention).map(({fileName}) => fileName);
    for (const name of names) this.remove(database, name);
    return names;
  }

  /** Returns the path of an archive of the database. @throws {Refusal} as `remove`. */
  pathOf(database: string, fileName: string): string {
    checkDatabaseName(database);
    const fault = archiveNameFault(fileName);
    if (fault !== undefined) throw new Refusal('argument', fault);
    const path = join(this.#options.directory(), database, fileName);
    const facts = lstatSync(path, {throwIfNoEntry: false});
    if (facts?.isFile() === true) return path;
    throw new Refusal('argument', `database '${database}' has no archive '${fileName}'`);
  }

  /** Removes what a process left that was killed. Call before anything else. */
  sweep(): void {
    const {databaseDirectory: databases, logger} = this.#options;
    for (const name of namesIn(databases).filter(name => checkpointPattern.test(name))) {
      rmSync(join(databases, name), {recursive: true, force: true});
      logger.log('info', 'backup.swept', {directory: name});
    }
    for (const path of this.#parts()) {
      rmSync(path, {force: true});
      logger.log('info', 'backup.swept', {path});
    }
  }

  #parts(): readonly string[] {
    try {
      const directory = this.#options.directory();
      return namesIn(directory)
        .map(name => join(directory, name))
        .filter(path => statSync(path).isDirectory())
        .flatMap(path =>
          namesIn(path)
            .filter(isPart)
            .map(name => join(path, name)),
        );
    } catch (error) {
      // A directory that cannot be is told by every command that needs it.
      if (error instanceof Refusal) return [];
      throw error;
    }
  }

  async #make(database: string, options: BackupOptions): Promise<ArchiveMade> {
    const {engine, clock, release, thread, watch, logger} = this.#options;
    if (engine.status(database) !== 'open') {
      throw new Refusal('database.missing', `there is no open database ${database}`);
    }
    const createdAt = clock.now();
    const fileName = options.fileName ?? archiveName(database, createdAt);
    const directory = join(this.#options.directory(), database);
    mkdirSync(directory, {recursive: true, mode: 0o700});
    const path = join(directory, fileName);
    if (existsSync(path)) {
      throw new Refusal('database.operation', `there is an archive '${fileName}' already`);
    }
    const checkpoint = this.#checkpointPath();
    const work = watch(database, 'backup');
    try {
      const index = await engine.copyDatabase(database, checkpoint);
      const order: ArchiveOrder = {
        directory: checkpoint,
        path,
        manifest: {database, release, formatLevel: engine.formatLevel, createdAt, index},
        level: options.compressionLevel,
        threads: options.compressionThreads,
        bytesPerSecond: options.maxMBPerSecond && options.maxMBPerSecond * 1e6,
        password: options.password,
      };
      const written = await thread.write(order, work.onProgress);
      logger.log('info', 'backup.made', {database, file: fileName, ...written});
      return {...written, fileName, path};
    } finally {
      work.end();
      // Of a thread that was ended; one that failed has removed it itself.
      rmSync(partPath(path), {force: true});
      rmSync(checkpoint, {recursive: true, force: true});
    }
  }

  #checkpointPath(): string {
    const bytes = Buffer.alloc(8);
    this.#options.random.fill(bytes);
    return join(this.#options.databaseDirectory, `.backup-${bytes.toString('hex')}`);
  }
}
