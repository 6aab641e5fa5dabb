/** The kinds of objects that the operator reads or writes. */
import {API_VERSION, resourceKinds} from '#operator/api/group.ts';
import type {Kind} from './api.ts';

function core(kind: string, plural: string): Kind {
  return {apiVersion: 'v1', kind, plural, isNamespaced: true};
}

function own({kind, plural}: {readonly kind: string; readonly plural: string}): Kind {
  return {apiVersion: API_VERSION, kind, plural, isNamespaced: true};
}

function named(apiVersion: string, kind: string, plural: string): Kind {
  return {apiVersion, kind, plural, isNamespaced: true};
}

export const kinds = {
  cluster: own(resourceKinds.cluster),
  schedule: own(resourceKinds.schedule),
  backup: own(resourceKinds.backup),
  pod: core('Pod', 'pods'),
  service: core('Service', 'services'),
  secret: core('Secret', 'secrets'),
  configMap: core('ConfigMap', 'configmaps'),
  claim: core('PersistentVolumeClaim', 'persistentvolumeclaims'),
  serviceAccount: core('ServiceAccount', 'serviceaccounts'),
  event: core('Event', 'events'),
  node: {apiVersion: 'v1', kind: 'Node', plural: 'nodes', isNamespaced: false},
  statefulSet: named('apps/v1', 'StatefulSet', 'statefulsets'),
  disruptionBudget: named('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  networkPolicy: named('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  lease: named('coordination.k8s.io/v1', 'Lease', 'leases'),
} as const satisfies Record<string, Kind>;

/** The kind of an object that the operator makes. */
export function kindOf({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): Kind {
  const found = Object.values(kinds).find(
    one => one.kind === kind && one.apiVersion === apiVersion,
  );
  if (found === undefined) throw new Error(`the operator makes no ${kind} of ${apiVersion}`);
  return found;
}
