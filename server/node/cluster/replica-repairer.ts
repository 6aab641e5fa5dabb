/**
 * Carries out what a member decides about copies that stand still or cannot be used: a follower
 * takes its own anew, a leader asks followers to (cluster/replica-repair-policy.ts,
 * stalled-replicas.ts).
 */
import {reasonOf} from '#server/base/errors.ts';
import type {Settings} from '#server/base/setting-values.ts';
import type {Logger} from '#server/platform/logger.ts';
import type {Cluster, ClusterState} from '#server/cluster/cluster.ts';
import type {ClusterCopies} from '#server/cluster/align.ts';
import {
  type CareStep,
  ReplicaRepairPolicy,
  type SelfCareOptions,
  type UnusableDatabase,
} from '#server/cluster/replica-repair-policy.ts';
import {type StalledReplica, StalledReplicas} from '#server/cluster/stalled-replicas.ts';

export interface CopyCareOptions {
  readonly cluster: Cluster;
  readonly copies: Pick<ClusterCopies, 'replace'>;
  readonly settings: () => Settings;
  readonly logger: Logger;
  readonly databases: () => readonly string[];
  /** Lists the copies that cannot be used. */
  readonly unusable: () => readonly UnusableDatabase[];
}

const transferMs = 10_000;

export class ReplicaRepairer {
  readonly #options: CopyCareOptions;
  readonly #self = new ReplicaRepairPolicy();
  readonly #stalled = new StalledReplicas();
  #isTaking = false;

  constructor(options: CopyCareOptions) {
    this.#options = options;
  }

  /** Databases that cannot be used and of which no more copies are taken. */
  get givenUp(): readonly string[] {
    return this.#self.givenUp;
  }

  look(state: ClusterState, now: number): void {
    const {settings, unusable} = this.#options;
    const given = settings();
    const moment = {now, isTaking: this.#isTaking, options: selfCareOptions(given)};
    for (const step of this.#self.look(state, unusable(), moment)) this.#do(step);
    const stalled = this.#stalled.look(state, now, {
      stalledMs: given.get('svc.ha.stalledReplicaResyncDurationMs'),
      unreachableMs: given.get('svc.ha.peerUnreachableThreshold'),
    });
    for (const replica of stalled) void this.#askToResync(replica);
  }

  #do(step: CareStep): void {
    const {logger, databases} = this.#options;
    switch (step.kind) {
      case 'progress':
      case 'caught-up':
        return logger.log('info', `resync.${step.kind}`, withoutKind(step));
      case 'give-up':
        return logger.log('error', 'resync.give-up', {
          ...withoutKind(step),
          advice: 'look at the disk of this server; svc cluster resync takes the copy once more',
        });
      case 'hand-over':
        logger.log('warn', 'resync.hand-over', withoutKind(step));
        return void this.#handOver(step.database);
      case 'take':
        logger.log('warn', 'resync.begin', withoutKind(step));
        return void this.#take([step.database]);
      case 'take-all':
        logger.log('warn', 'resync.stale', withoutKind(step));
        return void this.#take(databases());
    }
  }

  async #handOver(database: string): Promise<void> {
    const {cluster, logger} = this.#options;
    try {
      await cluster.transferLeadership(undefined, transferMs);
    } catch (error) {
      logger.log('error', 'resync.not-handed-over', {database, reason: reasonOf(error)});
    }
  }

  /** Does not reject: what was not taken is decided about at the next look. */
  async #take(names: readonly string[]): Promise<void> {
    const {cluster, logger} = this.#options;
    this.#isTaking = true;
    for (const database of names) {
      try {
        await cluster.resync(database);
        logger.log('info', 'resync.taken', {database});
      } catch (error) {
        logger.log('warn', 'resync.failed', {database, reason: reasonOf(error)});
      }
    }
    this.#isTaking = false;
  }

  async #askToResync({id, ...how}: StalledReplica): Promise<void> {
    const {copies, logger, databases} = this.#options;
    logger.log('warn', 'peer.stalled', {peer: id, ...how});
    for (const database of databases()) {
      try {
        await copies.replace(id, database);
        logger.log('info', 'peer.resync', {peer: id, database});
      } catch (error) {
        logger.log('warn', 'peer.resync', {peer: id, database, reason: reasonOf(error)});
      }
    }
  }
}

function selfCareOptions(given: Settings): SelfCareOptions {
  return {
    replacesDamaged: given.get('svc.ha.divergedFollowerRecovery'),
    takesMissing: given.get('svc.ha.autoAcquireDatabases'),
    attemptsMax: given.get('svc.ha.divergedFollowerMaxReformats'),
    staleLag: given.get('svc.ha.staleFollowerLagThreshold'),
    staleMs: given.get('svc.ha.staleFollowerRecoveryDurationMs'),
    tells: given.get('svc.ha.resyncProgressLogging'),
    tellMs: given.get('svc.ha.resyncProgressInterval'),
    caughtUpLag: given.get('svc.ha.resyncCatchupLagThreshold'),
  };
}

function withoutKind({kind: _, ...fields}: CareStep): Readonly<Record<string, unknown>> {
  return fields;
}
