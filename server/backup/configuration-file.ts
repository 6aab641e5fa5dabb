/**
 * `config/backup.json`, and the directory of archives that follows from it.
 *
 * It is a document of the server, as users are: what an administrator sets is an entry of the log,
 * so that every member of a cluster goes by the same, and the file is its copy. Until one is set,
 * each server has its own file. One that cannot be used never stops a start and never ends what is
 * scheduled already: it is told, and what an administrator sets is checked before it is written.
 * The directory is the one that is in force with the scheduler; else that of the file, though it
 * may switch backups off; else the server's setting.
 * Source: docs/backup.md.
 */
import {join, resolve} from 'node:path';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import {readWhole} from '#server/platform/checked-file.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import {
  type BackupDocument,
  backupDirectoryDefault,
  backupDocumentName,
  directoryFault,
  readBackupDocument,
} from './backup-document.ts';

export interface ConfigurationFileOptions {
  readonly rootPath: string;
  readonly configDirectory: string;
  /** `svc.server.backupDirectory`, as it is now, absolute. */
  readonly directorySetting: () => string;
  readonly configurationStore: ConfigurationStore;
  readonly disk: Disk;
  readonly logger: Logger;
}

/** Where the document lives. A `read` after a resolved `write` sees what was written. */
export interface ConfigurationStore {
  read(): Uint8Array | undefined;
  write(bytes: Uint8Array): Promise<void>;
}

/** What the file holds now. */
interface Found {
  /** Undefined: there is none, or it is not JSON. */
  readonly value: unknown;
  /** Undefined: there is none that can be used. */
  readonly document: BackupDocument | undefined;
  /** Why there is none, if there is a file. */
  readonly fault: string | undefined;
}

export class ConfigurationFile {
  readonly #options: ConfigurationFileOptions;
  readonly #path: string;
  #told: Uint8Array | undefined;

  constructor(options: ConfigurationFileOptions) {
    this.#options = options;
    this.#path = join(options.configDirectory, backupDocumentName);
  }

  read(): Found {
    let value: unknown;
    try {
      const bytes = this.#options.configurationStore.read();
      if (bytes === undefined) return {value, document: undefined, fault: undefined};
      value = JSON.parse(Buffer.from(bytes).toString('utf8'));
      return {value, document: readBackupDocument(value), fault: undefined};
    } catch (error) {
      return {value, document: undefined, fault: reasonOf(error)};
    }
  }

  /** Whether there is another one than `readAndTell` has seen. */
  get hasChanged(): boolean {
    const bytes = this.#stored();
    if (bytes === undefined || this.#told === undefined) return bytes !== this.#told;
    return Buffer.compare(bytes, this.#told) !== 0;
  }

  /** Works like `read`; what cannot be used, and an edit that does not count, are told. */
  readAndTell(): Found {
    const found = this.read();
    if (found.fault !== undefined) this.#tell('error', found.fault);
    this.#told = this.#stored();
    if (this.#told !== undefined && this.#isEdited(this.#told)) {
      const advice = 'set it by svc backup config --set, for all members at once';
      this.#tell('warn', `the file was edited, and what the cluster has is in force: ${advice}`);
    }
    return found;
  }

  /** Durable, here and on a majority. @throws {Refusal} `argument`, naming the wrong field. */
  async save(value: unknown): Promise<void> {
    readBackupDocument(value);
    const bytes = Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`, 'utf8');
    await this.#options.configurationStore.write(bytes);
  }

  /** Undefined also where there is a file that cannot be read; `read` says why. */
  #stored(): Uint8Array | undefined {
    try {
      return this.#options.configurationStore.read();
    } catch {
      return undefined;
    }
  }

  #isEdited(bytes: Uint8Array): boolean {
    const {disk} = this.#options;
    try {
      return disk.exists(this.#path) && !readWhole(disk, this.#path).equals(bytes);
    } catch {
      // A directory, or a pipe.
      return true;
    }
  }

  #tell(level: 'warn' | 'error', reason: string): void {
    this.#options.logger.log(level, 'auto-backup.configuration', {
      plugin: 'Auto-Backup',
      path: this.#path,
      reason,
    });
  }

  /**
   * Where archives lie, an absolute path.
   *
   * @param inForce - What the scheduler goes by, if it runs.
   * @throws {Refusal} `database.operation` when the file names one that cannot be.
   */
  directory(inForce: BackupDocument | undefined): string {
    const {rootPath, directorySetting} = this.#options;
    if (inForce !== undefined) return resolve(rootPath, inForce.backupDirectory);
    const {value, fault} = this.read();
    const wished = directoryIn(value);
    if (wished !== undefined) {
      const why = directoryFault(wished);
      if (why === undefined) return resolve(rootPath, wished);
      throw new Refusal('database.operation', `backupDirectory in ${backupDocumentName} ${why}`);
    }
    if (fault !== undefined) {
      this.#tell('warn', `${backupDocumentName} is passed over: ${fault}`);
    } else if (value !== undefined) return resolve(rootPath, backupDirectoryDefault);
    return directorySetting();
  }
}

function directoryIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const {backupDirectory} = value as Readonly<Record<string, unknown>>;
  return typeof backupDirectory === 'string' ? backupDirectory : undefined;
}
