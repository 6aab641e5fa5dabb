/**
 * The informers of everything that belongs to clusters, and which cluster each object is about.
 *
 * Objects of clusters are watched by their label, so that of a large namespace only those are held.
 * A change of any of them puts the key of its cluster into the queue; what is gone goes first.
 */
import type {Clock, Random, Timers} from '#server/platform/clock.ts';
import type {Logger} from '#server/platform/logger.ts';
import {GROUP, labels} from '#operator/api/group.ts';
import {at, type KubeObject, labelOf, textAt} from '#operator/api/kube-object.ts';
import type {Key, Kind, KubeApi} from '#operator/kubernetes/api.ts';
import {Informer} from '#operator/kubernetes/informer.ts';
import type {Priority} from '#operator/kubernetes/key-queue.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';

export interface StoreOptions {
  readonly api: KubeApi;
  /** Undefined: all. */
  readonly namespaces: readonly string[] | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Pick<Random, 'u32'>;
  readonly logger: Logger;
  readonly onCluster: (key: Key, priority: Priority) => void;
  /** Called with the key of a SvcBackupSchedule or SvcBackup. */
  readonly onBackup: (kind: 'schedule' | 'backup', key: Key) => void;
}

/** The kinds that belong to a cluster: all of them are watched, and all are observed. */
export const owned: readonly Kind[] = [
  kinds.statefulSet,
  kinds.pod,
  kinds.claim,
  kinds.service,
  kinds.configMap,
  kinds.secret,
  kinds.serviceAccount,
  kinds.disruptionBudget,
  kinds.networkPolicy,
];

export class ClusterStore {
  readonly #options: StoreOptions;
  readonly #informers = new Map<string, Informer[]>();

  constructor(options: StoreOptions) {
    this.#options = options;
    for (const namespace of options.namespaces ?? [undefined]) {
      for (const kind of owned) {
        this.#watch(kind, namespace, labels.cluster, (now, before) => this.#wake(now, before));
      }
      this.#watch(kinds.cluster, namespace, undefined, (now, before) => {
        if (isWorthALook(now, before)) options.onCluster(keyOfObject(now ?? before), 'high');
      });
      for (const kind of ['schedule', 'backup'] as const) {
        this.#watch(kinds[kind], namespace, undefined, (now, before) => {
          if (isWorthALook(now, before)) options.onBackup(kind, keyOfObject(now ?? before));
          this.#wakeBackedUp(now, before);
        });
      }
    }
  }

  start(): void {
    for (const informer of this.informers()) informer.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.informers().map(informer => informer.stop()));
  }

  async whenSynced(): Promise<void> {
    await Promise.all(this.informers().map(informer => informer.whenSynced()));
  }

  get isSynced(): boolean {
    return this.informers().every(informer => informer.isSynced);
  }

  informers(): readonly Informer[] {
    return [...this.#informers.values()].flat();
  }

  get(kind: Kind, key: Key): KubeObject | undefined {
    for (const informer of this.#of(kind)) {
      const found = informer.get(key);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  all(kind: Kind): readonly KubeObject[] {
    return this.#of(kind).flatMap(informer => informer.all());
  }

  /** What belongs to a cluster, of one kind. */
  ofCluster(kind: Kind, {namespace = '', name}: KubeObject['metadata']): readonly KubeObject[] {
    return this.all(kind).filter(
      object => object.metadata.namespace === namespace && labelOf(object, labels.cluster) === name,
    );
  }

  /** Takes over what a write was answered with, before its event comes. */
  learn(kind: Kind, object: KubeObject): void {
    const informers = this.#of(kind);
    const {namespaces} = this.#options;
    const at = namespaces?.indexOf(object.metadata.namespace ?? '') ?? 0;
    informers[at]?.learn(object);
  }

  #of(kind: Kind): readonly Informer[] {
    return this.#informers.get(kind.kind) ?? [];
  }

  #watch(
    kind: Kind,
    namespace: string | undefined,
    labelSelector: string | undefined,
    onChange: (now: KubeObject | undefined, before: KubeObject | undefined) => void,
  ): void {
    const scope = {kind, namespace, labelSelector};
    const {api, clock, timers, random, logger} = this.#options;
    const informer = new Informer({api, scope, clock, timers, random, logger, onChange});
    this.#informers.set(kind.kind, [...this.#of(kind), informer]);
  }

  #wake(now: KubeObject | undefined, before: KubeObject | undefined): void {
    const object = now ?? before;
    const cluster = object && labelOf(object, labels.cluster);
    if (object === undefined || cluster === undefined) return;
    const isUrgent = now === undefined || now.metadata.deletionTimestamp !== undefined;
    this.#options.onCluster(`${object.metadata.namespace}/${cluster}`, isUrgent ? 'high' : 'low');
  }

  /** The cluster of a schedule or a backup says how its backups go. */
  #wakeBackedUp(now: KubeObject | undefined, before: KubeObject | undefined): void {
    const object = now ?? before;
    const cluster = object && textAt(object.spec, 'clusterRef', 'name');
    if (object === undefined || cluster === undefined || isEquallyHealthy(now, before)) return;
    this.#options.onCluster(`${object.metadata.namespace}/${cluster}`, 'low');
  }
}

/** Nothing changed that the condition BackupHealthy is made from. */
function isEquallyHealthy(now: KubeObject | undefined, before: KubeObject | undefined): boolean {
  if (now === undefined || before === undefined) return false;
  return (
    now.metadata.generation === before.metadata.generation &&
    textAt(now.status, 'phase') === textAt(before.status, 'phase') &&
    textAt(now.status, 'lastSuccessfulTime') === textAt(before.status, 'lastSuccessfulTime')
  );
}

function keyOfObject(object: KubeObject | undefined): Key {
  return `${object?.metadata.namespace ?? ''}/${object?.metadata.name ?? ''}`;
}

/** Not a write of our own to the status. */
function isWorthALook(now: KubeObject | undefined, before: KubeObject | undefined): boolean {
  if (now === undefined || before === undefined) return true;
  return (
    now.metadata.generation !== before.metadata.generation ||
    now.metadata.deletionTimestamp !== before.metadata.deletionTimestamp ||
    JSON.stringify(ownMarks(now)) !== JSON.stringify(ownMarks(before))
  );
}

function ownMarks(object: KubeObject): unknown {
  const marks = Object.entries(Object(at(object, 'metadata', 'annotations')));
  return marks.filter(([name]) => name.startsWith(`${GROUP}/`));
}
