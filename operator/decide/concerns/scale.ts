/**
 * Changes the number of members, one at a time.
 *
 * Up: a pod more, which is added to the configuration once its process runs; the next one only when
 * it votes and is caught up. Down: the highest ordinal hands over, leaves the configuration, and
 * only then its pod goes. A pod that never became a member goes at once, whatever state it is in:
 * that is the way back from a size that cannot be had.
 */
import {peerAddressOf} from '#operator/objects/names.ts';
import {canRemove, type Member, nameOf, successorOf} from '../members.ts';
import {type Plan, type Situation, waiting} from '../plan.ts';
import type {Agreement} from '../agreement.ts';

type Agreed = Extract<Agreement, {kind: 'agreed'}>;

export function planScale(situation: Situation): Plan | undefined {
  const {observed, agreement, set} = situation;
  const wanted = observed.cluster.spec.replicas;
  if (agreement.kind !== 'agreed') {
    // Before the first leader there is nothing to keep, and nobody to ask.
    return undefined;
  }
  if (wanted < set.replicas) return planDown(situation, agreement);
  const stray = situation.members.find(({ordinal}) => ordinal >= set.replicas);
  if (stray?.seat !== undefined && stray.pod === undefined)
    return forget(stray, situation, agreement);
  return planJoin(situation, agreement) ?? planUp(situation, wanted);
}

/** A pod that is no member is made one. */
export function planJoin({observed, members, set}: Situation, agreement: Agreed): Plan | undefined {
  const {cluster} = observed;
  const joining = members.find(
    ({ordinal, seat, pod}) =>
      ordinal < set.replicas &&
      (seat === undefined || !seat.isVoter) &&
      pod?.isTerminating !== true,
  );
  if (joining === undefined) return undefined;
  const name = nameOf(joining);
  const told = {type: 'ScaleUp', target: name} as const;
  if (joining.seat !== undefined) {
    return waiting({...told, step: 'CatchUp', message: `${name} catches up before it votes`});
  }
  if (joining.pod?.isStarted !== true) {
    const trouble = joining.pod?.trouble ?? 'its process does not run yet';
    return waiting({...told, step: 'Start', message: `${name} starts: ${trouble}`});
  }
  if (joining.isForeign) {
    const message = `${name} answers for another cluster and is not taken in`;
    return waiting({...told, step: 'Blocked', blockedBy: ['identity'], message});
  }
  const message = `${name} is taken into the configuration`;
  return {
    ...waiting({...told, step: 'AddPeer', message}),
    actions: [
      {
        kind: 'add-peer',
        under: {leader: agreement.leader, term: agreement.term},
        peerId: joining.peerId,
        address: peerAddressOf(cluster, joining.ordinal),
        name,
        priority: cluster.spec.ha.priorities[String(joining.ordinal)] ?? 0,
      },
    ],
    told: [{reason: 'MemberAdded', message}],
  };
}

function planUp({members, set}: Situation, wanted: number): Plan | undefined {
  if (wanted <= set.replicas) return undefined;
  const unwell = members.filter(({isHealthy, ordinal}) => !isHealthy && ordinal < set.replicas);
  if (unwell.length > 0 || members.length < set.replicas) {
    const message = `a member is added once all are healthy: ${unwell.map(nameOf).join(', ')}`;
    return waiting({type: 'ScaleUp', step: 'Wait', target: undefined, message});
  }
  const message = `a member is added: ${set.replicas + 1} of ${wanted}`;
  return {
    ...waiting({type: 'ScaleUp', step: 'AddPod', target: undefined, message}),
    replicas: set.replicas + 1,
    told: [{reason: 'ScalingUp', message}],
  };
}

function planDown(situation: Situation, agreement: Agreed): Plan {
  const {members, set} = situation;
  const ordinal = set.replicas - 1;
  const victim = members.find(member => member.ordinal === ordinal);
  const pod = victim === undefined ? `ordinal ${ordinal}` : nameOf(victim);
  const told = {type: 'ScaleDown', target: pod} as const;
  if (victim?.seat === undefined) {
    const message = `${pod} is no member and its pod goes`;
    return {
      ...waiting({...told, step: 'RemovePod', message}),
      replicas: ordinal,
      told: [{reason: 'ScalingDown', message}],
    };
  }
  return leave(victim, situation, agreement, told);
}

/** Its pod went without it, as when somebody else scaled the stateful set. */
function forget(stray: Member, situation: Situation, agreement: Agreed): Plan {
  return leave(stray, situation, agreement, {type: 'ScaleDown', target: nameOf(stray)});
}

function leave(
  victim: Member,
  {members}: Situation,
  agreement: Agreed,
  told: {readonly type: 'ScaleDown'; readonly target: string},
): Plan {
  const name = nameOf(victim);
  if (!canRemove(members, agreement, victim)) {
    const message = `${name} stays: without it no majority is healthy`;
    return waiting({...told, step: 'Blocked', blockedBy: ['quorum'], message});
  }
  const under = {leader: agreement.leader, term: agreement.term};
  if (victim.seat?.isLeader === true) {
    const to = successorOf(members, victim);
    const message = `${name} hands over to ${to === undefined ? 'nobody' : nameOf(to)}`;
    const step = waiting({...told, step: 'TransferLeader', message});
    if (to === undefined) return step;
    return {...step, actions: [{kind: 'transfer-leader', under, to: to.peerId}]};
  }
  const message = `${name} leaves the configuration`;
  return {
    ...waiting({...told, step: 'RemovePeer', message}),
    actions: [{kind: 'remove-peer', under, peerId: victim.peerId}],
    told: [{reason: 'MemberRemoved', message}],
  };
}
