/**
 * Everything about backups that somebody can ask a server for, in every protocol: the schedule and
 * its configuration, archives made and listed and removed, databases restored.
 *
 * Callers have checked that the principal may ask. Whoever makes it calls `start` once databases
 * are open, `databasesChanged`, `leads` and `takenBack` as they happen, and `close` before the
 * engine is closed.
 */
import {AssertionFailure} from '#server/base/assert.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {byLabel, type Figures} from '#server/monitoring/figures.ts';
import type {ArchiveManifest} from './archive-manifest.ts';
import type {BackupDocument} from './backup-document.ts';
import {type BackupOptions, optionsOf} from './backup-options.ts';
import {type ArchiveMade, Backups, type BackupsOptions} from './backups.ts';
import {ConfigurationFile, type ConfigurationFileOptions} from './configuration-file.ts';
import {
  type RestoreProgress,
  type RestoreRequest,
  Restores,
  type RestoresOptions,
} from './restores.ts';
import {BackupScheduler, type BackupSchedulerOptions} from './scheduler.ts';

export interface BackupServiceOptions
  extends Omit<BackupsOptions, 'directory' | 'engine'>,
    Omit<RestoresOptions, 'engine'>,
    Omit<BackupSchedulerOptions, 'backUp' | 'rotate'>,
    ConfigurationFileOptions {
  readonly engine: BackupsOptions['engine'] & RestoresOptions['engine'];
  /** Whether this server takes commits now. */
  readonly takesCommits: () => boolean;
}

export interface BackupConfigurationReport {
  /** Whether the scheduler runs. */
  readonly enabled: boolean;
  /** What the file holds; null: there is none that can be read. */
  readonly config: unknown;
  /** Undefined when it cannot be; `backupDirectoryError` says why. */
  readonly backupDirectory: string | undefined;
  readonly backupDirectoryError: string | undefined;
  /** What is to be said about it. */
  readonly message: string | undefined;
}

export interface ArchiveList {
  readonly database: string;
  readonly backups: readonly {
    readonly fileName: string;
    readonly size: number;
    readonly lastModified: number;
    /** ISO 8601; null for a name that tells no moment. */
    readonly timestamp: string | null;
  }[];
  readonly totalSize: number;
  readonly totalCount: number;
}

export interface NamedArchive {
  readonly database: string;
  readonly fileName: string;
  readonly password: string | undefined;
}

export class BackupService {
  readonly #options: BackupServiceOptions;
  readonly #file: ConfigurationFile;
  readonly #backups: Backups;
  readonly #restores: Restores;
  readonly #scheduler: BackupScheduler;
  #inForce: BackupDocument | undefined;
  /** Why the configuration cannot be used; undefined: it can, or there is none. */
  #fault: string | undefined;
  readonly #restored = {completed: 0, failed: 0};

  constructor(options: BackupServiceOptions) {
    this.#options = options;
    this.#file = new ConfigurationFile(options);
    const directory = (): string => this.#directory();
    this.#backups = new Backups({...options, directory});
    this.#restores = new Restores(options);
    this.#scheduler = new BackupScheduler({
      ...options,
      backUp: async (database, plan) =>
        (await this.#backups.make(database, optionsOf(plan))).fileName,
      rotate: (database, retention) => Promise.resolve(this.#backups.rotate(database, retention)),
    });
  }

  /** Removes what a killed process left, begins what the file says. No failure stops a start. */
  async start(): Promise<void> {
    try {
      this.#backups.sweep();
      await this.#restores.sweep(this.#options.takesCommits());
    } catch (error) {
      if (error instanceof AssertionFailure) throw error;
      this.#options.logger.log('error', 'backup.not-swept', {reason: reasonOf(error)});
    }
    this.#reload();
  }

