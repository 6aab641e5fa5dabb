/**
 * The reasons of events and conditions: a frozen list, because alerts and people's scripts name
 * them. Each has what it means and what to do, from which docs/kubernetes/troubleshooting.md is
 * checked.
 */

export interface ReasonRow {
  readonly severity: 'Normal' | 'Warning';
  readonly means: string;
  /** Empty: nothing is to be done. */
  readonly todo: string;
}

const normal = (means: string): ReasonRow => ({severity: 'Normal', means, todo: ''});
const warning = (means: string, todo: string): ReasonRow => ({severity: 'Warning', means, todo});

export const reasons = {
  Creating: normal('the first pods start'),
  Available: normal('a leader takes writes'),
  AllMembersReady: normal('every member is ready and caught up'),
  Accepted: normal('the spec is carried out'),
  Settled: normal('nothing is under way'),
  NotPaused: normal('the operator works on this cluster'),
  ScalingUp: normal('a member is added'),
  ScalingDown: normal('a member is taken away'),
  UpgradeStarted: normal('members are replaced one after the other'),
  UpgradeFinished: normal('every member runs what the spec says'),
  MemberRestarting: normal('a pod is deleted so that it comes back as the spec says'),
  LeaderTransferring: normal('leadership is handed to another member'),
  MemberAdded: normal('a server was taken into the configuration of consensus'),
  MemberRemoved: normal('a server was taken out of the configuration of consensus'),
  MemberReplacing: normal('a member is replaced together with its volumes'),
  VolumeGrowing: normal('volumes get larger'),
  SettingsApplied: normal('settings were changed without a restart'),
  Paused: normal('the annotation svc.io/paused keeps the operator from changing anything'),
  Hibernated: normal('the annotation svc.io/hibernate keeps all pods away; volumes stay'),
  SpecInvalid: warning(
    'the spec breaks a rule and is not carried out; what runs goes on',
    'correct the field that the message names, or set it back',
  ),
  UpgradeStalled: warning(
    'a replaced member did not get well in time, and no further one is touched',
    'look at the pod that the message names; any change of the spec, its old value too, goes on',
  ),
  UpgradeBlocked: warning(
    'a predicate holds the rolling change back',
    'see status.operation.blockedBy; svc.io/disable-predicates passes over one',
  ),
  NoLeader: warning(
    'no member leads, or the answers of the members do not agree',
    'wait some seconds; then look at the logs of the pods',
  ),
  QuorumLost: warning(
    'less than a majority of the members answers; nothing is changed automatically',
    'bring pods, nodes or volumes back; otherwise restore a backup into a new cluster',
  ),
  MemberUnready: warning(
    'a member is not ready or not caught up',
    'look at the pod that the message names',
  ),
  DiskFull: warning(
    'the volume of a member is full, and writes are refused or will be',
    'raise spec.storage.size: volumes grow while they are in use, and writes go on by themselves',
  ),
  MemberLost: warning(
    'the node or the volume of a member is gone',
    'nothing with healing.autoReplace; otherwise put svc.io/replace=true on its pod',
  ),
  ForeignServer: warning(
    'a pod answers for another cluster',
    'look at the volume of the pod that the message names: it holds data of another cluster',
  ),
  PasswordRefused: warning(
    'the servers do not accept the password of root that the Secret holds',
    'set the password that the servers know in the Secret, or change it on the servers',
  ),
  SecretMissing: warning(
    'a Secret that the spec names is not there or lacks its key',
    'create it in the namespace of the cluster',
  ),
  Recovering: normal('databases are restored before the cluster opens'),
  RecoveryCompleted: normal('every database of bootstrap.recovery is there'),
  RecoveryFailed: warning(
    'bootstrap.recovery has no source, or an archive of it cannot be restored',
    'see the message; then give the annotation svc.io/retry-recovery a new text',
  ),
  EvenReplicas: warning(
    'an even number of members tolerates no more losses than one fewer',
    'use an odd number of replicas',
  ),
  RequestRefused: warning(
    'the API server refused an object or a change that the operator made',
    'the message holds its words: a quota, an admission rule or a missing right',
  ),
  ServerRefused: warning(
    'a server refused a command of the operator',
    'the message holds its words; the operator tries again',
  ),
  ClusterMissing: warning('the SvcCluster is not there', 'create it, or correct clusterRef.name'),
  BackupNotAvailable: warning(
    'the servers of this release do not take backups by command',
    'upgrade the cluster to a release whose server knows `trigger backup`',
  ),
  BackupRunning: normal('archives are being written'),
  BackupCompleted: normal('every database has its archive'),
  BackupFailed: warning(
    'a database has no archive',
    'see status.databases of the SvcBackup for what the server said',
  ),
  BackupOverdue: warning(
    'the last good backup of a schedule is older than two of its ticks, or there is none',
    'see the SvcBackups of the schedule, and whether the operator was away',
  ),
  BackupSkipped: normal('another backup of the same database was running'),
  Scheduled: normal('the next run is known'),
  Suspended: normal('the schedule begins no runs'),
  ScheduleInvalid: warning('the expression never fires or is none', 'correct spec.schedule'),
  MissedTicks: warning(
    'runs were not begun in time; at most one is made up for',
    'see whether the operator was away',
  ),
  NoBackupYet: normal('no SvcBackupSchedule covers this cluster, or none ran yet'),
  BackupsCurrent: normal('the last scheduled run ended well'),
} as const satisfies Readonly<Record<string, ReasonRow>>;

export type Reason = keyof typeof reasons;

/** The conditions of each resource: when one is well, what it says, and what to do otherwise. */
export const conditionRows = {
  Available: [
    'SvcCluster',
    'True',
    'a leader takes writes, which a majority confirms',
    'see the reason; without one, nothing is changed automatically',
  ],
  Progressing: [
    'SvcCluster',
    'False',
    'something is under way: `status.operation` says which step',
    'wait, and see `status.operation.blockedBy` when the step stays the same',
  ],
  Degraded: [
    'SvcCluster',
    'False',
    'something is wrong that the cluster bears for now',
    'see the reason: the next loss may cost more',
  ],
  Reconciled: [
    'SvcCluster',
    'True',
    'the spec is accepted and carried out',
    'correct the field that the message names',
  ],
  BackupHealthy: [
    'SvcCluster',
    'True',
    'the last run of each schedule ended well and is not overdue',
    'see the SvcBackups; Unknown says that no schedule covers the cluster',
  ],
  Paused: [
    'SvcCluster',
    'False',
    'the annotation svc.io/paused is set',
    'take the annotation away',
  ],
  Scheduled: [
    'SvcBackupSchedule',
    'True',
    'the time of the next run is known',
    'correct spec.schedule, or set spec.suspend to false',
  ],
  LastRunSucceeded: [
    'SvcBackupSchedule',
    'True',
    'the last run that was no skip ended well',
    'see the SvcBackup that `status.lastRun` names',
  ],
  Succeeded: [
    'SvcBackup',
    'True',
    'every database has its archive',
    'see `status.databases`; Unknown says that it is under way',
  ],
} as const satisfies Readonly<
  Record<string, readonly [kind: string, well: 'True' | 'False', says: string, todo: string]>
>;

export type ConditionType = keyof typeof conditionRows;
export type ClusterCondition = {
  [Type in ConditionType]: (typeof conditionRows)[Type][0] extends 'SvcCluster' ? Type : never;
}[ConditionType];

/** Something to be told about an object, once. */
export interface Told {
  readonly reason: Reason;
  readonly message: string;
}
