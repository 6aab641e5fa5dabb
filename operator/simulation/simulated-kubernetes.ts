/**
 * The rest of a simulated Kubernetes: the controller of stateful sets, the scheduler, the kubelets
 * and the volumes, as far as an operator sees them.
 *
 * They work on the store directly, so that faults between the operator and its API server do not
 * touch them. What goes wrong with pods follows from what they are made of: an image with `bad` in
 * its name is never pulled, one with `crash` ends at once, and a node selector is never fulfilled.
 */
import {labels} from '#operator/api/group.ts';
import {checkCluster} from '#operator/api/cluster-check.ts';
import {
  at,
  type JsonMap,
  type KubeObject,
  listAt,
  numberAt,
  textAt,
} from '#operator/api/kube-object.ts';
import type {SvcCluster} from '#operator/api/svc-cluster.ts';
import {ApiError, type Kind, keyOf} from '#operator/kubernetes/api.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {CONFIG_FILE} from '#operator/objects/settings.ts';
import {names, peerIdOf} from '#operator/objects/names.ts';
import {TOKENS_KEY, tokensIn} from '#operator/objects/tokens.ts';
import {textOfSecret} from '#operator/kubernetes/secret-text.ts';
import {ObjectStore} from './fake-api/object-store.ts';
import type {SeededRandom} from './seeded-random.ts';
import type {SimulatedServers} from './simulated-servers.ts';
import type {VirtualTime} from './virtual-time.ts';

interface PodLife {
  readonly startsAtMs: number;
  readonly stopsAtMs?: number;
  /** The server that it started, by its name in consensus. */
  readonly peerId?: string;
}

const TICK_MS = 500;

export class SimulatedKubernetes {
  readonly store: ObjectStore;
  readonly #time: VirtualTime;
  readonly #random: SeededRandom;
  readonly #servers: SimulatedServers;
  readonly #lives = new Map<string, PodLife>();
  #isEnded = false;
  /** Whether the API server knows the rules in CEL. */
  checksRules = true;

  constructor(parts: {
    readonly time: VirtualTime;
    readonly random: SeededRandom;
    readonly servers: SimulatedServers;
  }) {
    this.#time = parts.time;
    this.#random = parts.random;
    this.#servers = parts.servers;
    this.store = new ObjectStore({
      now: () => this.#time.stamp(),
      admit: (object, old) => this.#admitted(object, old),
    });
    this.#tick();
  }

  end(): void {
    this.#isEnded = true;
  }

  /** The process dies and the pod with it, as when a node is lost and its pods are collected. */
  killPod(name: string, namespace: string): void {
    const pod = this.store.find({kind: kinds.pod, namespace, name});
    if (pod === undefined) return;
    this.#stopServer(pod, true);
    this.#lives.delete(pod.metadata.uid ?? '');
    this.store.remove({kind: kinds.pod, namespace, name});
  }

