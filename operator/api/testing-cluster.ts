/** A SvcCluster as a person would write it, with what a test changes of it. */
import type {JsonMap, KubeObject} from './kube-object.ts';
import {API_VERSION} from './group.ts';

export function clusterObject(spec: JsonMap = {}, more: Partial<KubeObject> = {}): KubeObject {
  return {
    apiVersion: API_VERSION,
    kind: 'SvcCluster',
    spec: {version: '26.11.1', storage: {size: '10Gi'}, ...spec},
    ...more,
    metadata: {name: 'db', namespace: 'shop', uid: 'uid-db', generation: 1, ...more.metadata},
  };
}
