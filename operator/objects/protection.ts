/**
 * What others may not do to a cluster: evict so many members that it stops, or connect to the port
 * that is for members.
 */
import {ports} from '#operator/api/group.ts';
import type {KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {names, ownedMeta, selectorLabels} from './names.ts';
import {hasHttps} from './settings.ts';

/** The majority of so many voters. */
export function quorumOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/**
 * Lets as many members be away as the quorum allows; undefined for a cluster of one, which could
 * never be drained. Pods that are not ready may always go: they hold nothing up.
 */
export function disruptionBudget(cluster: SvcCluster, replicas: number): KubeObject | undefined {
  if (!cluster.spec.pdb.enabled || replicas < 2) return undefined;
  const isAll = cluster.spec.ha.quorum === 'all';
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: ownedMeta(cluster, names.disruptionBudget(cluster)),
    spec: {
      // With quorum `all` writes stop with the first member that is away, and members still vote by
      // majority; a drain must be possible all the same.
      minAvailable: isAll ? replicas - 1 : quorumOf(replicas),
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: {matchLabels: selectorLabels(cluster)},
    },
  };
}

/** Members among themselves on the port of consensus; everybody on that of clients. */
export function networkPolicy(cluster: SvcCluster): KubeObject | undefined {
  if (!cluster.spec.networkPolicy.enabled) return undefined;
  const podSelector = {matchLabels: selectorLabels(cluster)};
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: ownedMeta(cluster, names.networkPolicy(cluster)),
    spec: {
      podSelector,
      policyTypes: ['Ingress'],
      ingress: [
        {
          from: [{podSelector}],
          ports: [{port: cluster.spec.ha.raftPort, protocol: 'TCP'}],
        },
        {
          ports: [
            {port: ports.http, protocol: 'TCP'},
            ...(hasHttps(cluster) ? [{port: ports.https, protocol: 'TCP'}] : []),
          ],
        },
      ],
    },
  };
}
