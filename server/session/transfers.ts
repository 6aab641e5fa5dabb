/**
 * What writes whole databases out and reads them in, as statements ask for it: BACKUP, EXPORT and
 * IMPORT DATABASE. Declared here because statements need it, implemented beside the service.
 */
import {readBackupOptions} from '#server/backup/backup-options.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import type {Cancellation} from '#server/base/cancellation.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Value} from '#server/model/value.ts';
import type {TransferCommand} from '#server/plan/statement.ts';

export interface Transfers {
  /** The caller has checked the right. @returns The row of the answer. */
  run(
    database: string,
    command: TransferCommand,
    signal: Cancellation,
  ): Promise<ReadonlyMap<string, Value>>;
}

export class DatabaseTransfers implements Transfers {
  readonly #backups: BackupService;

  constructor(backups: BackupService) {
    this.#backups = backups;
  }

  async run(
    database: string,
    {what, url, settings}: TransferCommand,
  ): Promise<ReadonlyMap<string, Value>> {
    if (what !== 'backup') {
      throw new Refusal('not-available', `${what.toUpperCase()} DATABASE is not available yet`);
    }
    const {fileName} = await this.#backups.make(database, readBackupOptions(settings, url));
    return new Map<string, Value>([
      ['operation', 'backup database'],
      ['target', url ?? fileName],
      ['result', 'OK'],
      ['backupFile', fileName],
    ]);
  }
}