  #admitted(object: KubeObject, old: KubeObject | undefined): KubeObject {
    if (object.kind === 'Secret') return secretData(object);
    if (object.kind === 'StatefulSet') return this.#admittedSet(object, old);
    if (object.kind !== 'SvcCluster' || object.spec === old?.spec) return object;
    const {cluster, problems} = checkCluster(object);
    if (problems.length > 0 && this.checksRules) {
      throw new ApiError(422, 'Invalid', problems.join('; '));
    }
    return problems.length > 0 ? object : {...object, spec: cluster.spec as unknown as JsonMap};
  }

  #admittedSet(object: KubeObject, old: KubeObject | undefined): KubeObject {
    const claims = (set: KubeObject | undefined): string =>
      JSON.stringify(at(set, 'spec', 'volumeClaimTemplates'));
    if (old !== undefined && claims(old) !== claims(object)) {
      throw new ApiError(422, 'Invalid', 'updates to volumeClaimTemplates are forbidden');
    }
    return object;
  }

  #tick(): void {
    if (this.#isEnded) return;
    for (const set of this.#all(kinds.statefulSet)) this.#runSet(set);
    for (const pod of this.#all(kinds.pod)) this.#runPod(pod);
    for (const claim of this.#all(kinds.claim)) this.#runClaim(claim);
    this.#servers.tick();
    this.#time.after(TICK_MS, () => this.#tick());
  }

  #all(kind: Kind): readonly KubeObject[] {
    return this.store.list({kind, namespace: undefined, labelSelector: undefined});
  }

  #runSet(set: KubeObject): void {
    const {namespace = '', name} = set.metadata;
    const replicas = numberAt(set, 'spec', 'replicas') ?? 0;
    for (let ordinal = 0; ordinal < replicas; ordinal++) {
      const pod = `${name}-${ordinal}`;
      if (this.store.find({kind: kinds.pod, namespace, name: pod}) !== undefined) continue;
      if (!this.#hasClaims(set, ordinal)) continue;
      const template = at(set, 'spec', 'template');
      const metadata = Object(at(template, 'metadata')) as JsonMap;
      this.store.create(kinds.pod, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: {...metadata, name: pod, namespace},
        spec: Object(at(template, 'spec')) as JsonMap,
      });
    }
    for (const pod of this.#all(kinds.pod)) {
      const ordinal = Number(/-(\d+)$/.exec(pod.metadata.name)?.[1]);
      const isOwn =
        pod.metadata.namespace === namespace && pod.metadata.name === `${name}-${ordinal}`;
      if (isOwn) this.#adopt(pod, set);
      if (!isOwn || ordinal < replicas || pod.metadata.deletionTimestamp !== undefined) continue;
      this.store.delete({kind: kinds.pod, namespace, name: pod.metadata.name}, {});
    }
  }

  /** A set that was made anew around its pods owns them. */
  #adopt({metadata}: KubeObject, {apiVersion, kind, metadata: {name, uid = ''}}: KubeObject): void {
    if (metadata.ownerReferences?.some(owner => owner.uid === uid) === true) return;
    const ref = {kind: kinds.pod, namespace: metadata.namespace ?? '', name: metadata.name};
    const ownerReferences = [{apiVersion, kind, name, uid, controller: true}];
    this.store.patch(ref, {metadata: {ownerReferences}});
  }

  /** Makes the claims that are missing; false while one of them is being deleted. */
  #hasClaims(set: KubeObject, ordinal: number): boolean {
    const {namespace = '', name} = set.metadata;
    let isWhole = true;
    for (const template of listAt(set, 'spec', 'volumeClaimTemplates')) {
      const claim = `${textAt(template, 'metadata', 'name')}-${name}-${ordinal}`;
      const found = this.store.find({kind: kinds.claim, namespace, name: claim});
      if (found?.metadata.deletionTimestamp !== undefined) isWhole = false;
      if (found !== undefined) continue;
      this.store.create(kinds.claim, {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: {
          ...(Object(at(template, 'metadata')) as JsonMap),
          name: claim,
          namespace,
          finalizers: ['kubernetes.io/pvc-protection'],
        },
        spec: Object(at(template, 'spec')) as JsonMap,
      });
    }
    return isWhole;
  }

  #runClaim(claim: KubeObject): void {
    const {namespace = '', name, deletionTimestamp} = claim.metadata;
    const ref = {kind: kinds.claim, namespace, name};
    if (deletionTimestamp !== undefined) {
      const pod = name.replace(/^[a-z]+-/, '');
      const isUsed = this.store.find({kind: kinds.pod, namespace, name: pod}) !== undefined;
      if (!isUsed) this.store.remove(ref);
      return;
    }
    const wanted = textAt(claim, 'spec', 'resources', 'requests', 'storage');
    if (textAt(claim, 'status', 'capacity', 'storage') === wanted) return;
    this.store.patch(ref, {status: {phase: 'Bound', capacity: {storage: wanted}}}, 'status');
  }

  #runPod(pod: KubeObject): void {
    const {uid = '', namespace = '', name, deletionTimestamp} = pod.metadata;
    const now = this.#time.monotonic();
    const life = this.#lives.get(uid) ?? {startsAtMs: now + 500 + this.#random.below(3_000)};
    this.#lives.set(uid, life);
    if (deletionTimestamp !== undefined) {
      if (life.stopsAtMs === undefined) {
        this.#stopServer(pod, false);
        this.#lives.set(uid, {...life, stopsAtMs: now + 500 + this.#random.below(1_500)});
      } else if (life.stopsAtMs <= now) {
        this.#lives.delete(uid);
        this.store.remove({kind: kinds.pod, namespace, name});
      }
      return;
    }
    if (life.peerId === undefined && life.startsAtMs <= now && troubleOf(pod) === undefined) {
      const peerId = this.#startServer(pod);
      if (peerId !== undefined) this.#lives.set(uid, {...life, peerId});
    }
    this.#tellStatus(pod, life);
  }

  #tellStatus(pod: KubeObject, {peerId, startsAtMs}: PodLife): void {
    const {namespace = '', name} = pod.metadata;
    const isStarted = peerId !== undefined;
    const trouble = this.#time.monotonic() >= startsAtMs ? troubleOf(pod) : undefined;
    const isReady = isStarted && this.#servers.isReady(peerId);
    const before = listAt(pod, 'status', 'conditions').find(one => textAt(one, 'type') === 'Ready');
    const ready = isReady ? 'True' : 'False';
    const status = {
      phase: isStarted ? 'Running' : 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: trouble?.reason === 'Unschedulable' ? 'False' : 'True',
          ...(trouble?.reason === 'Unschedulable' ? {reason: 'Unschedulable'} : {}),
        },
        {
          type: 'Ready',
          status: ready,
          lastTransitionTime:
            textAt(before, 'status') === ready
              ? textAt(before, 'lastTransitionTime')
              : this.#time.stamp(),
        },
      ],
      containerStatuses: [
        {
          name: 'server',
          restartCount: trouble?.reason === 'CrashLoopBackOff' ? 3 : 0,
          state: isStarted
            ? {running: {}}
            : {waiting: {reason: trouble?.reason ?? 'ContainerCreating'}},
        },
      ],
    };
    if (JSON.stringify(status) === JSON.stringify(pod.status)) return;
    this.store.patch({kind: kinds.pod, namespace, name}, {status}, 'status');
  }

  /** @returns Its name; undefined while something that it needs is not there. */
  #startServer(pod: KubeObject): string | undefined {
    const {namespace = '', name} = pod.metadata;
    const peerId = this.#peerOf(pod);
    const claim = this.store.find({kind: kinds.claim, namespace, name: `data-${name}`});
    const cluster = this.#clusterOf(pod);
    if (peerId === undefined || claim?.metadata.uid === undefined || cluster === undefined) {
      return undefined;
    }
    const secret = (secretName: string, key: string): string => {
      const found = this.store.find({kind: kinds.secret, namespace, name: secretName});
      return (found && textOfSecret(found, key)) ?? '';
    };
    const tokens = tokensIn(secret(names.tokens(cluster), TOKENS_KEY));
    const password = secret(names.root(cluster), 'password');
    const config = this.store.find({
      kind: kinds.configMap,
      namespace,
      name: names.config(cluster),
    });
    // The kubelet waits for what it is to mount.
    if (tokens.length === 0 || password === '' || config === undefined) return undefined;
    const told = JSON.parse(config.data?.[CONFIG_FILE] ?? '{}') as {
      readonly configuration?: Readonly<Record<string, string>>;
    };
    const list = (told.configuration?.['svc.ha.serverList'] ?? '').split(',');
    const initial = list.map(entry => {
      const [host = '', raft = ''] = entry.split(':');
      return `${host}_${raft}`;
    });
    const clusterName = told.configuration?.['svc.ha.clusterName'] ?? '';
    this.#servers.declare(keyOf(cluster.metadata), clusterName, initial);
    const volumes = listAt(pod, 'spec', 'volumes');
    const archives = volumes.find(volume => textAt(volume, 'name') === 'archives');
    const archiveClaim = textAt(archives, 'persistentVolumeClaim', 'claimName');
    this.#servers.start(peerId, {
      claimUid: claim.metadata.uid,
      archiveClaim,
      tokens,
      password,
    });
    return peerId;
  }

  #stopServer(pod: KubeObject, isKilled: boolean): void {
    const peerId = this.#lives.get(pod.metadata.uid ?? '')?.peerId;
    if (peerId !== undefined) this.#servers.stop(peerId, isKilled);
  }

  #peerOf(pod: KubeObject): string | undefined {
    const cluster = this.#clusterOf(pod);
    const ordinal = Number(/-(\d+)$/.exec(pod.metadata.name)?.[1]);
    return cluster && peerIdOf(cluster, ordinal);
  }

  /** The answers for objects that did not change. */
  readonly #checked = new WeakMap<KubeObject, SvcCluster>();

  #clusterOf({metadata}: KubeObject): SvcCluster | undefined {
    const name = metadata.labels?.[labels.cluster] ?? '';
    const {namespace = ''} = metadata;
    const object = this.store.find({kind: kinds.cluster, namespace, name});
    if (object === undefined) return undefined;
    const known = this.#checked.get(object) ?? checkCluster(object).cluster;
    this.#checked.set(object, known);
    return known;
  }
}

interface Trouble {
  readonly reason: string;
}

function troubleOf(pod: KubeObject): Trouble | undefined {
  const [container] = listAt(pod, 'spec', 'containers');
  const image = textAt(container, 'image') ?? '';
  if (at(pod, 'spec', 'nodeSelector') !== undefined) return {reason: 'Unschedulable'};
  if (image.includes('bad')) return {reason: 'ImagePullBackOff'};
  if (image.includes('crash')) return {reason: 'CrashLoopBackOff'};
  return undefined;
}

/** What the API server stores of what was written as text. */
function secretData(object: KubeObject): KubeObject {
  const {stringData, ...rest} = object;
  if (stringData === undefined) return object;
  const entries = Object.entries(stringData as Readonly<Record<string, string>>);
  const encoded = entries.map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return {...(rest as KubeObject), data: {...object.data, ...Object.fromEntries(encoded)}};
}
