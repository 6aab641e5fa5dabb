/**
 * Whether a SvcCluster can be carried out: its fields, its rules, and the settings of the server
 * against the server's own table.
 *
 * What the spec was before is not kept anywhere; the parts of it that must not change or go back
 * are taken from the status, where they stand since they came into force.
 */
import {resolveSettings} from '#server/base/setting-values.ts';
import {type Checked, checkSpec} from './check.ts';
import {clusterRules} from './cluster-rules.ts';
import type {ClusterStatus} from './cluster-status.ts';
import {at, type KubeObject} from './kube-object.ts';
import {type ClusterSpec, clusterSpec, type SvcCluster} from './svc-cluster.ts';

const NAME_LENGTH_MAX = 40;

export interface CheckedCluster {
  readonly cluster: SvcCluster;
  /** Why the spec is not carried out; empty: it is. */
  readonly problems: readonly string[];
}

export function checkCluster(object: KubeObject): CheckedCluster {
  const status = object.status as ClusterStatus | undefined;
  const fields = checkSpec(clusterSpec, clusterRules, {value: object.spec ?? {}});
  const {metadata} = object;
  const cluster: SvcCluster = {
    metadata: {
      ...metadata,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid ?? '',
      generation: metadata.generation ?? 0,
    },
    spec: fields.value,
    status,
  };
  return {cluster, problems: problemsOf(cluster, fields)};
}

function problemsOf(cluster: SvcCluster, fields: Checked<ClusterSpec>): readonly string[] {
  const problems = [...fields.problems];
  if (cluster.metadata.name.length > NAME_LENGTH_MAX) {
    problems.push(
      `metadata.name: has more than ${NAME_LENGTH_MAX} characters: choose a shorter one`,
    );
  }
  if (problems.length > 0) return problems;
  const {spec, status} = cluster;
  const old = formerSpec(spec, status);
  for (const rule of clusterRules) {
    if (!rule.holds(spec, old)) problems.push(`${rule.path}: ${rule.message}`);
  }
  const {refused} = resolveSettings([{name: 'spec.settings', values: spec.settings}]);
  return [...problems, ...refused.map(({message}) => `spec.settings: ${message}`)];
}

/** The spec as far as the status remembers it; undefined for a cluster that has not begun. */
function formerSpec(spec: ClusterSpec, status: ClusterStatus | undefined): ClusterSpec | undefined {
  if (status?.initialMembers === undefined) return undefined;
  const size = status.storage?.lastGood ?? spec.storage.size;
  const raftPort = Number(/_([0-9]+)$/.exec(status.initialMembers[0] ?? '')?.[1]);
  return {
    ...spec,
    version: status.version ?? spec.version,
    clusterName:
      status.clusterName === undefined || status.clusterName === nameOf(spec, status.clusterName)
        ? spec.clusterName
        : status.clusterName,
    storage: {...spec.storage, size},
    ha: {...spec.ha, raftPort: Number.isNaN(raftPort) ? spec.ha.raftPort : raftPort},
  };
}

function nameOf(spec: ClusterSpec, otherwise: string): string {
  return spec.clusterName ?? otherwise;
}

/** The generation of the spec that a status speaks of. */
export function observedGeneration(object: KubeObject): number | undefined {
  const value = at(object.status, 'observedGeneration');
  return typeof value === 'number' ? value : undefined;
}
