/**
 * Databases as an administrator asks for them: made, dropped, opened, closed, aligned. What uses
 * one that goes away is ended first.
 *
 * What changes the server's databases is the leader's to do.
 */
import type {Cancellation} from '#server/base/cancellation.ts';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {requireDatabaseSetting} from '#server/catalog/database-settings.ts';
import {
  type AlignedMember,
  alignDatabase,
  alignedAlone,
  type ClusterCopies,
} from '#server/cluster/align.ts';
import {withLeader} from '#server/cluster/leadership.ts';
import type {Database} from '#server/engine/database.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {DatabaseSessions} from './database-sessions.ts';
import type {RunningQueries} from './running-queries.ts';
import type {TransactionSessions} from './transaction-sessions.ts';

interface DatabaseLifecycleOptions {
  readonly engine: Engine;
  readonly settings: () => Settings;
  /** The copies of the cluster's databases; absent: a server alone. */
  readonly copies?: ClusterCopies | undefined;
}

export class DatabaseLifecycle {
  readonly #options: DatabaseLifecycleOptions;
  readonly #databases: DatabaseSessions;
  readonly #sessions: TransactionSessions;
  readonly #queries: RunningQueries;

  constructor(
    options: DatabaseLifecycleOptions,
    {
      databases,
      sessions,
      queries,
    }: {
      readonly databases: DatabaseSessions;
      readonly sessions: TransactionSessions;
      readonly queries: RunningQueries;
    },
  ) {
    this.#options = options;
    this.#databases = databases;
    this.#sessions = sessions;
    this.#queries = queries;
  }

  async create(name: string): Promise<void> {
    await withLeader(() => this.#options.engine.createDatabase(name));
  }

  async drop(name: string): Promise<void> {
    this.#endUsersOf(name);
    const database = this.#usable(name);
    await withLeader(() => this.#options.engine.dropDatabase(name));
    if (database !== undefined) this.#databases.close(database);
  }

  /**
   * Ends what uses a database that goes away here: another server of the cluster has dropped it, or
   * a snapshot takes its place. Reads fail as those that come now do, so the leader answers them.
   */
  dropped(database: Database): void {
    this.#endUsersOf(database.name, database.refusal);
    this.#databases.close(database);
  }

  close(name: string): void {
    const database = this.#usable(name);
    this.#options.engine.closeDatabase(name);
    if (database !== undefined) this.#databases.close(database);
    this.#sessions.endWhere(session => session.database === name);
  }

  /** Saves a setting with the database. @throws {Refusal} `database.missing`. */
  async setSetting(name: string, key: string, value: string): Promise<void> {
    const database = this.#options.engine.database(name);
    if (database === undefined)
      throw new Refusal('database.missing', `there is no database ${name}`);
    const setting = requireDatabaseSetting(key);
    const {executor} = this.#databases.of(database);
    await withLeader(() => executor.run({kind: 'alter-database', setting, value}, undefined));
  }

  /** Compares the copies of the cluster, and has those that differ taken anew. */
  async align(name: string, signal: Cancellation): Promise<readonly AlignedMember[]> {
    const {copies, settings} = this.#options;
    if (copies === undefined) return [alignedAlone(settings().get('svc.server.name'))];
    return withLeader(() => alignDatabase(copies, name, signal));
  }

  /** The database unless it is fenced, or not there. */
  #usable(name: string): Database | undefined {
    const {engine} = this.#options;
    return engine.status(name) === 'fenced' ? undefined : engine.database(name);
  }

  #endUsersOf(name: string, reason?: Refusal): void {
    this.#sessions.endWhere(session => session.database === name);
    this.#queries.terminateWhere(query => query.request.database === name, reason);
  }
}
