/**
 * The conditions and the phase of a cluster, from what was seen and what is about to be done.
 */
import type {NewCondition} from '#operator/api/conditions.ts';
import type {ClusterPhase} from '#operator/api/cluster-status.ts';
import type {ClusterCondition, Reason} from '#operator/api/reasons.ts';
import {backupHealth} from './backup-health.ts';
import {majorityOf, type Agreement} from './agreement.ts';
import {type Member, nameOf} from './members.ts';
import type {Observation} from './observation.ts';
import type {Plan} from './plan.ts';

/** `sourceless`: it is to begin out of backups that are not there. */
export type Mode = 'running' | 'paused' | 'hibernated' | 'invalid' | 'recovering' | 'sourceless';

export interface Seen {
  readonly observed: Observation;
  readonly agreement: Agreement;
  readonly members: readonly Member[];
  readonly plan: Plan | undefined;
  /** Pods that there should be; 0 while it sleeps. */
  readonly replicas: number;
  readonly mode: Mode;
  /** Claims that grow. */
  readonly resizing: readonly string[];
}

interface Verdict {
  readonly status: NewCondition['status'];
  readonly reason: Reason;
  readonly message: string;
}

function verdict(status: NewCondition['status'], reason: Reason, message: string): Verdict {
  return {status, reason, message};
}

export function conditionsOf(seen: Seen): readonly NewCondition[] {
  const {nowMs, backups} = seen.observed;
  const verdicts = {
    Available: available(seen),
    Progressing: progressing(seen),
    Degraded: degraded(seen),
    Reconciled: reconciled(seen),
    BackupHealthy: backupHealth({nowMs, ...backups}),
    Paused:
      seen.mode === 'paused'
        ? verdict('True', 'Paused', 'take the annotation svc.io/paused away to go on')
        : verdict('False', 'NotPaused', 'the operator works on this cluster'),
  } satisfies Readonly<Record<ClusterCondition, Omit<NewCondition, 'type'>>>;
  return Object.entries(verdicts).map(([type, one]) => ({type, ...one}));
}

function opening({recovery}: Observation, plan: Plan | undefined): Verdict {
  if (recovery?.source.kind === 'missing' && plan === undefined) {
    return verdict('False', 'RecoveryFailed', recovery.source.message);
  }
  const {step, message = 'databases are restored'} = plan?.operation ?? {};
  return verdict('False', step === 'Failed' ? 'RecoveryFailed' : 'Recovering', message);
}

function available({observed, agreement, members, mode, plan}: Seen): Verdict {
  if (mode === 'sourceless' || mode === 'recovering') return opening(observed, plan);
  if (mode === 'hibernated') return verdict('False', 'Hibernated', 'no pods run');
  if (agreement.kind === 'agreed') {
    const leader = members.find(({seat}) => seat?.isLeader);
    const name = leader === undefined ? agreement.leader : nameOf(leader);
    return verdict('True', 'Available', `${name} leads`);
  }
  const voters = observed.cluster.status?.voters ?? 0;
  // One that the operator makes itself is not there in its first look.
  const {root, clusterToken: token} = observed.cluster.spec.secrets;
  const isGiven = {root: root !== undefined, token: token !== undefined};
  const missing = (['root', 'token'] as const).find(
    which => !observed.secrets[which] && (isGiven[which] || voters > 0),
  );
  if (missing !== undefined) {
    return verdict('False', 'SecretMissing', `the Secret with the ${missing} value is not there`);
  }
  const refusing = members.find(({answer}) => answer?.kind === 'refused');
  if (refusing !== undefined) {
    return verdict('False', 'PasswordRefused', `${nameOf(refusing)} refuses the password of root`);
  }
  if (voters === 0) return verdict('False', 'Creating', agreement.message);
  const reachable = members.filter(({answer}) => answer?.kind === 'report').length;
  const needed = majorityOf(voters);
  if (reachable >= needed) return verdict('False', 'NoLeader', agreement.message);
  const message = `${reachable} of ${voters} members answer, ${needed} are needed`;
  return verdict('False', 'QuorumLost', message);
}

