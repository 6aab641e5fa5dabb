/** A store, an API over it, and virtual time, as most tests of this folder begin. */
import type {KubeObject} from '#operator/api/kube-object.ts';
import {
  InMemoryApi,
  type Interference,
  noInterference,
} from '#operator/simulation/fake-api/in-memory-api.ts';
import {ObjectStore} from '#operator/simulation/fake-api/object-store.ts';
import {SeededRandom} from '#operator/simulation/seeded-random.ts';
import {VirtualTime} from '#operator/simulation/virtual-time.ts';

export const silent = {log: (): void => {}};

export function world(interference: Partial<Interference> = {}) {
  const time = new VirtualTime();
  const store = new ObjectStore({now: () => time.stamp(), admit: object => object});
  const api = new InMemoryApi(store, {...noInterference, ...interference});
  const means = {clock: time, timers: time, random: new SeededRandom(1), logger: silent};
  return {time, store, api, means};
}

export function pod(name: string, more: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {apiVersion: 'v1', kind: 'Pod', metadata: {name, namespace: 'shop', ...more}, spec: {}};
}
