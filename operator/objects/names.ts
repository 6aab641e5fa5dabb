/**
 * Names of the objects of a cluster, the labels they carry, and the addresses of its members.
 *
 * A member is its ordinal: its pod, its claims, its host and its name in consensus follow from it,
 * and nothing else is ever used to find one from another.
 */
import {CLUSTER_DOMAIN, labels, ports} from '#operator/api/group.ts';
import type {ObjectMeta} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';

type Named = Pick<SvcCluster, 'metadata'>;

export const names = {
  statefulSet: ({metadata}: Named): string => metadata.name,
  disruptionBudget: ({metadata}: Named): string => metadata.name,
  networkPolicy: ({metadata}: Named): string => metadata.name,
  serviceAccount: ({metadata}: Named): string => metadata.name,
  headless: ({metadata}: Named): string => `${metadata.name}-headless`,
  rw: ({metadata}: Named): string => `${metadata.name}-rw`,
  ro: ({metadata}: Named): string => `${metadata.name}-ro`,
  config: ({metadata}: Named): string => `${metadata.name}-config`,
  root: ({metadata}: Named): string => `${metadata.name}-root`,
  token: ({metadata}: Named): string => `${metadata.name}-token`,
  /** Tokens as the servers read them: that of `token`, and others while it changes. */
  tokens: ({metadata}: Named): string => `${metadata.name}-tokens`,
  /** The same again, from which the one before is made anew when somebody deletes it. */
  tokensKept: ({metadata}: Named): string => `${metadata.name}-tokens-kept`,
  /** The authority of the certificates, and what the servers use of it. */
  authority: ({metadata}: Named): string => `${metadata.name}-ca`,
  certificate: ({metadata}: Named): string => `${metadata.name}-tls`,
  pod: ({metadata}: Named, ordinal: number): string => `${metadata.name}-${ordinal}`,
  /** Claims of a member, by the volume that they are. */
  claim: ({metadata}: Named, volume: Volume, ordinal: number): string =>
    `${volume}-${metadata.name}-${ordinal}`,
} as const;

export type Volume = 'data' | 'raft' | 'backups';

/** The number in `db-2` and in `data-db-2`; undefined for what is no member's. */
export function ordinalOf(cluster: Named, name: string, volume?: Volume): number | undefined {
  const prefix = `${volume === undefined ? '' : `${volume}-`}${cluster.metadata.name}-`;
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(?:0|[1-9]\d{0,2})$/.test(rest) ? Number(rest) : undefined;
}

/** `svc.ha.k8sSuffix`: what completes the name of a pod to its host. */
export function hostSuffix(cluster: Named): string {
  return `.${names.headless(cluster)}.${cluster.metadata.namespace}.svc.${CLUSTER_DOMAIN}`;
}

export function hostOf(cluster: Named, ordinal: number): string {
  return names.pod(cluster, ordinal) + hostSuffix(cluster);
}

/** `<host>_<raftPort>`, as the server calls itself. */
export function peerIdOf(cluster: SvcCluster, ordinal: number): string {
  return `${hostOf(cluster, ordinal)}_${cluster.spec.ha.raftPort}`;
}

/** The ordinal of a peer of this cluster; undefined for a stranger. */
export function ordinalOfPeer(cluster: SvcCluster, peerId: string): number | undefined {
  const end = `${hostSuffix(cluster)}_${cluster.spec.ha.raftPort}`;
  return peerId.endsWith(end) ? ordinalOf(cluster, peerId.slice(0, -end.length)) : undefined;
}

/** `host:raftPort:httpPort`, as a peer is added. */
export function peerAddressOf(cluster: SvcCluster, ordinal: number): string {
  return `${hostOf(cluster, ordinal)}:${cluster.spec.ha.raftPort}:${ports.http}`;
}

/** What tells the cluster's objects from all others. */
export function selectorLabels({metadata}: Named): Readonly<Record<string, string>> {
  return {
    [labels.name]: 'svc',
    [labels.instance]: metadata.name,
    [labels.component]: 'server',
    [labels.cluster]: metadata.name,
  };
}

export function allLabels(cluster: Named): Readonly<Record<string, string>> {
  return {...selectorLabels(cluster), [labels.partOf]: 'svc', [labels.managedBy]: 'svc-operator'};
}

/** Metadata of an object that goes with the cluster. */
export function ownedMeta(cluster: SvcCluster, name: string): ObjectMeta {
  const {apiVersion, kind} = ownerKind;
  const {name: owner, uid, namespace} = cluster.metadata;
  return {
    name,
    namespace,
    labels: allLabels(cluster),
    ownerReferences: [
      {apiVersion, kind, name: owner, uid, controller: true, blockOwnerDeletion: true},
    ],
  };
}

const ownerKind = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster'} as const;