  /** Takes over what the document of the server says now. */
  configurationChanged(): void {
    if (this.#file.hasChanged) this.#reload();
  }

  /** Why `backup.json` cannot be used; undefined: it can, or there is none. */
  get configurationFault(): string | undefined {
    return this.#fault;
  }

  figures(): Figures {
    const {running, completed, failed, bytes, lastCompleted} = this.#backups.counts;
    return {
      svc_backup_running: running,
      svc_backup_completed_total: completed,
      svc_backup_failed_total: failed,
      svc_backup_bytes_total: bytes,
      svc_backup_last_completed_timestamp_seconds: byLabel(Object.fromEntries(lastCompleted)),
      svc_backup_configuration_faulty: this.#fault === undefined ? 0 : 1,
      svc_restore_completed_total: this.#restored.completed,
      svc_restore_failed_total: this.#restored.failed,
    };
  }

  /** Databases came, went, were opened or closed here. */
  databasesChanged(): void {
    this.#scheduler.look();
  }

  /** This server takes commits from now on. */
  async leads(): Promise<void> {
    await this.#restores.sweep(true);
  }

  /** What this server had appended as a leader never happens: files that waited for it go. */
  async takenBack(): Promise<void> {
    await this.#restores.sweep(false);
  }

  configuration(): BackupConfigurationReport {
    const {value, fault} = this.#file.read();
    const enabled = this.#scheduler.isRunning;
    const facts = {enabled, config: value ?? null};
    const message =
      fault ?? (value === undefined ? 'There is no backup.json: nothing is scheduled' : undefined);
    try {
      const backupDirectory = this.#directory();
      return {...facts, backupDirectory, backupDirectoryError: undefined, message};
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const backupDirectoryError = error.message;
      return {...facts, backupDirectory: undefined, backupDirectoryError, message};
    }
  }

  /**
   * Checks, writes and puts into force, on every member of a cluster.
   *
   * @throws {Refusal} `argument`, naming the field; whatever refuses a commit.
   */
  async setConfiguration(value: unknown): Promise<void> {
    await this.#file.save(value);
    this.configurationChanged();
  }

  /** Works like `Backups.make`. */
  async make(database: string, options: BackupOptions): Promise<ArchiveMade> {
    return await this.#backups.make(database, options);
  }

  list(database: string): ArchiveList {
    const archives = this.#backups.list(database);
    return {
      database,
      backups: archives.map(({fileName, size, lastModified, at}) => ({
        fileName,
        size,
        lastModified,
        timestamp: at === undefined ? null : new Date(at).toISOString(),
      })),
      totalSize: archives.reduce((sum, {size}) => sum + size, 0),
      totalCount: archives.length,
    };
  }

  /** Works like `Backups.databases`. */
  databasesWithArchives(): readonly string[] {
    return this.#backups.databases();
  }

  /** Works like `Backups.remove`. */
  remove(database: string, fileName: string): void {
    this.#backups.remove(database, fileName);
  }

  /** Reads all of an archive and changes nothing. @throws {Refusal} `backup.archive`. */
  async verify(
    {database, fileName, password}: NamedArchive,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const path = this.#backups.pathOf(database, fileName);
    return await this.verifyFile({path, password}, tell);
  }

  /** Works like `verify`, of an archive that lies anywhere. */
  async verifyFile(
    archive: Pick<RestoreRequest, 'path' | 'password'>,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    return await this.#restores.verify(archive, (done, total) => tell('reading', done, total));
  }

  /** Works like `Restores.restore`. */
  async restore(
    {database, fileName, password}: NamedArchive,
    to: Pick<RestoreRequest, 'target' | 'overwrite'>,
    tell: RestoreProgress,
  ): Promise<ArchiveManifest> {
    const path = this.#backups.pathOf(database, fileName);
    return await this.restoreFile({path, password, ...to}, tell);
  }

  /** Restores an archive that lies anywhere, as `Restores.restore` does. */
  async restoreFile(request: RestoreRequest, tell: RestoreProgress): Promise<ArchiveManifest> {
    const watched = this.#options.watch(request.target, 'restore');
    try {
      const manifest = await this.#restores.restore(request, (step, done, total) => {
        watched.onProgress(done, total);
        tell(step, done, total);
      });
      this.databasesChanged();
      this.#restored.completed += 1;
      return manifest;
    } catch (error) {
      this.#restored.failed += 1;
      throw error;
    } finally {
      watched.end();
    }
  }

  /** Nothing more is begun; resolves when nothing is under way any more. The thread is ended. */
  async close(): Promise<void> {
    await this.#options.scheduler.end();
  }

  /** What is in force stays when the new document cannot be used. */
  #reload(): void {
    const {document, fault} = this.#file.readAndTell();
    this.#fault = fault;
    if (fault !== undefined) return;
    this.#inForce = document?.enabled === true ? document : undefined;
    this.#scheduler.use(document);
  }

  #directory(): string {
    return this.#file.directory(this.#inForce);
  }
}
