/**
 * The backups of this server: its engine, its thread and its cluster, put together for the service
 * that decides.
 */
import {statfsSync} from 'node:fs';
import {resolve} from 'node:path';
import {BackupService} from '#server/backup/backup-service.ts';
import type {WatchedWork} from '#server/backup/backups.ts';
import type {ConfigurationStore} from '#server/backup/configuration-file.ts';
import {reasonOf, Refusal} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Cluster} from '#server/cluster/cluster.ts';
import type {Engine} from '#server/engine/engine.ts';
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Disk} from '#server/platform/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {MemberCopies} from '#server/protocols/http/relay/member-copies.ts';
import type {Scheduler} from '#server/schedule/scheduler.ts';
import type {SessionService} from '#server/session/service.ts';
import {version} from '../version.ts';
import {WorkerArchiveThread} from './archive-thread.ts';

/** Each try waits longer than the one before: some ten seconds in all. */
const attemptsMax = 10;
const pauseMs = 200;

export interface ServerBackupsOptions {
  readonly engine: Engine;
  readonly service: SessionService;
  readonly settings: () => Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly scheduler: Scheduler;
  readonly disk: Disk;
  /** Where the configuration lives. */
  readonly configurationStore: ConfigurationStore;
  /** Both undefined: a server alone. */
  readonly cluster: Cluster | undefined;
  readonly copies: MemberCopies | undefined;
}

export interface ServerBackups {
  readonly backups: BackupService;
  /** Breaks off what is under way. Before the engine is closed. */
  close(): Promise<void>;
}

export function createServerBackups(options: ServerBackupsOptions): ServerBackups {
  const {engine, settings, cluster, service} = options;
  const given = settings();
  const rootPath = resolve(given.get('svc.server.rootPath'));
  const databaseDirectory = resolve(given.get('svc.server.databaseDirectory'));
  const thread = new WorkerArchiveThread(options.timers);
  const backups = new BackupService({
    ...options,
    rootPath,
    databaseDirectory,
    thread,
    release: version,
    configDirectory: resolve(given.get('svc.server.configDirectory')),
    // As every path of the settings it goes by the working directory, and holds the root already.
    directorySetting: () => resolve(settings().get('svc.server.backupDirectory')),
    timeZone: () => Intl.DateTimeFormat().resolvedOptions().timeZone,
    openDatabases: () => engine.databases().filter(name => engine.status(name) === 'open'),
    runsHere: server =>
      server === '*' ||
      (server === '$leader'
        ? (cluster?.isLeader ?? true)
        : server === given.get('svc.server.name')),
    takesCommits: () => cluster?.isLeader ?? true,
    watch: (database, operation) => watchedBy(service, database, operation),
    bytesFree: () => bytesFreeIn(databaseDirectory, settings().get('svc.storage.freeSpaceMin')),
    distribute: database => distribute(options, database),
  });
  return {
    backups,
    async close() {
      await Promise.all([thread.close(), backups.close()]);
    },
  };
}

function watchedBy(service: SessionService, database: string, operation: string): WatchedWork {
  const figures = {done: 0, total: 0};
  const end = service.showWork(database, operation, figures);
  return {
    onProgress: (done, total) => void Object.assign(figures, {done, total}),
    end,
  };
}

function bytesFreeIn(path: string, reserve: number): number {
  const {bavail, bsize} = statfsSync(path);
  return Math.max(0, bavail * bsize - reserve);
}

/** Has the other members take copies of a database, until most of all members have one. */
async function distribute(options: ServerBackupsOptions, database: string): Promise<void> {
  const {cluster, copies} = options;
  if (cluster === undefined || copies === undefined) return;
  const {peers, localPeerId} = cluster.state();
  const members = peers.filter(({inConfiguration}) => inConfiguration);
  const others = members.filter(({id}) => id !== localPeerId);
  // With this server's own, more than half.
  const needed = Math.floor(members.length / 2);
  let taken = 0;
  const reasons: string[] = [];
  const enough = Promise.withResolvers<void>();
  if (needed === 0) enough.resolve();
  const all = others.map(async ({id}) => {
    const reason = await copied(options, id, database);
    if (reason !== undefined) reasons.push(`${id}: ${reason}`);
    else if (++taken === needed) enough.resolve();
  });
  void Promise.all(all).then(() => {
    const share = `${taken + 1} of ${members.length} members have a copy`;
    enough.reject(new Refusal('cluster.no-quorum', `${share} (${reasons.join('; ')})`));
  });
  await enough.promise;
}

/**
 * Has a member take its copy. One that was asked before it has applied the entry which tells of the
 * database, or is just starting, is asked again.
 *
 * @returns Why it has none; undefined: it has one.
 */
async function copied(
  {copies, timers}: ServerBackupsOptions,
  peerId: string,
  database: string,
): Promise<string | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      await copies?.replace(peerId, database);
      return undefined;
    } catch (error) {
      if (attempt === attemptsMax) return reasonOf(error);
    }
    await new Promise<void>(resolve => void timers.after(attempt * pauseMs, resolve));
  }
}
