/**
 * The names by which people, charts and tests know the operator's resources: group, kinds, labels,
 * annotations, ports. One place, so that a name is never written twice.
 *
 * Source: docs/kubernetes; the names never change once released.
 */

export const GROUP = 'svc.io';
export const VERSION = 'v1alpha1';
export const API_VERSION = `${GROUP}/${VERSION}`;

/** Field manager of everything that the operator applies. */
export const FIELD_MANAGER = 'svc-operator';

export interface ResourceKind {
  readonly kind: string;
  readonly plural: string;
  readonly shortName: string;
}

export const resourceKinds = {
  cluster: {kind: 'SvcCluster', plural: 'svcclusters', shortName: 'svcc'},
  schedule: {kind: 'SvcBackupSchedule', plural: 'svcbackupschedules', shortName: 'svcbs'},
  backup: {kind: 'SvcBackup', plural: 'svcbackups', shortName: 'svcb'},
} as const satisfies Record<string, ResourceKind>;

export const labels = {
  name: 'app.kubernetes.io/name',
  instance: 'app.kubernetes.io/instance',
  component: 'app.kubernetes.io/component',
  partOf: 'app.kubernetes.io/part-of',
  managedBy: 'app.kubernetes.io/managed-by',
  cluster: `${GROUP}/cluster`,
  role: `${GROUP}/role`,
  ordinal: `${GROUP}/ordinal`,
  /** Marks a claim of a member that was scaled away: its data are those of a former member. */
  orphaned: `${GROUP}/orphaned`,
  /** Says on a claim which port the names of the members have whose data it holds. */
  raftPort: `${GROUP}/raft-port`,
  /** Names on a SvcBackup the schedule that asked for it. */
  schedule: `${GROUP}/schedule`,
} as const;

export const annotations = {
  /** `true`: the operator changes nothing of this cluster. */
  paused: `${GROUP}/paused`,
  /** `true`: no pods run; claims and size stay. */
  hibernate: `${GROUP}/hibernate`,
  /** Any text: a new one restarts all members, one after the other. */
  restartAt: `${GROUP}/restart-at`,
  /** Ordinal of the member that is to lead. */
  transferLeaderTo: `${GROUP}/transfer-leader-to`,
  /** Names of predicates, between commas, that a rolling change does not wait for. */
  disablePredicates: `${GROUP}/disable-predicates`,
  /** Supervised upgrades: the template hash for which the leader may be replaced. */
  approve: `${GROUP}/approve`,
  /** Any text: a new one tries a recovery again that failed. */
  retryRecovery: `${GROUP}/retry-recovery`,
  /** Any text: a new one replaces the authority of the cluster's certificates. */
  renewAuthority: `${GROUP}/renew-authority`,
  /** `true` on a pod: replace this member together with its volumes. */
  replace: `${GROUP}/replace`,
  /** Says on a pod template what the pods were made from. */
  templateHash: `${GROUP}/template-hash`,
  /** Says what an object was made from; the operator writes it only where that differs. */
  objectHash: `${GROUP}/object-hash`,
} as const;

/** Roles of a member, as its pod is labelled; services select by them. */
export const roles = {leader: 'leader', follower: 'follower', joining: 'joining'} as const;

export type Role = (typeof roles)[keyof typeof roles];

export const ports = {http: 2480, https: 2490, raft: 2434} as const;

/** The one container of a member's pod that matters. */
export const CONTAINER = 'server';

/** User and group of the server's process in the image. */
export const USER_ID = 65_532;

/** Domain under which Services of a cluster are found. */
export const CLUSTER_DOMAIN = 'cluster.local';
