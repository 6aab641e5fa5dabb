/**
 * Decides the next moves for one cluster from what is, never from which event woke us.
 *
 * Order: what routes and reports (labels of roles) always; then what the spec needs beside its
 * pods; then one concern with the pods themselves: replace what is lost, finish who joins, change
 * what is outdated, scale. Nothing that the spec says is carried out while the spec breaks a rule,
 * and nothing at all while the cluster is paused.
 * Source: docs/kubernetes/operator.md.
 */
import {annotations, roles, type Role} from '#operator/api/group.ts';
import {annotationOf} from '#operator/api/kube-object.ts';
import type {ClusterStatus, RecoveryStatus} from '#operator/api/cluster-status.ts';
import type {Told} from '#operator/api/reasons.ts';
import {reasons, type Reason} from '#operator/api/reasons.ts';
import {initialMembersIn} from '#operator/objects/configuration.ts';
import {names, ordinalOfPeer} from '#operator/objects/names.ts';
import {podTemplate} from '#operator/objects/pod-template.ts';
import {clusterNameOf} from '#operator/objects/settings.ts';
import {statefulSet} from '#operator/objects/stateful-set.ts';
import {authorityDueMs, certificateActions} from './certificates.ts';
import type {Mode, Seen} from './conditions.ts';
import type {Action, Decision} from './decision.ts';
import {type Member, membersOf, nameOf} from './members.ts';
import {applications, deletions, supportingObjects} from './objects-wanted.ts';
import type {Observation} from './observation.ts';
import type {Plan, Situation} from './plan.ts';
import {archiveVolumeOf, planRecovery} from './recovery.ts';
import {planReplacement} from './concerns/replace.ts';
import {settingActions} from './concerns/running-settings.ts';
import {planJoin, planScale} from './concerns/scale.ts';
import {statusOf} from './status.ts';
import {passwordActions, tokenActions, tokenSecrets} from './tokens.ts';
import {planUpgrade} from './concerns/upgrade.ts';
import {type Agreement, agreementOf} from './agreement.ts';
import {growing, volumeActions} from './concerns/volumes.ts';

const REST_MS = 65_000;
const BUSY_MS = 2_000;
const ELECTION_MS = 500;

export function decide(observed: Observation): Decision {
  const agreement = agreementOf(clusterNameOf(observed.cluster), observed.answers);
  const members = membersOf(observed, agreement);
  const mode = modeOf(observed);
  const initial = initialOf(observed);
  const base = {observed, agreement, members, mode, resizing: growing(observed)};
  if (mode === 'paused' || mode === 'invalid' || mode === 'sourceless') {
    const replicas = observed.statefulSet?.replicas ?? 0;
    const seen = {...base, plan: undefined, replicas};
    const actions = mode === 'invalid' ? roleLabels(members, agreement) : [];
    const known = observed.statefulSet === undefined ? undefined : initial;
    const sourceless: RecoveryStatus = {phase: 'Failed', databases: [], retry: undefined};
    const recovery = mode === 'sourceless' ? {recovery: sourceless} : {};
    const status = statusOf({...seen, templateHash: undefined, initial: known, ...recovery});
    return finished(seen, actions, status);
  }
  return carriedOut(base, initial);
}

