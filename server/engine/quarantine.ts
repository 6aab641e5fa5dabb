/** Directories of databases that give way to others: kept under names that nobody serves. */
import type {Logger} from '#server/platform/logger.ts';
import type {StoreFactory} from './store-factory.ts';

/** Whether a directory of this name was a database of that name. */
export function isSetAside(directory: string, database: string): boolean {
  const [, of] = /^\.set-aside-\d+-(.+)$/.exec(directory) ?? [];
  return of === database;
}

/** Durable on return. No store of the directory may be open. */
export function setAside(
  {
    stores,
    databaseDirectory,
    logger,
  }: {
    readonly stores: StoreFactory;
    readonly databaseDirectory: string;
    readonly logger: Logger;
  },
  database: string,
): void {
  const pathOf = (number: number): string =>
    `${databaseDirectory}/.set-aside-${number}-${database}`;
  let number = 1;
  while (stores.exists(pathOf(number))) number++;
  stores.rename(`${databaseDirectory}/${database}`, pathOf(number));
  logger.log('warn', 'database.set-aside', {database, directory: pathOf(number)});
}
