/** All scenarios. */
import {definitionsAccepted} from './operator/e00-definitions.ts';
import {appliedCluster, operatedLeaderKilled} from './operator/e01-applied.ts';
import {restingCluster} from './operator/e02-rest.ts';
import {operatorReleases, threeOperators} from './operator/e03-operators.ts';
import {namespacedOperator} from './operator/e04-namespaces.ts';
import {leadershipMoves, rollingChange} from './operator/e06-rolling-change.ts';
import {earlierRelease, imageMissing, resourcesMissing} from './operator/e08-stuck-change.ts';
import {settingsChange} from './operator/e10-settings.ts';
import {nodesDrained} from './operator/e12-drains.ts';
import {
  nodeLost,
  operatedFollowerDeleted,
  quorumLost,
  volumeLost,
} from './operator/e14-lost-members.ts';
import {operatedVolumesGrow, volumeFull} from './operator/e18-volumes.ts';
import {backupBesideAnother, missedTicks, scheduledBackups} from './backups/e20-backups.ts';
import {damagedArchive, recoveredCluster} from './backups/e23-recovery.ts';
import {certificatesReplaced} from './operator/e26-certificates.ts';
import {secretsRotated} from './operator/e27-rotation.ts';
import {monitoringLater} from './operator/e28-monitoring.ts';
import {documentedCommands} from './documents/e31-documents.ts';
import {kustomizedOperator} from './documents/e32-kustomize.ts';
import {deletedMeanwhile} from './operator/e33-deletions.ts';
import {recoverySources} from './backups/e34-recovery-sources.ts';
import {ownCertificates} from './operator/e35-own-certificates.ts';
import {deletedCluster, pausedCluster} from './operator/e30-pause.ts';
import {threeMembers} from './s01-three-members.ts';
import {fourthMember} from './s02-fourth-member.ts';
import {leaderKilled} from './s13-leader-killed.ts';
import {followerDeleted} from './s14-follower-deleted.ts';
import {nodeOff} from './s16-node-off.ts';
import {volumeGrows} from './s18-volume-grows.ts';
import type {Scenario} from './scenario.ts';

/** They begin in this order, one kind of operator after the other; long ones go first. */
export const scenarios: readonly Scenario[] = [
  // An operator that nobody else may meet: the first one installs it by Helm.
  documentedCommands,
  kustomizedOperator,
  // Operators of one namespace each, and none.
  definitionsAccepted,
  threeOperators,
  restingCluster,
  missedTicks,
  operatorReleases,
  namespacedOperator,
  monitoringLater,
  threeMembers,
  fourthMember,
  leaderKilled,
  followerDeleted,
  volumeGrows,
  // One operator for all of them.
  deletedMeanwhile,
  operatedFollowerDeleted,
  certificatesReplaced,
  scheduledBackups,
  secretsRotated,
  leadershipMoves,
  imageMissing,
  resourcesMissing,
  pausedCluster,
  recoveredCluster,
  damagedArchive,
  recoverySources,
  ownCertificates,
  settingsChange,
  earlierRelease,
  volumeLost,
  volumeFull,
  operatedVolumesGrow,
  backupBesideAnother,
  deletedCluster,
  // Nobody beside them.
  appliedCluster,
  rollingChange,
  operatedLeaderKilled,
  nodesDrained,
  nodeLost,
  quorumLost,
  nodeOff,
];

/**
 * @param only - Ids between commas, or `further`, or `all`; empty: all but the further ones.
 * @throws {Error} for an id that is none.
 */
export function chosen(all: readonly Scenario[], only: string): readonly Scenario[] {
  const ids = only
    .split(',')
    .map(id => id.trim().toUpperCase())
    .filter(id => id !== '');
  const isKnown = (id: string): boolean =>
    ['ALL', 'FURTHER'].includes(id) || all.some(scenario => scenario.id === id);
  const unknown = ids.find(id => !isKnown(id));
  if (unknown !== undefined) {
    const known = all.map(({id}) => id).join(', ');
    throw new Error(`there is no scenario ${unknown}; there are ${known}`);
  }
  return all.filter(
    ({id, isFurther = false}) =>
      ids.includes(id) ||
      ids.includes('ALL') ||
      (isFurther ? ids.includes('FURTHER') : ids.length === 0),
  );
}
