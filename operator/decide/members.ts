/**
 * The members of a cluster as a decision sees them: pod, claim and place in consensus of each
 * ordinal in one record, and what may be said of their health.
 */
import type {Answer, Agreement, AgreedMember} from './agreement.ts';
import {isOwn, majorityOf} from './agreement.ts';
import type {ClaimFacts, Observation, PodFacts} from './observation.ts';
import {ports} from '#operator/api/group.ts';
import {hostOf, ordinalOfPeer, peerIdOf} from '#operator/objects/names.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';

export interface Member {
  readonly ordinal: number;
  readonly peerId: string;
  readonly pod: PodFacts | undefined;
  readonly claims: readonly ClaimFacts[];
  /** Undefined: not in the configuration, or nobody can say. */
  readonly seat: AgreedMember | undefined;
  readonly answer: Answer | undefined;
  /** Its server answers for another cluster. */
  readonly isForeign: boolean;
  /** Ready, a voter, and caught up: it can do its part in a quorum. */
  readonly isHealthy: boolean;
}

/** The members, ordered by ordinal; strangers in the configuration are not among them. */
export function membersOf(observed: Observation, agreement: Agreement): readonly Member[] {
  const {cluster, pods, claims, answers} = observed;
  const seats = agreement.kind === 'agreed' ? agreement.members : [];
  const seated = seats.flatMap(({id}) => ordinalOfPeer(cluster, id) ?? []);
  const ordinals = new Set([...pods.map(({ordinal}) => ordinal), ...seated]);
  return [...ordinals]
    .sort((a, b) => a - b)
    .map(ordinal => {
      const peerId = peerIdOf(cluster, ordinal);
      const pod = pods.find(one => one.ordinal === ordinal);
      const seat = seats.find(({id}) => id === peerId);
      const answer = answers.get(peerId);
      const isForeign =
        answer?.kind === 'report' && !isOwn(answer.report, clusterNameOf(cluster), peerId);
      const isPodWell = pod !== undefined && pod.isReady && !pod.isTerminating;
      return {
        ordinal,
        peerId,
        pod,
        claims: claims.filter(claim => claim.ordinal === ordinal),
        seat,
        answer,
        isForeign,
        isHealthy: isPodWell && seat !== undefined && isCaughtUp(seat, observed),
      };
    });
}

function isCaughtUp(
  {isVoter, lag, isStuck, isLeader}: AgreedMember,
  {cluster}: Pick<Observation, 'cluster'>,
): boolean {
  if (isLeader) return true;
  return isVoter && !isStuck && lag !== undefined && lag <= cluster.spec.upgrade.maxLagEntries;
}

type Agreed = Extract<Agreement, {kind: 'agreed'}>;

function votersOf(agreement: Agreed): number {
  return agreement.members.filter(({isVoter}) => isVoter).length;
}

function healthyWithout(members: readonly Member[], without: Member): number {
  return members.filter(({isHealthy, ordinal}) => isHealthy && ordinal !== without.ordinal).length;
}

/**
 * Whether a majority stays healthy while a member is away for a moment. One of two members takes
 * the majority with it whatever one does, so there all others are enough.
 */
export function canSpare(members: readonly Member[], agreement: Agreed, away: Member): boolean {
  const voters = votersOf(agreement);
  return healthyWithout(members, away) >= Math.min(majorityOf(voters), voters - 1);
}

/** Whether the change that removes a member can be committed, and what is left can go on. */
export function canRemove(members: readonly Member[], agreement: Agreed, leaver: Member): boolean {
  const voters = votersOf(agreement);
  const left = healthyWithout(members, leaver);
  const healthy = left + (leaver.isHealthy ? 1 : 0);
  if (leaver.seat?.isVoter !== true) return healthy >= majorityOf(voters);
  return voters > 1 && healthy >= majorityOf(voters) && left >= majorityOf(voters - 1);
}

/** Who should lead instead: healthy, of those preferred, with the least lag. */
export function successorOf(
  members: readonly Member[],
  leaver: Member,
  isPreferred: (member: Member) => boolean = () => true,
): Member | undefined {
  return members
    .filter(member => member.isHealthy && member.ordinal !== leaver.ordinal)
    .toSorted(
      (a, b) =>
        Number(isPreferred(b)) - Number(isPreferred(a)) ||
        (a.seat?.lag ?? 0) - (b.seat?.lag ?? 0) ||
        a.ordinal - b.ordinal,
    )[0];
}

/** Where the server of a member listens. */
export interface Place {
  readonly host: string;
  readonly address: string | undefined;
  readonly port: number;
}

export function placeOf({cluster, pods}: Pick<Observation, 'cluster' | 'pods'>, ordinal: number) {
  const pod = pods.find(one => one.ordinal === ordinal);
  const place: Place = {
    host: hostOf(cluster, ordinal),
    address: pod?.address,
    port: ports.http,
  };
  return place;
}

/** The word for a member in messages. */
export function nameOf({pod, peerId}: Member): string {
  return pod?.name ?? peerId.slice(0, peerId.indexOf('.'));
}
