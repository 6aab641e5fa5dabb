/**
 * The status that a decision leaves behind. It changes only when something did that a person would
 * call a change: figures that move all the time are rounded, or left to the metrics.
 */
import {transitioned} from '#operator/api/conditions.ts';
import type {
  ClusterStatus,
  MemberStatus,
  OperationStatus,
  RecoveryStatus,
} from '#operator/api/cluster-status.ts';
import {ports} from '#operator/api/group.ts';
import {quantityValue} from '#operator/api/quantity.ts';
import {names, peerIdOf, selectorLabels} from '#operator/objects/names.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';
import {lastBackupOf} from './backup-health.ts';
import {conditionsOf, phaseOf, type Seen} from './conditions.ts';
import type {Member} from './members.ts';
import type {Plan} from './plan.ts';

export interface StatusInput extends Seen {
  readonly templateHash: string | undefined;
  readonly initial: readonly number[] | undefined;
  /** Absent: as it was. */
  readonly recovery?: RecoveryStatus;
}

export function statusOf(input: StatusInput): ClusterStatus {
  const {observed, agreement, members, plan, initial} = input;
  const {cluster, pods, stamp: now} = observed;
  const {spec, status: before, metadata} = cluster;
  const conditions = conditionsOf(input);
  const leader = members.find(({seat}) => seat?.isLeader)?.pod?.name;
  const agreed = agreement.kind === 'agreed' ? agreement : undefined;
  const isInvalid = input.mode === 'invalid';
  const versions = pods.flatMap(({version}) => version ?? []).toSorted(compareVersions);
  return {
    ...emptyStatus,
    observedGeneration: metadata.generation,
    phase: phaseOf(input, conditions),
    conditions: transitioned(before?.conditions ?? [], conditions, {
      now,
      generation: metadata.generation,
    }),
    replicas: pods.length,
    readyReplicas: pods.filter(({isReady, isTerminating}) => isReady && !isTerminating).length,
    selector: Object.entries(selectorLabels(cluster))
      .map(([name, value]) => `${name}=${value}`)
      .join(','),
    version: versions[0] ?? before?.version,
    targetVersion: isInvalid ? before?.targetVersion : spec.version,
    templateHash: input.templateHash ?? before?.templateHash,
    // What was known last stays while nobody knows better.
    leader: agreed === undefined ? before?.leader : leader,
    term: agreed?.term ?? before?.term,
    voters: agreed?.members.filter(({isVoter}) => isVoter).length ?? before?.voters,
    members: agreed === undefined && before?.members ? before.members : members.map(memberStatus),
    operation: plan === undefined ? undefined : operationOf(plan, before?.operation, now),
    initialMembers: before?.initialMembers ?? initial?.map(ordinal => peerIdOf(cluster, ordinal)),
    clusterName: initial === undefined || isInvalid ? before?.clusterName : clusterNameOf(cluster),
    hibernatedReplicas: hibernatedReplicas(input),
    storage: isInvalid ? before?.storage : storageOf(input),
    certificates: certificatesOf(observed),
    recovery: input.recovery ?? before?.recovery,
    endpoints: {
      rw: `${names.rw(cluster)}.${metadata.namespace}.svc:${ports.http}`,
      ro: `${names.ro(cluster)}.${metadata.namespace}.svc:${ports.http}`,
    },
    // Its object may be gone by now.
    lastBackup: lastBackupOf(observed.backups.backups) ?? before?.lastBackup,
  };
}

const emptyStatus: Pick<ClusterStatus, 'operation' | 'hibernatedReplicas'> = {
  operation: undefined,
  hibernatedReplicas: undefined,
};

function memberStatus(member: Member): MemberStatus {
  const {ordinal, peerId, pod, seat, claims, isForeign} = member;
  const data = claims.find(({volume}) => volume === 'data');
  const role =
    pod === undefined
      ? 'absent'
      : seat === undefined || !seat.isVoter
        ? 'joining'
        : seat.isLeader
          ? 'leader'
          : 'follower';
  return {
    ordinal,
    pod: pod?.name ?? peerId.slice(0, peerId.indexOf('.')),
    peerId,
    role,
    inConfiguration: seat !== undefined,
    ready: pod?.isReady === true && !pod.isTerminating,
    lag: roundedLag(seat?.lag),
    version: pod?.version,
    templateHash: pod?.templateHash,
    claimUid: data?.uid,
    message: isForeign ? 'answers for another cluster' : pod?.trouble,
  };
}

const LAG_SHOWN_MIN = 1_000;

/** The next power of two; small lags come and go with every write and count as none. */
function roundedLag(lag: number | undefined): number | undefined {
  if (lag === undefined) return undefined;
  return lag < LAG_SHOWN_MIN ? 0 : 2 ** Math.ceil(Math.log2(lag));
}

function operationOf(
  plan: Plan,
  before: OperationStatus | undefined,
  now: string,
): OperationStatus {
  const {type, step, target} = plan.operation;
  const isSame = before?.type === type;
  const isSameStep = isSame && before.step === step && before.target === target;
  return {
    ...plan.operation,
    startedAt: isSame ? before.startedAt : now,
    stepStartedAt: isSameStep ? before.stepStartedAt : now,
  };
}

/** The size to which it wakes up: that before it fell asleep. */
function hibernatedReplicas({mode, observed}: StatusInput): number | undefined {
  const before = observed.cluster.status?.hibernatedReplicas;
  const running = observed.statefulSet?.replicas ?? 0;
  if (mode === 'hibernated') return running > 0 ? running : before;
  // Until the pods are wanted again.
  return running > 0 ? undefined : before;
}

function certificatesOf({cluster, certificates}: StatusInput['observed']) {
  const {authority, certificate} = certificates;
  const told = [
    {name: names.authority(cluster), notAfter: authority?.notAfter},
    {name: names.certificate(cluster), notAfter: certificate?.notAfter},
  ].flatMap(({name, notAfter}) => (notAfter === undefined ? [] : [{name, notAfter}]));
  return told.length === 0 ? undefined : told;
}

function storageOf({observed, resizing}: StatusInput): ClusterStatus['storage'] {
  const {cluster, claims} = observed;
  const capacities = claims
    .filter(({volume, isOrphaned}) => volume === 'data' && !isOrphaned)
    .flatMap(({capacity}) => capacity ?? [])
    .toSorted((a, b) => quantityValue(a) - quantityValue(b));
  const smallest = capacities[0] ?? cluster.status?.storage?.lastGood;
  const {size} = cluster.spec.storage;
  // Storage often rounds up: what is at least what was asked for is as good as that.
  const lastGood =
    smallest !== undefined && quantityValue(smallest) >= quantityValue(size) ? size : smallest;
  return {requested: size, lastGood, resizing: [...resizing]};
}

function compareVersions(one: string, other: string): number {
  const [a, b] = [one.split('.').map(Number), other.split('.').map(Number)];
  for (const at of [0, 1, 2]) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
