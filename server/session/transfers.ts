/**
 * What writes whole databases out and reads them in, as statements ask for it: BACKUP, EXPORT and
 * IMPORT DATABASE. Declared here because statements need it, implemented beside the service.
 */
import type {Value} from '#server/model/value.ts';
import type {TransferCommand} from '#server/plan/statement.ts';
import type {Principal} from '#server/security/principal.ts';

export interface Transfers {
  /**
   * Does it in the name of `who`, for whom the caller has checked the right on the database.
   *
   * @returns The row of the answer.
   */
  run(
    who: Principal,
    database: string,
    command: TransferCommand,
  ): Promise<ReadonlyMap<string, Value>>;
}
