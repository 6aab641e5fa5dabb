/**
 * The rolling change: pods that were made from another template are deleted one at a time, broken
 * ones first, followers before the leader.
 *
 * The next pod goes only when all others are members that are ready and caught up for a while. A
 * pod that is broken is replaced without waiting for anybody's health: waiting for the health of
 * what is about to be replaced is how a rollout gets stuck for ever.
 * Invariant O2: one disruptive move at a time, and none that takes the quorum away.
 */
import {annotations} from '#operator/api/group.ts';
import {annotationOf} from '#operator/api/kube-object.ts';
import {durationMs} from '#operator/api/schema.ts';
import type {PodFacts} from '../observation.ts';
import {canSpare, type Member, nameOf, successorOf} from '../members.ts';
import {deletionOf, type Plan, type Situation, waiting} from '../plan.ts';

interface PodMember extends Member {
  readonly pod: PodFacts;
}

export function planUpgrade(situation: Situation): Plan | undefined {
  const {members, template, set} = situation;
  const own = members.filter(
    (member): member is PodMember => member.pod !== undefined && member.ordinal < set.replicas,
  );
  const outdated = own.filter(({pod}) => pod.templateHash !== template.hash);
  const stalled = own.find(member => isOverdue(member, situation));
  if (outdated.length === 0 && stalled === undefined) return undefined;
  const broken = outdated.find(member => isReplaceable(member, situation));
  if (broken !== undefined) return restart(broken, 'it does not run');
  if (stalled !== undefined) return stall(stalled, outdated.length);
  return next(situation, own, outdated);
}

/** Made from the wanted template, and not well although its time is over. */
function isOverdue(
  {pod, isHealthy}: PodMember,
  {observed, template, agreement}: Situation,
): boolean {
  if (pod.templateHash !== template.hash || pod.isTerminating) return false;
  // Without an agreement nobody is healthy, and a pod that is ready is no worse than before.
  if (agreement.kind === 'agreed' ? isHealthy : pod.isReady) return false;
  const {podStartDeadline} = observed.cluster.spec.upgrade;
  return (
    observed.nowMs - Math.max(pod.createdMs, pod.readyChangedMs) > durationMs(podStartDeadline)
  );
}

/** Whether deleting an outdated pod takes nothing away that works. */
function isReplaceable(member: PodMember, situation: Situation): boolean {
  const {observed, agreement, members} = situation;
  const {pod} = member;
  if (pod.isReady || pod.isTerminating) return false;
  if (pod.isBroken) return true;
  if (agreement.kind === 'agreed') return canSpare(members, agreement, member);
  if (waitsToBegin(situation)) return true;
  const {podStartDeadline} = observed.cluster.spec.upgrade;
  const since = Math.max(pod.createdMs, pod.readyChangedMs);
  return observed.nowMs - since > durationMs(podStartDeadline);
}

/**
 * Whether no server that runs has begun, as each of them says. It may begin in the moment after:
 * one pod at a time, so that those who did are left with a majority.
 */
function waitsToBegin({observed, members}: Situation): boolean {
  if ((observed.cluster.status?.voters ?? 0) > 0) return false;
  return members.every(
    ({pod, answer}) =>
      pod?.isTerminating === false && (!pod.isStarted || answer?.kind === 'starting'),
  );
}

function stall(member: PodMember, left: number): Plan {
  const trouble = member.pod.trouble === undefined ? '' : `: ${member.pod.trouble}`;
  const message =
    `${nameOf(member)} is not well in time${trouble}; ${left} members stay as they are until ` +
    'the spec changes or it gets well';
  return waiting(
    {type: 'Upgrade', step: 'Stalled', target: member.pod.name, message},
    {isStalled: true, recheckMs: STALLED_MS},
  );
}

const STALLED_MS = 15_000;

function next(
  situation: Situation,
  own: readonly PodMember[],
  outdated: readonly PodMember[],
): Plan | undefined {
  const {agreement, members, template} = situation;
  const [target] = outdated.toSorted(
    (a, b) => Number(a.seat?.isLeader) - Number(b.seat?.isLeader) || b.ordinal - a.ordinal,
  );
  if (target === undefined) return undefined;
  const told = {type: 'Upgrade', target: target.pod.name} as const;
  const blockedBy = obstacles(situation, own, target);
  if (blockedBy.length > 0) {
    const message = `${nameOf(target)} waits for: ${blockedBy.join(', ')}`;
    return waiting({...told, step: 'Wait', blockedBy, message});
  }
  if (target.seat?.isLeader !== true || agreement.kind !== 'agreed' || own.length === 1) {
    return restart(target, 'it is not as the spec says');
  }
  const isNew = ({pod}: Member): boolean => pod?.templateHash === template.hash;
  const to = successorOf(members, target, isNew);
  if (to === undefined) return restart(target, 'it is not as the spec says');
  const message = `${nameOf(target)} hands over to ${nameOf(to)}`;
  return {
    ...waiting({...told, step: 'TransferLeader', message}),
    actions: [
      {
        kind: 'transfer-leader',
        under: {leader: agreement.leader, term: agreement.term},
        to: to.peerId,
      },
    ],
    told: [{reason: 'LeaderTransferring', message}],
  };
}

function restart({pod}: PodMember, why: string): Plan {
  const message = `${pod.name} is replaced: ${why}`;
  return {
    ...waiting({type: 'Upgrade', step: 'DeletePod', target: pod.name, message}),
    actions: [deletionOf(pod)],
    told: [{reason: 'MemberRestarting', message}],
  };
}

/** Names of predicates that do not hold; `svc.io/disable-predicates` passes over them. */
function obstacles(
  {observed, agreement, members, template, set}: Situation,
  own: readonly PodMember[],
  target: PodMember,
): readonly string[] {
  const {upgrade} = observed.cluster.spec;
  const others = own.filter(({ordinal}) => ordinal !== target.ordinal);
  const settledMs = observed.nowMs - upgrade.settleSeconds * 1_000;
  const isAgreed = agreement.kind === 'agreed';
  const predicates: Readonly<Record<string, boolean>> = {
    'leader-known': isAgreed || own.length === 1,
    quorum: !isAgreed || canSpare(members, agreement, target),
    'all-present': own.length === set.replicas && others.every(({seat}) => seat !== undefined),
    'others-healthy': others.every(({isHealthy}) => isHealthy),
    'nothing-terminating': own.every(({pod}) => !pod.isTerminating),
    settled: others.every(
      ({pod}) => pod.templateHash !== template.hash || pod.readyChangedMs <= settledMs,
    ),
    approved:
      upgrade.strategy === 'Automatic' ||
      target.seat?.isLeader !== true ||
      annotationOf(observed.object, annotations.approve) === template.hash,
  };
  const disabled = annotationOf(observed.object, annotations.disablePredicates) ?? '';
  const passed = new Set(disabled.split(',').map(name => name.trim()));
  return Object.entries(predicates)
    .filter(([name, holds]) => !holds && !passed.has(name))
    .map(([name]) => name);
}
