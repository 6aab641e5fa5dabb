/**
 * Restores that this operator waits for: one a cluster. They may take hours, so that no worker
 * stands still for one; what came of it is part of the next look.
 *
 * Losing it costs nothing: a server that restores goes on, and a database that is there is done.
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {RestoreOrder} from '#operator/act/carry-out.ts';
import {AdminError, type AdminReason, type ServerAdmin} from '#operator/database/admin.ts';
import type {RecoveryFacts} from '#operator/decide/observation.ts';
import type {Key} from '#operator/kubernetes/api.ts';

type Seen = Pick<RecoveryFacts, 'running' | 'failures'>;

interface Restore {
  running: string | undefined;
  readonly failures: Map<string, string>;
}

/** Nothing is wrong with the archive: the server is asked again. */
const PASSING: ReadonlySet<AdminReason> = new Set(['silent', 'starting', 'not-leader', 'conflict']);
const MESSAGE_MAX = 1_000;

export class RunningRestores {
  readonly #admin: ServerAdmin;
  readonly #logger: Logger;
  readonly #wake: (key: Key) => void;
  readonly #restores = new Map<Key, Restore>();

  constructor({
    admin,
    logger,
    wake,
  }: {
    readonly admin: ServerAdmin;
    readonly logger: Logger;
    readonly wake: (key: Key) => void;
  }) {
    this.#admin = admin;
    this.#logger = logger;
    this.#wake = wake;
  }

  seen(key: Key): Seen {
    const {running, failures = []} = this.#restores.get(key) ?? {running: undefined};
    return {running, failures: new Map(failures)};
  }

  /** Failures that stand in the status by now. */
  forget(key: Key, {failures}: Seen): void {
    for (const database of failures.keys()) this.#restores.get(key)?.failures.delete(database);
  }

  drop(key: Key): void {
    this.#restores.delete(key);
  }

  begin(key: Key, order: RestoreOrder): void {
    const restore = this.#restores.get(key) ?? {running: undefined, failures: new Map()};
    this.#restores.set(key, restore);
    if (restore.running !== undefined) return;
    restore.running = order.database;
    void this.#run(restore, order).then(() => {
      restore.running = undefined;
      this.#wake(key);
    });
  }

  /** Does not reject. */
  async #run({failures}: Restore, {server, database, from}: RestoreOrder): Promise<void> {
    try {
      await this.#admin.restoreDatabase(
        server,
        database,
        await this.#placeOf(server, database, from),
      );
      this.#logger.log('info', 'recovery.restored', {database});
    } catch (error) {
      const message = reasonOf(error);
      const isPassing = error instanceof AdminError && PASSING.has(error.reason);
      this.#logger.log('warn', 'recovery.failed', {database, message, isPassing});
      if (!isPassing) failures.set(database, message.slice(0, MESSAGE_MAX));
    }
  }

  async #placeOf(
    server: RestoreOrder['server'],
    database: string,
    from: RestoreOrder['from'],
  ): Promise<{readonly file: string} | {readonly url: string}> {
    if (from.kind === 'address') return {url: from.url};
    if (from.file !== undefined) return {file: from.file};
    const [newest] = await this.#admin.listBackups(server, database);
    if (newest !== undefined) return {file: newest.fileName};
    throw new Error(`the volume holds no archive of ${database}`);
  }
}