function progressing({plan, observed, agreement, resizing, mode}: Seen): Verdict {
  if (mode === 'recovering' && plan?.operation.step === 'Failed') {
    return verdict('False', 'RecoveryFailed', plan.operation.message);
  }
  if ((mode === 'running' || mode === 'recovering') && plan !== undefined) {
    const {type, message, blockedBy} = plan.operation;
    if (plan.isStalled === true) return verdict('False', 'UpgradeStalled', message);
    if (blockedBy.length > 0) return verdict('True', 'UpgradeBlocked', message);
    const reason = {
      Upgrade: 'UpgradeStarted',
      ScaleUp: 'ScalingUp',
      ScaleDown: 'ScalingDown',
      Replace: 'MemberReplacing',
      Recovery: 'Recovering',
    } as const;
    return verdict('True', reason[type], message);
  }
  if (resizing.length > 0) return verdict('True', 'VolumeGrowing', resizing.join(', '));
  if (
    mode === 'running' &&
    agreement.kind === 'unknown' &&
    (observed.cluster.status?.voters ?? 0) === 0
  ) {
    return verdict('True', 'Creating', agreement.message);
  }
  return verdict('False', 'Settled', 'nothing is under way');
}

function degraded({plan, members, mode, replicas, agreement, observed}: Seen): Verdict {
  if (mode === 'hibernated') {
    return verdict('False', 'AllMembersReady', 'no pods run');
  }
  if (mode === 'sourceless' || plan?.operation.step === 'Failed') {
    const {reason, message} = opening(observed, plan);
    return verdict('True', reason, message);
  }
  const foreign = members.find(({isForeign}) => isForeign);
  if (foreign !== undefined) {
    return verdict('True', 'ForeignServer', `${nameOf(foreign)} answers for another cluster`);
  }
  const full = members.filter(({answer}) => answer?.kind === 'report' && answer.report.isDiskFull);
  if (full.length > 0) {
    return verdict('True', 'DiskFull', `no room is left: ${full.map(nameOf).join(', ')}`);
  }
  if (plan?.isStalled === true) return verdict('True', 'UpgradeStalled', plan.operation.message);
  if (plan?.operation.type === 'Replace') {
    return verdict('True', 'MemberLost', plan.operation.message);
  }
  if (agreement.kind === 'unknown') {
    const hasBegun = (observed.cluster.status?.voters ?? 0) > 0;
    return verdict('True', hasBegun ? 'NoLeader' : 'Creating', agreement.message);
  }
  const unwell = members.filter(({isHealthy, ordinal}) => !isHealthy && ordinal < replicas);
  if (unwell.length > 0 || members.length < replicas) {
    const named = unwell.map(member => {
      const trouble = member.pod?.trouble;
      return trouble === undefined ? nameOf(member) : `${nameOf(member)} (${trouble})`;
    });
    return verdict('True', 'MemberUnready', `not ready: ${named.join(', ') || 'pods are missing'}`);
  }
  return verdict('False', 'AllMembersReady', 'every member is ready and caught up');
}

function reconciled({observed: {problems}}: Seen): Verdict {
  if (problems.length > 0) return verdict('False', 'SpecInvalid', problems.join('; '));
  return verdict('True', 'Accepted', 'the spec is carried out');
}

export function phaseOf(seen: Seen, conditions: readonly NewCondition[]): ClusterPhase {
  const {mode, plan, observed} = seen;
  const by = (type: string): NewCondition | undefined =>
    conditions.find(condition => condition.type === type);
  if (mode === 'paused') return 'Paused';
  if (mode === 'hibernated') return 'Hibernated';
  if (mode === 'invalid') return 'Invalid';
  if (mode === 'sourceless') return 'Pending';
  if (mode === 'recovering') return 'Recovering';
  if (by('Available')?.reason === 'QuorumLost') return 'QuorumLost';
  if (plan?.isStalled === true) return 'Stalled';
  if ((observed.cluster.status?.voters ?? 0) === 0 && by('Available')?.status !== 'True') {
    return 'Creating';
  }
  if (plan !== undefined) {
    const {type} = plan.operation;
    if (type === 'Upgrade') return 'Upgrading';
    return type === 'Replace' ? 'Healing' : 'Scaling';
  }
  return by('Degraded')?.status === 'True' ? 'Degraded' : 'Running';
}
