/**
 * What the operator may do, as rules of RBAC: the same for a Role in each namespace and for the
 * ClusterRole, from which the chart and the kustomize base are written. A test holds them against
 * the kinds and verbs that the operator uses.
 */

export interface AccessRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const reads = ['get', 'list', 'watch'] as const;

/** Rights that the operator needs in every namespace that it looks after. */
export const accessRules: readonly AccessRule[] = [
  {
    apiGroups: ['svc.io'],
    resources: ['svcclusters', 'svcbackupschedules'],
    verbs: reads,
  },
  {apiGroups: ['svc.io'], resources: ['svcbackups'], verbs: [...reads, 'create', 'delete']},
  {
    apiGroups: ['svc.io'],
    resources: ['svcclusters/status', 'svcbackupschedules/status', 'svcbackups/status'],
    verbs: ['get', 'patch', 'update'],
  },
  {
    // Owner references that block a deletion need it where that admission is on.
    apiGroups: ['svc.io'],
    resources: ['svcclusters/finalizers', 'svcbackupschedules/finalizers'],
    verbs: ['update'],
  },
  {apiGroups: [''], resources: ['pods'], verbs: [...reads, 'patch', 'delete']},
  {apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: [...reads, 'patch', 'delete']},
  {
    apiGroups: [''],
    resources: ['services', 'configmaps', 'serviceaccounts'],
    verbs: [...reads, 'create', 'patch'],
  },
  // Updates: the Secret that the operator made for the tokens.
  {apiGroups: [''], resources: ['secrets'], verbs: [...reads, 'create', 'update']},
  {apiGroups: [''], resources: ['events'], verbs: ['get', 'create', 'patch']},
  {
    apiGroups: ['apps'],
    resources: ['statefulsets'],
    verbs: [...reads, 'create', 'patch', 'delete'],
  },
  {
    apiGroups: ['policy'],
    resources: ['poddisruptionbudgets'],
    verbs: [...reads, 'create', 'patch', 'delete'],
  },
  {
    apiGroups: ['networking.k8s.io'],
    resources: ['networkpolicies'],
    verbs: [...reads, 'create', 'patch', 'delete'],
  },
];

/** Rights that the operator needs in its own namespace. */
export const leaseRules: readonly AccessRule[] = [
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    verbs: ['get', 'create', 'update'],
  },
];

/** Rules that only a ClusterRole can have: whether a node is gone. */
export const nodeRules: readonly AccessRule[] = [
  {apiGroups: [''], resources: ['nodes'], verbs: ['get']},
];
