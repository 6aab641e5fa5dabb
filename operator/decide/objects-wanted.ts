/**
 * Which objects a cluster should have, and which of them have to be applied because they are
 * missing, were made from another spec, or were changed by somebody else.
 *
 * An object carries the hash of the text that was applied, so that a settled cluster causes no
 * write.
 */
import {annotations} from '#operator/api/group.ts';
import {
  annotationOf,
  at,
  canonicalJson,
  hashOf,
  type KubeObject,
} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {configMap} from '#operator/objects/configuration.ts';
import {CONFIG_FILE} from '#operator/objects/settings.ts';
import {disruptionBudget, networkPolicy} from '#operator/objects/protection.ts';
import {
  headlessService,
  readService,
  serviceAccount,
  writeService,
} from '#operator/objects/services.ts';
import type {Action} from './decision.ts';

/** All but the stateful set, in the order in which they are needed. */
export function supportingObjects(
  cluster: SvcCluster,
  initial: readonly number[],
  replicas: number,
  {isRecovered = false} = {},
): readonly KubeObject[] {
  return [
    serviceAccount(cluster),
    configMap(cluster, initial, {isRecovered}),
    headlessService(cluster),
    writeService(cluster),
    readService(cluster),
    disruptionBudget(cluster, replicas),
    networkPolicy(cluster),
  ].filter(object => object !== undefined);
}

export function idOf({kind, metadata}: Pick<KubeObject, 'kind' | 'metadata'>): string {
  return `${kind}/${metadata.name}`;
}

/** The object with the hash of itself. */
export function hashed(object: KubeObject): KubeObject {
  const {metadata} = object;
  const marks = {...metadata.annotations, [annotations.objectHash]: hashOf(object)};
  return {...object, metadata: {...metadata, annotations: marks}};
}

export function applications(
  wanted: readonly KubeObject[],
  live: ReadonlyMap<string, KubeObject>,
): readonly Action[] {
  return wanted
    .map(hashed)
    .filter(object => differs(object, live.get(idOf(object))))
    .map((object): Action => ({kind: 'apply', object}));
}

/** Budgets and policies that are there and no longer wanted: one would hold drains up for ever. */
export function deletions(
  wanted: readonly KubeObject[],
  live: ReadonlyMap<string, KubeObject>,
): readonly Action[] {
  const ids = new Set(wanted.map(idOf));
  return [...live]
    .filter(([id, {kind}]) => OPTIONAL.has(kind) && !ids.has(id))
    .filter(([, {metadata}]) => metadata.deletionTimestamp === undefined)
    .map(([, object]): Action => ({kind: 'delete-object', object}));
}

const OPTIONAL = new Set(['PodDisruptionBudget', 'NetworkPolicy']);

/** Parts that route or protect, and that a server returns as they were written. */
const HELD: Readonly<Record<string, readonly (readonly string[])[]>> = {
  Service: [
    ['spec', 'selector'],
    ['spec', 'publishNotReadyAddresses'],
  ],
  ConfigMap: [['data', CONFIG_FILE]],
  PodDisruptionBudget: [['spec', 'minAvailable']],
  NetworkPolicy: [['spec', 'podSelector']],
  StatefulSet: [['spec', 'replicas']],
};

function differs(wanted: KubeObject, live: KubeObject | undefined): boolean {
  if (live === undefined || live.metadata.deletionTimestamp !== undefined)
    return live === undefined;
  const hash = annotations.objectHash;
  if (annotationOf(wanted, hash) !== annotationOf(live, hash)) return true;
  const held = HELD[wanted.kind] ?? [];
  return held.some(path => canonicalJson(at(wanted, ...path)) !== canonicalJson(at(live, ...path)));
}
