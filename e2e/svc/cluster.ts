/**
 * A cluster of Svc in the lab, whoever made it: its pods, who leads, what may be done to them.
 *
 * A pod is told from the one that takes its place by its uid: names and, by chance, addresses are
 * the same.
 */
import {eventually, type Patience} from '../eventually.ts';
import type {Kubernetes, KubernetesObject} from '../lab/kubernetes.ts';
import {type ClusterStatus, ServerClient} from './server-client.ts';
import {labelsOf, ports} from './stateful-set.ts';

export type Pod = KubernetesObject & {
  readonly spec: {readonly nodeName?: string};
  readonly status: {
    readonly phase?: string;
    readonly podIP?: string;
    readonly conditions?: readonly {readonly type: string; readonly status: string}[];
    readonly containerStatuses?: readonly {readonly name: string; readonly restartCount: number}[];
  };
};

export interface ClusterNames {
  readonly name: string;
  readonly namespace: string;
  readonly replicas: number;
  readonly rootPassword: string;
}

const pods = {apiVersion: 'v1', kind: 'Pod'};

export class Cluster {
  readonly names: ClusterNames;
  readonly #kubernetes: Kubernetes;

  constructor(kubernetes: Kubernetes, names: ClusterNames) {
    this.#kubernetes = kubernetes;
    this.names = names;
  }

  /** A client of one service of the cluster, at the address that pods would be given. */
  async service(name: string): Promise<ServerClient> {
    const {namespace, rootPassword} = this.names;
    const reference = {apiVersion: 'v1', kind: 'Service', namespace, name};
    const {spec} = await this.#kubernetes.get<KubernetesObject & {spec: {clusterIP: string}}>(
      reference,
    );
    return new ServerClient(`${spec.clusterIP}:${ports.http}`, rootPassword);
  }

  /** The pods of the cluster in the order of their ordinals. */
  async pods(): Promise<readonly Pod[]> {
    const selector = Object.entries(labelsOf(this.names)).map(pair => pair.join('='));
    const {namespace} = this.names;
    const found = await this.#kubernetes.list<Pod>({...pods, namespace}, selector.join(','));
    return found.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  }

  pod(name: string): Promise<Pod> {
    return this.#kubernetes.get<Pod>({...pods, namespace: this.names.namespace, name});
  }

  client(pod: Pod): ServerClient {
    const {podIP} = pod.status;
    if (podIP === undefined) throw new Error(`${pod.metadata.name} has no address yet`);
    return new ServerClient(`${podIP}:${ports.http}`, this.names.rootPassword);
  }

  /** All are ready, all are voters, and one of them leads. */
  async untilWhole(patience: Patience = {seconds: 180}): Promise<readonly Pod[]> {
    return eventually(
      `${this.names.replicas} ready members`,
      async () => {
        const present = await this.pods();
        const ready = present.filter(isReady);
        if (present.length !== this.names.replicas || ready.length !== present.length) {
          throw new Error(`${ready.length} of ${present.length} pods are ready`);
        }
        // Of a node that has just come back the API server says what it was told before.
        const answers = await Promise.all(present.map(pod => this.client(pod).isReady()));
        const silent = answers.filter(answer => !answer).length;
        if (silent > 0) throw new Error(`${silent} ready pods do not say so themselves`);
        const leader = await this.leader();
        const {peers} = await this.client(leader).cluster();
        // One that left is listed still, until nobody has to know its address any more.
        const members = peers.filter(({inConfiguration}) => inConfiguration);
        const voters = members.filter(({isVoter}) => isVoter);
        if (members.length !== voters.length || voters.length !== this.names.replicas) {
          throw new Error(`${voters.length} of ${members.length} members vote`);
        }
        return present;
      },
      {everyMs: 500, ...patience},
    );
  }

  /** @throws {Error} while nobody leads. */
  async leader(): Promise<Pod> {
    const present = await this.pods();
    const said = await Promise.all(
      present.map(async pod => {
        const status = await this.#statusOf(pod);
        return {pod, status};
      }),
    );
    const leading = said
      .filter(({status}) => status?.isLeader === true && status.leaderReady)
      .toSorted((a, b) => (b.status?.currentTerm ?? 0) - (a.status?.currentTerm ?? 0));
    const [first] = leading;
    if (first === undefined) throw new Error('nobody leads');
    return first.pod;
  }

  /** Resolves when the pod is gone and another of its name is ready. Answers that one. */
  async replaced(pod: Pod, patience?: Patience): Promise<Pod> {
    const {name, uid} = pod.metadata;
    return eventually(
      `another ready pod ${name}`,
      async () => {
        const next = await this.pod(name);
        return next.metadata.uid !== uid && isReady(next) && next;
      },
      {everyMs: 100, ...patience},
    );
  }

  /** Deletes this very pod, not its successor. @param seconds - 0 kills it on the spot. */
  async delete(pod: Pod, seconds?: number): Promise<void> {
    const {name, namespace, uid} = pod.metadata;
    const reference = {...pods, name, namespace: namespace ?? this.names.namespace};
    const grace = seconds === undefined ? {} : {gracePeriodSeconds: seconds};
    await this.#kubernetes.remove(reference, {preconditions: {uid}, ...grace});
  }

  async #statusOf(pod: Pod): Promise<ClusterStatus | undefined> {
    if (pod.status.podIP === undefined || pod.metadata.deletionTimestamp) return undefined;
    const status = this.client(pod).ask('GET', 'cluster', undefined, {seconds: 2});
    return (await status.catch(() => undefined)) as ClusterStatus | undefined;
  }
}

export function isReady({status, metadata}: Pod): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  return (
    status.conditions?.some(({type, status: is}) => type === 'Ready' && is === 'True') ?? false
  );
}

/** How often a container of these pods ended and was started again. */
export function restartsOf(all: readonly Pod[]): number {
  const containers = all.flatMap(({status}) => status.containerStatuses ?? []);
  return containers.reduce((sum, {restartCount}) => sum + restartCount, 0);
}
