/**
 * What writes whole databases out and reads them in, as statements ask for it: BACKUP, EXPORT and
 * IMPORT DATABASE. Declared here because statements need it, implemented beside the service.
 */
import type {Cancellation} from '#server/base/cancellation.ts';
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
