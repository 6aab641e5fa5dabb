/**
 * Whether a SvcCluster can be carried out: its fields, its rules, and the settings of the server
 * against the server's own table.
 *
 * What the spec was before is not kept anywhere; the parts of it that must not change or go back
 * are taken from the status, where they stand since they came into force.
 */
import {resolveSettings} from '#server/base/setting-values.ts';
import {check, type Checked, checkSpec} from './check.ts';
import {clusterRules} from './cluster-rules.ts';
import type {ClusterStatus} from './cluster-status.ts';
import type {KubeObject} from './kube-object.ts';
import {type ClusterSpec, clusterSpec, type SvcCluster} from './svc-cluster.ts';

const NAME_LENGTH_MAX = 40;

export interface CheckedCluster {
  readonly cluster: SvcCluster;
  /** Why the spec is not carried out; empty: it is. */
  readonly problems: readonly string[];
}

/** @param portKept - The port in the names of the members whose volumes are there. */
export function checkCluster(object: KubeObject, portKept?: number): CheckedCluster {
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
  const problems = [...problemsOf(cluster, fields), ...portProblems(cluster, portKept)];
  if (problems.length === 0) return {cluster, problems};
  return {cluster: {...cluster, spec: standIn(status, portKept)}, problems};
}

/**
 * Stands in for a spec that cannot be used: it says who the members are, as far as the status knows
 * it, so that they can be told from others. Nothing of it is carried out.
 */
function standIn(status: ClusterStatus | undefined, portKept: number | undefined): ClusterSpec {
  const raftPort = raftPortIn(status) ?? portKept;
  return check(
    clusterSpec,
    {
      version: status?.targetVersion ?? '0.0.0',
      clusterName: status?.clusterName,
      storage: {size: status?.storage?.lastGood ?? '0'},
      ha: {raftPort},
    },
    'spec',
  ).value;
}

/** A cluster that is applied again finds its members by their names, or not at all. */
function portProblems({spec, status}: SvcCluster, portKept: number | undefined): readonly string[] {
  const isOther = portKept !== undefined && portKept !== spec.ha.raftPort;
  if (!isOther || status?.initialMembers !== undefined) return [];
  return [
    'spec.ha.raftPort: the volumes of a former cluster of this name are there, and its members ' +
      `have ${portKept} in their names: delete it and apply it with that port, or delete ` +
      'the volumes',
  ];
}

function raftPortIn(status: ClusterStatus | undefined): number | undefined {
  const port = Number(/_([0-9]+)$/.exec(status?.initialMembers?.[0] ?? '')?.[1]);
  return Number.isNaN(port) ? undefined : port;
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
  return {
    ...spec,
    version: status.version ?? spec.version,
    clusterName:
      status.clusterName === undefined || status.clusterName === nameOf(spec, status.clusterName)
        ? spec.clusterName
        : status.clusterName,
    storage: {...spec.storage, size},
    ha: {...spec.ha, raftPort: raftPortIn(status) ?? spec.ha.raftPort},
  };
}

function nameOf(spec: ClusterSpec, otherwise: string): string {
  return spec.clusterName ?? otherwise;
}
