/**
 * `config/backup.json` on the disk, and the directory of archives that follows from it.
 *
 * A file that cannot be used never stops a start and never ends what is scheduled already: it is
 * told, and what an administrator sets is checked before it is written. The directory is the one
 * that is in force with the scheduler; else that of the file, though it may switch backups off;
 * else the server's setting.
 * Source: docs/backup.md.
 */
import {existsSync, readFileSync} from 'node:fs';
import {join, resolve} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import {writeAtomically} from '#server/platform/checked-file.ts';
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
  readonly disk: Disk;
  readonly logger: Logger;
}

/** What the file holds now. */
interface Found {
  /** Undefined: there is no file, or it is not JSON. */
  readonly value: unknown;
  /** Undefined: there is none that can be used. */
  readonly document: BackupDocument | undefined;
  /** Why there is none, if there is a file. */
  readonly fault: string | undefined;
}

export class ConfigurationFile {
  readonly #options: ConfigurationFileOptions;
  readonly #path: string;

  constructor(options: ConfigurationFileOptions) {
    this.#options = options;
    this.#path = join(options.configDirectory, backupDocumentName);
  }

  read(): Found {
    if (!existsSync(this.#path)) return {value: undefined, document: undefined, fault: undefined};
    let value: unknown;
    try {
      value = JSON.parse(readFileSync(this.#path, 'utf8'));
      return {value, document: readBackupDocument(value), fault: undefined};
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error);
      return {value, document: undefined, fault};
    }
  }

  /** Works like `read`; what cannot be used is told. */
  readAndTell(): Found {
    const found = this.read();
    if (found.fault !== undefined) {
      const {logger} = this.#options;
      logger.log('error', 'auto-backup.configuration', {path: this.#path, reason: found.fault});
    }
    return found;
  }

  /** Durable on return. @throws {Refusal} `argument`, naming the field that is wrong. */
  save(value: unknown): BackupDocument {
    const document = readBackupDocument(value);
    const bytes = Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`, 'utf8');
    writeAtomically(this.#options.disk, this.#path, bytes);
    return document;
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
      const reason = `${backupDocumentName} is passed over: ${fault}`;
      this.#options.logger.log('warn', 'auto-backup.configuration', {path: this.#path, reason});
    } else if (value !== undefined) return resolve(rootPath, backupDirectoryDefault);
    return directorySetting();
  }
}

function directoryIn(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const {backupDirectory} = value as Readonly<Record<string, unknown>>;
  return typeof backupDirectory === 'string' ? backupDirectory : undefined;
}
