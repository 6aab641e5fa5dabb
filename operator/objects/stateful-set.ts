/**
 * The stateful set of a cluster: it gives pods and claims their names and brings back pods that
 * vanish. When a pod is replaced is the operator's decision (OnDelete), and so is how many there
 * are.
 */
import {labels} from '#operator/api/group.ts';
import type {JsonMap, KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {allLabels, names, ownedMeta, selectorLabels, type Volume} from './names.ts';
import type {PodTemplate} from './pod-template.ts';

export function statefulSet(
  cluster: SvcCluster,
  {template}: PodTemplate,
  replicas: number,
): KubeObject {
  const {whenDeleted} = cluster.spec.storage.retention;
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: ownedMeta(cluster, names.statefulSet(cluster)),
    spec: {
      serviceName: names.headless(cluster),
      replicas,
      // Members start together and wait for each other; nothing orders them.
      podManagementPolicy: 'Parallel',
      updateStrategy: {type: 'OnDelete'},
      // A claim of a member that was scaled away is deleted by the operator, once nobody counts on
      // the member any more.
      persistentVolumeClaimRetentionPolicy: {whenDeleted, whenScaled: 'Retain'},
      revisionHistoryLimit: 3,
      selector: {matchLabels: selectorLabels(cluster)},
      template,
      volumeClaimTemplates: claimTemplates(cluster),
    },
  };
}

export interface ClaimRequest {
  readonly volume: Volume;
  readonly size: string;
  readonly storageClass: string | undefined;
  readonly accessMode: string;
}

/** The claims that each member has. */
export function claimsOf({spec: {storage, backups}}: SvcCluster): readonly ClaimRequest[] {
  const {storageClass, raft} = storage;
  const own = {storageClass, accessMode: 'ReadWriteOnce'};
  const {size, ...archive} = backups.volume ?? {size: undefined};
  return [
    {volume: 'data', size: storage.size, ...own},
    ...(raft.size === undefined ? [] : [{volume: 'raft' as const, size: raft.size, ...own}]),
    ...(size === undefined || !('accessMode' in archive)
      ? []
      : [
          {
            volume: 'backups' as const,
            size,
            storageClass: archive.storageClass,
            accessMode: archive.accessMode,
          },
        ]),
  ];
}

function claimTemplates(cluster: SvcCluster): readonly JsonMap[] {
  const raftPort = String(cluster.spec.ha.raftPort);
  return claimsOf(cluster).map(({volume, size, storageClass, accessMode}) => ({
    metadata: {name: volume, labels: {...allLabels(cluster), [labels.raftPort]: raftPort}},
    spec: {
      accessModes: [accessMode],
      resources: {requests: {storage: size}},
      ...(storageClass === undefined ? {} : {storageClassName: storageClass}),
    },
  }));
}
