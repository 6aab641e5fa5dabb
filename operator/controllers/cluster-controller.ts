/**
 * The loop of SvcClusters: observe, decide, act, write the status.
 *
 * It keeps nothing between two passes but the uids of pods whose deletion was asked for and not
 * seen yet; losing them makes nothing worse, because the first look after a start is fresh.
 */
import type {Clock} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {canonicalJson, type KubeObject} from '#operator/api/kube-object.ts';
import type {ClusterStatus} from '#operator/api/cluster-status.ts';
import {carryOut} from '#operator/act/carry-out.ts';
import {Outdated} from '#operator/act/outdated.ts';
import type {CertificateMaker, RandomBytes} from '#operator/certificates/certificates.ts';
import {AdminError, type ServerAdmin} from '#operator/database/admin.ts';
import {decide} from '#operator/decide/decide.ts';
import type {Decision} from '#operator/decide/decision.ts';
import {ApiError, hasReason, type Key, type KubeApi} from '#operator/kubernetes/api.ts';
import type {EventRecorder} from '#operator/kubernetes/event-recorder.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import type {ClusterStore} from '#operator/observe/cluster-store.ts';
import {observeCluster} from '#operator/observe/observe-cluster.ts';
import {RunningRestores} from './running-restores.ts';

export interface ControllerOptions {
  readonly api: KubeApi;
  readonly store: ClusterStore;
  readonly admin: ServerAdmin;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly readsNodes: boolean;
  readonly assertLeading: () => void;
  readonly secretText: () => string;
  readonly certificates: CertificateMaker;
  readonly random: RandomBytes;
  /** Has a cluster looked at soon. */
  readonly wake: (key: Key) => void;
}

/** What a worker does with the key. */
export type Outcome =
  | {readonly kind: 'done'; readonly recheckMs: number}
  /** The object is gone. */
  | {readonly kind: 'gone'}
  | {readonly kind: 'failed'; readonly error: unknown};

const AGAIN_MS = 100;
/** The event of a deletion comes within a moment, or the watch has begun anew by then. */
const DELETION_MS = 60_000;

export class ClusterController {
  readonly #options: ControllerOptions;
  /** Uids with the time at which the deletion was asked for. */
  readonly #deletedPods = new Map<Key, Map<string, number>>();

  readonly #restores: RunningRestores;

  constructor(options: ControllerOptions) {
    this.#options = options;
    this.#restores = new RunningRestores(options);
  }

  async reconcile(key: Key): Promise<Outcome> {
    const {store} = this.#options;
    const object = store.get(kinds.cluster, key);
    if (object === undefined) {
      this.#deletedPods.delete(key);
      this.#restores.drop(key);
      return {kind: 'gone'};
    }
    // What belongs to it goes by its owner; claims stay or go by the set's own policy.
    if (object.metadata.deletionTimestamp !== undefined) return {kind: 'gone'};
    const deleted = this.#pendingDeletions(key, object);
    const memory = {deleted: new Set(deleted.keys()), restores: this.#restores.seen(key)};
    const {observation, password, token} = await observeCluster(object, memory, this.#options);
    const decision = decide(observation);
    const written = await this.#writeStatus(object, decision.status);
    this.#restores.forget(key, memory.restores);
    for (const told of decision.events) await this.#options.events.record(written, told);
    try {
      await carryOut(decision.actions, {
        ...this.#options,
        observation,
        password,
        token,
        onWritten: (kind, now) => store.learn(kind, now),
        beginRestore: order => this.#restores.begin(key, order),
        onPodDeleted: uid => void deleted.set(uid, this.#options.clock.monotonic()),
      });
    } catch (error) {
      return await this.#failed(written, decision, error);
    }
    return {kind: 'done', recheckMs: decision.recheckMs};
  }

  /**
   * The deletions of which no event came yet. One whose pod is gone from the store is forgotten,
   * and so is one of which nothing is heard for long: an answer may say more than was done.
   */
  #pendingDeletions(key: Key, object: KubeObject): Map<string, number> {
    const {store, clock} = this.#options;
    const deleted = this.#deletedPods.get(key) ?? new Map<string, number>();
    this.#deletedPods.set(key, deleted);
    const present = new Set(
      store.ofCluster(kinds.pod, object.metadata).map(pod => pod.metadata.uid),
    );
    for (const [uid, at] of deleted) {
      const isOld = clock.monotonic() - at > DELETION_MS;
      if (isOld || !present.has(uid)) deleted.delete(uid);
    }
    return deleted;
  }

  async #writeStatus(object: KubeObject, status: ClusterStatus): Promise<KubeObject> {
    const {api, store, assertLeading} = this.#options;
    if (canonicalJson(object.status) === canonicalJson(status)) return object;
    assertLeading();
    const {namespace = '', name, uid, resourceVersion} = object.metadata;
    const ref = {kind: kinds.cluster, namespace, name};
    const patch = {metadata: {uid, resourceVersion}, status: withoutOld(object.status, status)};
    const written = await api.patch(ref, patch, 'status');
    store.learn(kinds.cluster, written);
    return written;
  }

  async #failed(about: KubeObject, {recheckMs}: Decision, error: unknown): Promise<Outcome> {
    const {events, logger} = this.#options;
    if (error instanceof Outdated || hasReason(error, 'Conflict')) {
      return {kind: 'done', recheckMs: AGAIN_MS};
    }
    if (error instanceof ApiError && ['Forbidden', 'Invalid', 'Other'].includes(error.reason)) {
      await events.record(about, {reason: 'RequestRefused', message: error.message});
    }
    if (error instanceof AdminError) {
      const {namespace, name} = about.metadata;
      const {reason, message} = error;
      logger.log('info', 'server.refused', {cluster: `${namespace}/${name}`, reason, message});
      // It is so already, or not possible now: the next look tells.
      if (reason === 'conflict' || reason === 'silent' || reason === 'starting') {
        return {kind: 'done', recheckMs: Math.min(recheckMs, 2_000)};
      }
      await events.record(about, {reason: 'ServerRefused', message});
    }
    return {kind: 'failed', error};
  }
}

/** A merge patch takes a field away only where it says so. */
function withoutOld(before: unknown, status: ClusterStatus): Readonly<Record<string, unknown>> {
  const old = Object.keys(Object(before));
  const gone = old.filter(
    name => (status as Readonly<Record<string, unknown>>)[name] === undefined,
  );
  return {...status, ...Object.fromEntries(gone.map(name => [name, null]))};
}
