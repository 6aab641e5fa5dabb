/**
 * What the servers read: the settings as a file in a ConfigMap, and the two Secrets, which are made
 * once with values of chance and never changed by the operator.
 */
import type {KubeObject} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {names, ownedMeta} from './names.ts';
import {CONFIG_FILE, settingsOf} from './settings.ts';

/** Ordinals of those who began the cluster, on the ConfigMap: a status can be lost. */
export const INITIAL_ANNOTATION = 'svc.io/initial-members';

/** `true` on the ConfigMap: what `bootstrap.recovery` says is done, and means nothing any more. */
const RECOVERED_ANNOTATION = 'svc.io/recovered';

export function configMap(
  cluster: SvcCluster,
  initial: readonly number[],
  {isRecovered = false} = {},
): KubeObject {
  const configuration = settingsOf(cluster, initial);
  const meta = ownedMeta(cluster, names.config(cluster));
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      ...meta,
      annotations: {
        [INITIAL_ANNOTATION]: initial.join(','),
        ...(isRecovered ? {[RECOVERED_ANNOTATION]: 'true'} : {}),
      },
    },
    data: {[CONFIG_FILE]: `${JSON.stringify({configuration}, undefined, 2)}\n`},
  };
}

export function isRecoveredIn(configMapObject: KubeObject | undefined): boolean {
  return configMapObject?.metadata.annotations?.[RECOVERED_ANNOTATION] === 'true';
}

/** Undefined for what is no list of ordinals. */
export function initialMembersIn(object: KubeObject | undefined): readonly number[] | undefined {
  const text = object?.metadata.annotations?.[INITIAL_ANNOTATION] ?? '';
  return /^\d(,\d)*$/.test(text) ? text.split(',').map(Number) : undefined;
}

/** @param value - Text of chance, in letters and digits. */
export function generatedSecret(
  cluster: SvcCluster,
  which: 'root' | 'token',
  value: string,
): KubeObject {
  const key = which === 'root' ? 'password' : 'token';
  const {ownerReferences, ...meta} = ownedMeta(cluster, names[which](cluster));
  // Whoever keeps the volumes needs the password that they were written under.
  const isKept = cluster.spec.storage.retention.whenDeleted === 'Retain';
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {...meta, ...(isKept || ownerReferences === undefined ? {} : {ownerReferences})},
    stringData: {[key]: value},
  };
}
