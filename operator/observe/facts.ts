/**
 * Facts out of Kubernetes objects: what a decision asks of pods, claims and stateful sets, in the
 * fields in which Kubernetes says it.
 */
import {annotations, CONTAINER, labels} from '#operator/api/group.ts';
import {
  annotationOf,
  at,
  type KubeObject,
  labelOf,
  listAt,
  numberAt,
  textAt,
} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {durationMs} from '#operator/api/schema.ts';
import type {BackupFacts, ScheduleFacts} from '#operator/decide/backup-health.ts';
import type {ClaimFacts, PodFacts, SetFacts} from '#operator/decide/observation.ts';
import {ordinalOf, type Volume} from '#operator/objects/names.ts';
import {SETTINGS_ANNOTATION} from '#operator/objects/pod-template.ts';

/** @param deleted - Uids of pods whose deletion was asked for, and of which no event came yet. */
export function podFacts(
  cluster: SvcCluster,
  pod: KubeObject,
  deleted: ReadonlySet<string>,
): PodFacts | undefined {
  const {metadata} = pod;
  const ordinal = ordinalOf(cluster, metadata.name);
  if (ordinal === undefined) return undefined;
  const uid = metadata.uid ?? '';
  const ready = listAt(pod, 'status', 'conditions').find(one => textAt(one, 'type') === 'Ready');
  const container = listAt(pod, 'status', 'containerStatuses').find(
    one => textAt(one, 'name') === CONTAINER,
  );
  const isReady = textAt(ready, 'status') === 'True';
  const isStarted = at(container, 'state', 'running') !== undefined;
  const restarts = numberAt(container, 'restartCount') ?? 0;
  const createdMs = timeOf(metadata.creationTimestamp) ?? 0;
  return {
    ordinal,
    name: metadata.name,
    uid,
    resourceVersion: metadata.resourceVersion ?? '',
    templateHash: annotationOf(pod, annotations.templateHash),
    version: versionOf(pod),
    isReady,
    readyChangedMs: timeOf(textAt(ready, 'lastTransitionTime')) ?? createdMs,
    createdMs,
    address: textAt(pod, 'status', 'podIP'),
    isStarted,
    isBroken: !isReady && (!isStarted || restarts > 0),
    isTerminating: metadata.deletionTimestamp !== undefined || deleted.has(uid),
    role: labelOf(pod, labels.role),
    wantsReplacement: annotationOf(pod, annotations.replace) === 'true',
    settings: annotationOf(pod, SETTINGS_ANNOTATION),
    trouble: isReady ? undefined : troubleOf(pod, container),
  };
}

function timeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}

/** The tag of the image; of one that is pinned by digest nobody can say. */
function versionOf(pod: KubeObject): string | undefined {
  const container = listAt(pod, 'spec', 'containers').find(
    one => textAt(one, 'name') === CONTAINER,
  );
  return /:([^:/@]+)$/.exec(textAt(container, 'image') ?? '')?.[1];
}

function troubleOf(pod: KubeObject, container: unknown): string | undefined {
  const waiting = at(container, 'state', 'waiting');
  const reason = textAt(waiting, 'reason');
  if (reason !== undefined && reason !== 'ContainerCreating' && reason !== 'PodInitializing') {
    return sentence(reason, textAt(waiting, 'message'));
  }
  const scheduled = listAt(pod, 'status', 'conditions').find(
    one => textAt(one, 'type') === 'PodScheduled',
  );
  if (textAt(scheduled, 'status') === 'False') {
    return sentence(textAt(scheduled, 'reason') ?? 'Pending', textAt(scheduled, 'message'));
  }
  return undefined;
}

function sentence(reason: string, message: string | undefined): string {
  return (message === undefined ? reason : `${reason}: ${message}`).slice(0, 300);
}

/** @param isNodeMissing - Whether there is no node of that name. */
export function claimFacts(
  cluster: SvcCluster,
  claim: KubeObject,
  isNodeMissing: (node: string) => boolean,
): ClaimFacts | undefined {
  const {name, uid = '', deletionTimestamp} = claim.metadata;
  const volume = (['data', 'raft', 'backups'] as const satisfies readonly Volume[]).find(
    one => ordinalOf(cluster, name, one) !== undefined,
  );
  const ordinal = volume && ordinalOf(cluster, name, volume);
  if (volume === undefined || ordinal === undefined) return undefined;
  const node = annotationOf(claim, 'volume.kubernetes.io/selected-node');
  return {
    ordinal,
    volume,
    name,
    uid,
    requested: textAt(claim, 'spec', 'resources', 'requests', 'storage') ?? '0',
    capacity: textAt(claim, 'status', 'capacity', 'storage'),
    isLost: textAt(claim, 'status', 'phase') === 'Lost',
    isTerminating: deletionTimestamp !== undefined,
    isOrphaned: labelOf(claim, labels.orphaned) === 'true',
    isOnMissingNode: node !== undefined && isNodeMissing(node),
  };
}

export function setFacts(set: KubeObject): SetFacts {
  const templates = listAt(set, 'spec', 'volumeClaimTemplates');
  return {
    uid: set.metadata.uid ?? '',
    replicas: numberAt(set, 'spec', 'replicas') ?? 0,
    isTerminating: set.metadata.deletionTimestamp !== undefined,
    claimSizes: new Map(
      templates.map(template => [
        textAt(template, 'metadata', 'name') ?? '',
        textAt(template, 'spec', 'resources', 'requests', 'storage') ?? '0',
      ]),
    ),
  };
}

export function scheduleFacts({metadata, spec, status}: KubeObject): ScheduleFacts {
  return {
    name: metadata.name,
    expression: textAt(spec, 'schedule') ?? '',
    isSuspended: at(spec, 'suspend') === true,
    startingDeadlineMs: durationMs(textAt(spec, 'startingDeadline') ?? DEADLINE),
    createdMs: timeOf(metadata.creationTimestamp) ?? 0,
    lastSuccessMs: timeOf(textAt(status, 'lastSuccessfulTime')),
  };
}

/** Where an API server without defaults let a schedule pass that says none. */
const DEADLINE = '15m';

export function backupFacts(object: KubeObject): BackupFacts {
  const {metadata, status} = object;
  return {
    name: metadata.name,
    schedule: labelOf(object, labels.schedule),
    phase: textAt(status, 'phase') ?? 'Pending',
    createdMs: timeOf(metadata.creationTimestamp) ?? 0,
    finishedAt: textAt(status, 'finishedAt'),
  };
}
