/** What a cluster has before anybody uses it: the service of its DNS, rights, storage classes. */
import type {KubernetesObject} from './kubernetes.ts';
import {addresses} from './layout.ts';
import {provisioner, storageClass} from './storage.ts';

const rights = 'rbac.authorization.k8s.io';
const dnsPorts = [
  {name: 'dns', port: 53, protocol: 'UDP'},
  {name: 'dns-tcp', port: 53, protocol: 'TCP'},
];

export const baseObjects: readonly KubernetesObject[] = [
  {
    apiVersion: `${rights}/v1`,
    kind: 'ClusterRole',
    metadata: {name: 'lab:coredns'},
    rules: [
      {
        apiGroups: [''],
        resources: ['endpoints', 'services', 'pods', 'namespaces'],
        verbs: ['list', 'watch'],
      },
      {apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['list', 'watch']},
    ],
  },
  {
    apiVersion: `${rights}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: {name: 'lab:coredns'},
    roleRef: {apiGroup: rights, kind: 'ClusterRole', name: 'lab:coredns'},
    subjects: [{kind: 'User', apiGroup: rights, name: 'system:coredns'}],
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {name: 'kube-dns', namespace: 'kube-system'},
    spec: {clusterIP: addresses.dnsService, ports: dnsPorts},
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: 'kube-dns-lab',
      namespace: 'kube-system',
      labels: {'kubernetes.io/service-name': 'kube-dns'},
    },
    addressType: 'IPv4',
    ports: dnsPorts,
    endpoints: [{addresses: [addresses.control], conditions: {ready: true}}],
  },
  {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: {
      name: storageClass,
      annotations: {'storageclass.kubernetes.io/is-default-class': 'true'},
    },
    provisioner,
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
    reclaimPolicy: 'Delete',
  },
];