function carriedOut(base: Omit<Seen, 'plan' | 'replicas'>, initial: readonly number[]): Decision {
  const {observed, agreement, members, mode} = base;
  const {cluster, object, statefulSet: set, live} = observed;
  const restartAt = annotationOf(object, annotations.restartAt);
  const archives = archiveVolumeOf(observed);
  const tokenStep = observed.tokens?.step ?? observed.tokenStepKept;
  const template = podTemplate(cluster, {initial, restartAt, archives, tokenStep});
  const situation = set && {observed, agreement, members, template, set};
  const recovered =
    situation && mode === 'recovering' && observed.recovery !== undefined
      ? planRecovery(situation, observed.recovery)
      : undefined;
  const plan = situation && mode === 'running' ? planOf(situation) : recovered?.plan;
  const replicas = mode === 'hibernated' ? 0 : (plan?.replicas ?? sizeOf(observed, initial));
  const seen = {...base, plan, replicas};
  // The smaller of both sizes: a budget for more members than there are lets nobody go.
  const size = Math.min(cluster.spec.replicas, set?.replicas || cluster.spec.replicas);
  const isRecovered = cluster.status?.recovery?.phase === 'Completed';
  const supporting = supportingObjects(cluster, initial, size, {isRecovered});
  const wantedSet = statefulSet(cluster, template, replicas);
  const volumes = set === undefined ? [] : volumeActions(observed, set);
  const isMadeAnew =
    volumes.some(({kind}) => kind === 'recreate-set') || set?.isTerminating === true;
  // In this order: no server starts before the tokens that it reads are there.
  const secrets = secretsOf(observed);
  const hasTokens =
    observed.tokens !== undefined ||
    secrets.some(({kind}) => kind === 'write-tokens' || kind === 'restore-tokens');
  const certificates = certificateActions(observed);
  const hasCertificate =
    cluster.spec.tls.mode !== 'Operator' ||
    observed.certificates.certificate !== undefined ||
    certificates.length > 0;
  const canStart = set !== undefined || (hasTokens && hasCertificate);
  const actions: readonly Action[] = [
    // Clients find a leader once there is something to be found with it.
    ...(mode === 'recovering' ? [] : roleLabels(members, agreement)),
    ...secrets,
    ...certificates,
    ...applications(supporting, live),
    ...deletions(supporting, live),
    ...volumes,
    ...(isMadeAnew || !canStart ? [] : applications([wantedSet], live)),
    ...(agreement.kind === 'agreed' ? settingActions(observed, members, initial) : []),
    ...passwordActions(members),
    ...(situation === undefined || mode === 'recovering' ? [] : tokenActions(situation, plan)),
    ...(plan?.actions ?? requestedTransfer(observed, members, agreement)),
  ];
  const recovery = recovered === undefined ? beginning(mode) : {recovery: recovered.status};
  const status = statusOf({...seen, templateHash: template.hash, initial, ...recovery});
  return finished(seen, actions, status);
}

function modeOf({object, problems, cluster, recovery}: Observation): Mode {
  if (annotationOf(object, annotations.paused) === 'true') return 'paused';
  if (problems.length > 0) return 'invalid';
  if (recovery !== undefined) {
    const isRestored = cluster.status?.recovery?.phase === 'Restored';
    return recovery.source.kind === 'missing' && !isRestored ? 'sourceless' : 'recovering';
  }
  return annotationOf(object, annotations.hibernate) === 'true' ? 'hibernated' : 'running';
}

/** That a recovery is wanted is written down before anything is made for it. */
function beginning(mode: Mode): {readonly recovery?: RecoveryStatus} {
  if (mode !== 'recovering') return {};
  return {recovery: {phase: 'Restoring', databases: [], retry: undefined}};
}

/** Who began the cluster: as it was written down, else those who begin it now. */
function initialOf({cluster, live, recovery}: Observation): readonly number[] {
  const written = initialMembersIn(live.get(`ConfigMap/${names.config(cluster)}`));
  if (written !== undefined) return written;
  const told = (cluster.status?.initialMembers ?? []).flatMap(
    peer => ordinalOfPeer(cluster, peer) ?? [],
  );
  if (told.length > 0) return told;
  // One restores; the others get copies when they join.
  if (recovery !== undefined) return [0];
  return Array.from({length: cluster.spec.replicas}, (_, ordinal) => ordinal);
}

/**
 * How many pods there are to be when nothing changes. A set that is gone is made with as many as
 * members are known, never fewer: it would delete their pods.
 */
function sizeOf(
  {statefulSet: set, cluster, pods, claims}: Observation,
  initial: readonly number[],
) {
  if (set !== undefined && set.replicas > 0) return set.replicas;
  const {status} = cluster;
  const awake = status?.hibernatedReplicas;
  if (awake !== undefined && awake > 0) return awake;
  const ordinals = [
    ...pods.map(({ordinal}) => ordinal),
    ...claims.filter(({isOrphaned}) => !isOrphaned).map(({ordinal}) => ordinal),
    ...(status?.members ?? []).filter(one => one.inConfiguration).map(({ordinal}) => ordinal),
  ];
  return ordinals.length === 0 ? initial.length : Math.max(...ordinals) + 1;
}

function planOf(situation: Situation): Plan | undefined {
  const {agreement, set, observed} = situation;
  if (set.replicas === 0) return undefined;
  const isLeaving = observed.cluster.spec.replicas < set.replicas;
  const join =
    agreement.kind === 'agreed' && !isLeaving ? planJoin(situation, agreement) : undefined;
  const upgrade = planUpgrade(situation);
  const replacement = planReplacement(situation);
  const isBlocked = (replacement?.operation.blockedBy.length ?? 0) > 0;
  if (replacement !== undefined && !isBlocked) return replacement;
  // Who joins goes first while that can go on; a pod that never starts must be replaceable.
  if (join !== undefined && (join.actions.length > 0 || upgrade === undefined)) return join;
  // A pod too many that stalls is taken away rather than waited for, and so is one that has left
  // the configuration: it never gets well again.
  const last = situation.members.find(({ordinal}) => ordinal === set.replicas - 1);
  const hasLeft = isLeaving && agreement.kind === 'agreed' && last?.seat === undefined;
  const isScaleDue = upgrade === undefined || upgrade.isStalled === true || hasLeft;
  const scale = isScaleDue ? planScale(situation) : undefined;
  // More members may be just what a replacement waits for.
  if (upgrade === undefined) return scale ?? replacement;
  return scale?.operation.type === 'ScaleDown' && scale.operation.blockedBy.length === 0
    ? scale
    : upgrade;
}

