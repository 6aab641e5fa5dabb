/**
 * What an administrator can ask of this process: settings, figures, events, an orderly stop.
 */
import {resolve} from 'node:path';
import {Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {BackupService} from '#server/backup/backup-service.ts';
import type {ProfilerFigures, QueryProfiler} from '#server/monitoring/query-profiler.ts';
import {byLabel, type Figures} from '#server/monitoring/figures.ts';
import type {HealthMonitor} from '#server/monitoring/health-monitor.ts';
import type {MetricsDump} from '#server/monitoring/metrics-dump.ts';
import {settingRow} from '#server/base/settings.ts';
import type {Random} from '#server/platform/clock.ts';
import type {ServerEvent} from '#server/monitoring/server-event.ts';
import type {ServerEvents} from '#server/monitoring/server-events.ts';
import type {Administration, ServerIdentity} from '#server/session/administration.ts';
import {languages} from '#server/session/languages/front-ends.ts';
import type {ExecutorFigures} from '#server/session/connections/service-figures.ts';
import type {SessionService} from '#server/session/service.ts';
import {uuidOf} from '#server/base/uuid.ts';
import type {Engine} from '#server/engine/engine.ts';
import {logSyncs} from './commit/log-syncs.ts';
import type {KeptSettings} from './kept-settings.ts';
import type {RuntimeWatch} from './monitoring/runtime-watch.ts';
import {
  diskFamilies,
  type DiskFigures,
  diskFigures,
  engineFigures,
} from './monitoring/server-figures.ts';
import {version} from './version.ts';

export interface ServerAdministrationOptions {
  readonly engine: Engine;
  readonly events: ServerEvents;
  readonly runtime: RuntimeWatch;
  readonly health: HealthMonitor;
  /** Makes what writes the metrics into the log. */
  readonly makeDump: (figures: () => Figures) => MetricsDump;
  /** Makes the profiler, which asks for figures when it begins and ends. */
  readonly makeProfiler: (snapshot: () => ProfilerFigures) => QueryProfiler;
  readonly random: Random;
  /** The settings as resolved at the start. */
  readonly settings: Settings;
  /** Keeps what is set for the next start; undefined: the configuration is somebody else's. */
  readonly kept?: Pick<KeptSettings, 'keep'> | undefined;
  readonly shutdown: () => void;
}

export class ServerAdministration implements Administration {
  readonly identity: ServerIdentity;
  readonly profiler: QueryProfiler;
  readonly #dump: MetricsDump;
  readonly #options: ServerAdministrationOptions;
  #settings: Settings;
  #service: SessionService | undefined;
  #backups: Pick<BackupService, 'figures'> | undefined;

  constructor(options: ServerAdministrationOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#dump = options.makeDump(() => this.figures());
    this.profiler = options.makeProfiler(() => ({
      profiler: this.metrics()['profiler'],
      databases: this.#service?.figures.byDatabase() ?? {},
    }));
    this.identity = {
      serverName: options.settings.get('svc.server.name'),
      version,
      instanceId: uuidOf(options.random),
      languages,
    };
  }

  /** The service is made after its administration. */
  use(service: SessionService): void {
    this.#service = service;
  }

  /** So are the backups. */
  useBackups(backups: Pick<BackupService, 'figures'>): void {
    this.#backups = backups;
  }

  /** Begins to watch the process and its disk. */
  start(): void {
    const {runtime, health, events} = this.#options;
    const mode = this.#settings.get('svc.server.mode');
    events.add('INFO', 'Server', `Server ${version} started in ${mode} mode`);
    runtime.start();
    this.#dump.follow(this.#settings);
    runtime.onWindow(({meanMs}) => {
      health.look({disk: this.#disk(), ...runtime.heap, pauseMs: meanMs});
    });
  }

  /** Ends what it began, the profiler's session too. */
  end(): void {
    this.#options.runtime.end();
    this.profiler.stop();
    this.#dump.end();
    this.#options.events.add('INFO', 'Server', 'Server shut down');
  }

  settings(): Settings {
    return this.#settings;
  }

  setServerSetting(key: string, value: string): void {
    const changed = this.#settings.with(key, value, 'server command');
    if (settingRow(key)?.dynamic !== true) {
      throw new Refusal(
        'setting.value',
        `setting '${key}' takes effect at a start only: change the configuration and restart`,
        {detail: {key}},
      );
    }
    this.#options.kept?.keep(key, value);
    this.#settings = changed;
    this.#dump.follow(changed);
    this.#options.events.add('INFO', 'Server', `setting ${key} was changed`);
  }

  async setDatabaseSetting(database: string, key: string, value: string): Promise<void> {
    if (this.#service === undefined) throw new Refusal('server.stopping', 'the server is starting');
    await this.#service.setDatabaseSetting(database, key, value);
  }

  figures(): Figures {
    const {engine, runtime, events} = this.#options;
    const {HINT: hint, INFO: info, WARNING: warning, CRITICAL: critical} = events.counts;
    return {
      ...engineFigures(engine),
      svc_engine_log_syncs_total: logSyncs.count,
      svc_engine_log_sync_seconds_total: logSyncs.seconds,
      ...this.#service?.figures.families(),
      ...this.#backups?.figures(),
      ...diskFamilies(this.#disk()),
      ...runtime.figures(),
      svc_events_total: byLabel({hint, info, warning, critical}),
    };
  }

  disk(): Readonly<Record<string, number | string>> {
    const disk = this.#disk();
    if (disk === undefined) return {};
    return {
      diskFreeSpace: disk.freeBytes,
      diskTotalSpace: disk.totalBytes,
      diskFreeSpacePerc: disk.freePercent,
      diskDirectory: disk.directory,
    };
  }

  metrics(): Readonly<Record<string, unknown>> {
    const memory = process.memoryUsage();
    const {engine} = this.#options;
    const load = this.#service?.load;
    const storage = engine.storage();
    const count = (value: number): {readonly count: number} => ({count: value});
    const space = (value: number): {readonly space: number} => ({space: value});
    return {
      profiler: {
        ...diskValues(this.#disk()),
        ...this.#counted(),
        storageMemtables: space(storage.memtableBytes),
        storageFiles: space(storage.fileBytes),
        storageCache: space(storage.cacheBytes),
        storageUncompacted: space(storage.uncompactedBytes),
        ramHeapUsed: space(memory.heapUsed),
        ramHeapMax: space(memory.heapTotal),
        ramOsUsed: space(memory.rss),
        commitIndex: count(engine.appliedIndex),
        databases: count(engine.databases().length),
        databasesMigrating: count(engine.migrating.length),
        queriesRunning: count(load?.queriesRunning ?? 0),
        queriesWaiting: count(load?.queriesWaiting ?? 0),
        queriesRefused: count(load?.queriesRefused ?? 0),
        queryMemory: space(load?.queryMemoryBytes ?? 0),
        graphViewMemory: space(load?.graphViewBytes ?? 0),
        columnViews: space(load?.columnViewBytes ?? 0),
        transactionsOpen: count(load?.transactionsOpen ?? 0),
      },
      executors: executorsOf(this.#service),
      events: this.#eventCounts(),
    };
  }

  events(file?: string): readonly ServerEvent[] {
    const {events} = this.#options;
    return file === undefined ? events.list() : events.read(file);
  }

  eventFiles(): readonly string[] {
    return this.#options.events.files();
  }

  fencedDatabases(): readonly string[] {
    const {engine} = this.#options;
    const isDamaged = (name: string): boolean =>
      engine.status(name) === 'open' && engine.database(name)?.damage !== undefined;
    return engine.databases().filter(name => engine.status(name) === 'fenced' || isDamaged(name));
  }

  databaseIdentity(name: string): string {
    const {engine} = this.#options;
    const database = engine.status(name) === 'fenced' ? undefined : engine.database(name);
    return database === undefined ? '' : `${engine.logId}-${database.id}`;
  }

  shutdown(): void {
    this.#options.shutdown();
  }

  #disk(): DiskFigures | undefined {
    return diskFigures(resolve(this.#settings.get('svc.server.databaseDirectory')));
  }

  /** What was counted since the start, by the names that tools know. */
  #counted(): Readonly<Record<string, unknown>> {
    const {engine, runtime} = this.#options;
    const {commits} = engine;
    const {heapBytes, heapBytesMax} = runtime.heap;
    const statements = Object.values(this.#service?.figures.byDatabase() ?? {});
    const sum = (kind: 'queries' | 'commands'): number =>
      statements.reduce((total, counts) => total + counts[kind], 0);
    const available = 100 - (heapBytes / Math.max(1, heapBytesMax)) * 100;
    return {
      writeTx: {count: commits.appended},
      readTx: {count: commits.snapshots},
      txRollbacks: {count: commits.rollbacks},
      concurrentModificationExceptions: {count: commits.conflicts},
      walBytesWritten: {space: commits.appendedBytes},
      queries: {count: sum('queries')},
      commands: {count: sum('commands')},
      totalDatabases: {count: engine.databases().length},
      ramHeapAvailablePerc: {perc: Math.round(available * 100) / 100},
      cpuCores: {count: runtime.cores},
    };
  }

  #eventCounts(): Readonly<Record<string, number>> {
    const {
      CRITICAL: errors,
      WARNING: warnings,
      INFO: info,
      HINT: hints,
    } = this.#options.events.counts;
    return {errors, warnings, info, hints};
  }
}

/** The figures of the executors, by the names that tools know. */
function executorsOf(service: SessionService | undefined): Readonly<Record<string, unknown>> {
  if (service === undefined) return {};
  const {query, parallel_scan: scans} = service.figures.executors();
  const told = ({size, active, queued, capacity, completed, fallbacks}: ExecutorFigures) => ({
    'pool.size': size,
    'pool.active': active,
    'queue.depth': queued,
    'queue.capacity_remaining': capacity,
    'tasks.completed': completed,
    'tasks.caller_run_fallbacks': fallbacks,
  });
  return {
    query_admission: {...told(query), 'tasks.rejected': service.load.queriesRefused},
    parallel_scan: told(scans),
  };
}

/** A directory that is gone shows in the databases; figures of it are only left out. */
function diskValues(disk: DiskFigures | undefined): Readonly<Record<string, unknown>> {
  if (disk === undefined) return {};
  return {
    diskFreeSpace: {space: disk.freeBytes},
    diskTotalSpace: {space: disk.totalBytes},
    diskFreeSpacePerc: {perc: disk.freePercent},
    diskDirectory: {value: disk.directory},
  };
}
