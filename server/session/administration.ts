/**
 * What an administrator can ask of the server itself, in every protocol.
 *
 * Declared here because protocols need it, implemented in `node/`, which alone knows files and
 * processes. Callers have checked that the principal may ask (`root`).
 */
import type {Settings} from '#server/base/setting-values.ts';
import type {Figures} from '#server/monitoring/figures.ts';
import type {QueryProfiler} from '#server/monitoring/query-profiler.ts';
import type {ServerEvent} from '#server/monitoring/server-event.ts';

/** Facts about this server that never change while it runs. */
export interface ServerIdentity {
  readonly serverName: string;
  readonly version: string;
  /** Constant for one installation of data, random for each start of another. */
  readonly instanceId: string;
  readonly languages: readonly string[];
}

export interface Administration {
  readonly identity: ServerIdentity;
  /** Records what statements cost; it refuses nobody by itself. */
  readonly profiler: QueryProfiler;
  /** The settings in force now. */
  settings(): Settings;
  /** Sets it until the next restart. @throws {Refusal} `setting.unknown`, `setting.value`. */
  setServerSetting(key: string, value: string): void;
  /** Saved with the database. @throws {Refusal} also `database.missing`. */
  setDatabaseSetting(database: string, key: string, value: string): Promise<void>;
  /** Figures of the server but for those of protocols and the cluster, as metrics name them. */
  figures(): Figures;
  /** The disk of the databases, by the names of GET `/server`; empty where it is gone. */
  disk(): Readonly<Record<string, number | string>>;
  /** Figures by group, as `GET /server` shows them. */
  metrics(): Readonly<Record<string, unknown>>;
  /**
   * Events of the server, oldest first: the latest, or those of a file; none where it is not there.
   *
   * @throws {Refusal} `user.invalid` for a name with a path in it.
   */
  events(file?: string): readonly ServerEvent[];
  /** The files of events, the newest first. */
  eventFiles(): readonly string[];
  /** Databases that are here and cannot be used, or not wholly: damaged, or half put in place. */
  fencedDatabases(): readonly string[];
  /** Differs between a database and a later one of the same name. */
  databaseIdentity(name: string): string;
  /** Begins an orderly stop a moment later, so that the answer leaves first. */
  shutdown(): void;
}