/** Services follow these labels. While nobody can say who leads they stay as they are. */
function roleLabels(members: readonly Member[], agreement: Agreement): readonly Action[] {
  if (agreement.kind !== 'agreed') return [];
  return members.flatMap(({pod, seat}): readonly Action[] => {
    if (pod === undefined || pod.isTerminating) return [];
    const role: Role =
      seat === undefined || !seat.isVoter
        ? roles.joining
        : seat.isLeader
          ? roles.leader
          : roles.follower;
    return pod.role === role ? [] : [{kind: 'label-pod', name: pod.name, role}];
  });
}

/** Makes the Secrets that are missing and not the user's to make. */
function secretsOf(observed: Observation): readonly Action[] {
  const {cluster, secrets} = observed;
  const {root, clusterToken} = cluster.spec.secrets;
  const missing: Action[] = [];
  if (!secrets.root && root === undefined) missing.push({kind: 'generate-secret', which: 'root'});
  if (!secrets.token && clusterToken === undefined) {
    missing.push({kind: 'generate-secret', which: 'token'});
  }
  return [...missing, ...tokenSecrets(observed)];
}

/** `svc.io/transfer-leader-to`: only when nothing else is under way. */
function requestedTransfer(
  {object}: Observation,
  members: readonly Member[],
  agreement: Agreement,
): readonly Action[] {
  const wish = annotationOf(object, annotations.transferLeaderTo);
  if (wish === undefined || agreement.kind !== 'agreed') return [];
  const to = members.find(({ordinal}) => String(ordinal) === wish);
  if (to === undefined || !to.isHealthy || to.seat?.isLeader === true) return [];
  const under = {leader: agreement.leader, term: agreement.term};
  return [{kind: 'transfer-leader', under, to: to.peerId}];
}

function finished(seen: Seen, actions: readonly Action[], status: ClusterStatus): Decision {
  return {
    actions,
    status,
    events: eventsOf(seen, status),
    recheckMs: recheckOf(seen, actions),
  };
}

/** What began, and what became wrong, since the last status. */
function eventsOf({observed, plan, members}: Seen, status: ClusterStatus): readonly Told[] {
  const before = observed.cluster.status?.conditions ?? [];
  const turned = (status.conditions ?? []).filter(({type, reason}) => {
    const old = before.find(condition => condition.type === type);
    const isNews = old?.reason !== reason;
    return (
      isNews && isTold(reason) && !(old === undefined && reasons[reason].severity === 'Normal')
    );
  });
  const even =
    observed.cluster.spec.replicas % 2 === 0 && before.length === 0
      ? [{reason: 'EvenReplicas' as const, message: `${observed.cluster.spec.replicas} replicas`}]
      : [];
  const foreign = members
    .filter(({isForeign}) => isForeign)
    .map(member => ({
      reason: 'ForeignServer' as const,
      message: `${nameOf(member)} answers for another cluster`,
    }));
  const conditions = turned.map(({reason, message}) => ({reason: reason as Reason, message}));
  const told = [...conditions, ...even, ...foreign, ...(plan?.told ?? [])];
  return told.filter((one, index) => told.findIndex(({reason}) => reason === one.reason) === index);
}

function isTold(reason: string): reason is Reason {
  return reason in reasons;
}

function recheckOf({agreement, plan, mode, observed}: Seen, actions: readonly Action[]): number {
  if (mode === 'hibernated' || mode === 'sourceless') return REST_MS;
  if (actions.length > 0) return BUSY_MS;
  if (agreement.kind === 'unknown' && observed.pods.length > 0) {
    const wasLed = observed.cluster.status?.conditions?.some(
      ({type, status}) => type === 'Available' && status === 'True',
    );
    return wasLed === true ? ELECTION_MS : BUSY_MS;
  }
  if (plan !== undefined) return plan.recheckMs ?? BUSY_MS;
  return Math.max(BUSY_MS, Math.min(REST_MS, authorityDueMs(observed) ?? REST_MS));
}
