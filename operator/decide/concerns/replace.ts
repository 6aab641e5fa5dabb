/**
 * Replaces members that are lost for good: a person asked for it, the volume is lost or its claim
 * deleted, or it lies on a node that is not there any more.
 *
 * The member leaves the configuration before its volume goes, so that no empty server ever speaks
 * with the vote of one that acknowledged something. Without a quorum among the others nothing is
 * done: who of them holds the truth is for a person to say.
 */
import {durationMs} from '#operator/api/schema.ts';
import type {Action} from '../decision.ts';
import {canRemove, type Member, nameOf, successorOf} from '../members.ts';
import {deletionOf, type Plan, type Situation, waiting} from '../plan.ts';

export function planReplacement(situation: Situation): Plan | undefined {
  const {members, agreement} = situation;
  const target = members.find(member => isLost(member, situation));
  if (target?.pod === undefined) return undefined;
  const told = {type: 'Replace', target: target.pod.name} as const;
  if (agreement.kind !== 'agreed') {
    return waiting({...told, step: 'WaitForQuorum', message: agreement.message});
  }
  if (target.seat !== undefined && !canRemove(members, agreement, target)) {
    const message = `without ${nameOf(target)} no majority is healthy, or nobody is left`;
    return waiting({...told, step: 'Blocked', blockedBy: ['quorum'], message});
  }
  const under = {leader: agreement.leader, term: agreement.term};
  if (target.seat?.isLeader === true) {
    const to = successorOf(members, target);
    const message = `${nameOf(target)} hands over to ${to === undefined ? 'nobody' : nameOf(to)}`;
    const actions: Action[] =
      to === undefined ? [] : [{kind: 'transfer-leader', under, to: to.peerId}];
    return {...waiting({...told, step: 'TransferLeader', message}), actions};
  }
  if (target.seat !== undefined) {
    const message = `${nameOf(target)} leaves the configuration`;
    return {
      ...waiting({...told, step: 'RemovePeer', message}),
      actions: [{kind: 'remove-peer', under, peerId: target.peerId}],
      told: [{reason: 'MemberReplacing', message}],
    };
  }
  return {
    ...waiting({
      ...told,
      step: 'DeleteVolumes',
      message: `${nameOf(target)} starts on new volumes`,
    }),
    actions: deletions(target),
  };
}

/** Claims first: they wait for the pod, and the next pod must not find them whole. */
function deletions({claims, pod}: Member): readonly Action[] {
  const going = claims.filter(({isTerminating, volume}) => !isTerminating && volume !== 'backups');
  return [
    ...going.map(({name, uid}): Action => ({kind: 'delete-claim', name, uid})),
    ...(pod === undefined || pod.isTerminating ? [] : [deletionOf(pod)]),
  ];
}

export function isLost({pod, claims, ordinal}: Member, {observed, set}: Situation): boolean {
  if (pod === undefined || ordinal >= set.replicas) return false;
  if (pod.wantsReplacement) return true;
  const {autoReplace, replaceAfter} = observed.cluster.spec.healing;
  if (!autoReplace) return false;
  // Somebody deleted the claim: the volume goes with the pod, at a moment of nobody's choice.
  const isGoing = claims.some(claim => claim.isTerminating && claim.volume !== 'backups');
  if (isGoing && pod.isStarted && !pod.isTerminating) return true;
  if (pod.isReady) return false;
  const awayMs = observed.nowMs - Math.max(pod.createdMs, pod.readyChangedMs);
  return claims.some(
    claim =>
      !claim.isTerminating &&
      claim.volume !== 'backups' &&
      (claim.isLost || (claim.isOnMissingNode && awayMs >= durationMs(replaceAfter))),
  );
}
