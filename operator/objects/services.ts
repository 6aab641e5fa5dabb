/**
 * The three Services of a cluster: names for its members, the way to the leader, and the way to
 * every member that is ready. Also whom its pods run as.
 */
import {labels, ports, roles} from '#operator/api/group.ts';
import type {JsonMap, KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {names, ownedMeta, selectorLabels} from './names.ts';
import {hasHttps} from './settings.ts';

function clientPorts(cluster: SvcCluster): readonly JsonMap[] {
  const names = hasHttps(cluster) ? (['http', 'https'] as const) : (['http'] as const);
  return names.map(name => ({name, port: ports[name], targetPort: name, protocol: 'TCP'}));
}

/** Members must find each other before any of them is ready. */
export function headlessService(cluster: SvcCluster): KubeObject {
  const {raftPort} = cluster.spec.ha;
  return service(cluster, names.headless(cluster), {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: selectorLabels(cluster),
    ports: [
      ...clientPorts(cluster),
      {name: 'raft', port: raftPort, targetPort: 'raft', protocol: 'TCP'},
    ],
  });
}

/** Selects by the label that the operator moves; what is not ready gets nothing. */
export function writeService(cluster: SvcCluster): KubeObject {
  const {type, ...more} = cluster.spec.services.rw;
  const selector = {...selectorLabels(cluster), [labels.role]: roles.leader};
  return service(cluster, names.rw(cluster), {type, selector, ports: clientPorts(cluster)}, more);
}

export function readService(cluster: SvcCluster): KubeObject {
  const {type, ...more} = cluster.spec.services.ro;
  const selector = selectorLabels(cluster);
  return service(cluster, names.ro(cluster), {type, selector, ports: clientPorts(cluster)}, more);
}

/** Pods need nothing of the API server. */
export function serviceAccount(cluster: SvcCluster): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: ownedMeta(cluster, names.serviceAccount(cluster)),
    automountServiceAccountToken: false,
  };
}

interface Wishes {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

function service(
  cluster: SvcCluster,
  name: string,
  spec: JsonMap,
  wishes: Wishes = {labels: {}, annotations: {}},
): KubeObject {
  const meta = ownedMeta(cluster, name);
  const annotations =
    Object.keys(wishes.annotations).length === 0 ? {} : {annotations: wishes.annotations};
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {...meta, labels: {...wishes.labels, ...meta.labels}, ...annotations},
    spec,
  };
}
