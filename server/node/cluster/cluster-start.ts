/** Makes this server's part in a cluster, where the settings say that it belongs to one. */
import {readFileSync} from 'node:fs';
import {resolve} from 'node:path';
import {isClusterWanted} from '#server/base/cluster-wanted.ts';
import type {Settings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {createDisk} from '#server/platform/real/disk.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Checkpoint} from '#server/raft/membership.ts';
import {clusterTokens} from '#server/replication/cluster-token.ts';
import type {OpenedLog} from '#server/replication/storage/member-log.ts';
import {hasStoredLog, openStoredLog} from '#server/replication/stored-log.ts';
import {formatsOf} from '#server/engine/formats/levels.ts';
import {startMemberLogThread} from '../member-log/member-log-thread.ts';
import {givenRootPassword} from '../root-password.ts';
import {version} from '../version.ts';
import {ClusterNode} from './cluster-node.ts';
import {planCluster} from './cluster-plan.ts';

/**
 * Undefined for a server alone.
 *
 * @param inForce - The settings as they are now; `settings` are those of the start.
 * @throws {Refusal} `start.refused`.
 */
export async function joinedCluster(
  settings: Settings,
  inForce: () => Settings,
  logger: Logger,
): Promise<ClusterNode | undefined> {
  if (!isClusterWanted(settings)) return undefined;
  const plan = planCluster(settings);
  if (settings.get('svc.txWalFlush') < 2) {
    const reason = 'a member of a cluster syncs every commit';
    logger.log('warn', 'setting.without-effect', {setting: 'svc.txWalFlush', reason});
  }
  const tokens = await clusterTokens({
    given: settings.get('svc.ha.clusterToken'),
    path: settings.get('svc.ha.clusterTokenPath'),
    readFile: path => readFileSync(resolve(path), 'utf8'),
    clusterName: plan.clusterName,
    rootPassword: givenRootPassword(settings),
  });
  const {level} = formatsOf(version);
  return new ClusterNode({
    plan,
    settings: inForce,
    clock: createClock(),
    random: createRandom(),
    timers: createTimers(),
    logger,
    ...tokens,
    release: version,
    formats: {from: Math.max(1, level - 1), to: level},
    storage: {
      exists: directory => keeps(settings) && hasStoredLog(createDisk(), directory),
      open: (directory, checkpoint) => openStorage(settings, directory, checkpoint),
    },
  });
}

function keeps(settings: Settings): boolean {
  return settings.get('svc.ha.raftPersistStorage');
}

async function openStorage(
  settings: Settings,
  directory: string,
  checkpoint: Checkpoint | undefined,
): Promise<Omit<OpenedLog, 'logId'>> {
  // It loads while the log is read.
  const thread = startMemberLogThread({
    clock: createClock(),
    resume: {
      retriesMax: settings.get('svc.ha.ratisRestartMaxRetries'),
      everyMs: settings.get('svc.ha.healthCheckInterval'),
    },
  });
  try {
    const {log, recovered} = openStoredLog({
      disk: createDisk(),
      directory,
      segmentBytes: settings.get('svc.ha.logSegmentSize'),
      random: createRandom(),
      checkpoint,
      keeps: keeps(settings),
    });
    const storageId = log.logId;
    return {storageId, storage: thread.start(log), recovered};
  } catch (error) {
    await thread.abandon();
    throw error;
  }
}
