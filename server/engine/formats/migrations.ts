/** The migrations of a server's databases that are under way. */
import type {Logger} from '#server/platform/logger.ts';
import type {Database} from '../database.ts';
import type {Formats} from './levels.ts';
import {migrate, migrationOf} from './migration.ts';

export class Migrations {
  readonly #formats: Formats;
  readonly #logger: Logger;
  readonly #running = new Map<string, Promise<void>>();

  constructor(formats: Formats, logger: Logger) {
    this.#formats = formats;
    this.#logger = logger;
  }

  /** Lists the databases whose rows are being brought to the format level of this release. */
  get names(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Goes on with the migration that a raise of the format level began, if there is one. */
  resume(database: Database): void {
    const state = migrationOf(database);
    if (state === undefined) return;
    const {level, levels} = this.#formats;
    const about = {database: database.name, from: state.from, to: level};
    this.#logger.log('info', 'format.migrating', {...about, rowsRewritten: state.rowsRewritten});
    const step = levels.find(known => known.level === level)?.step;
    const work = migrate(database, step)
      .then(done => {
        if (done) this.#logger.log('info', 'format.migrated', about);
      })
      .catch((error: unknown) =>
        this.#logger.log('error', 'format.migration-failed', {...about, error}),
      )
      .finally(() => this.#running.delete(database.name));
    this.#running.set(database.name, work);
  }

  async ended(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
