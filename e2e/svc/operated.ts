/**
 * A cluster under the operator: applied, changed and looked at as a person does it with kubectl.
 *
 * Members and clients are those of `cluster`; what the resource says of them is asked here.
 */
import assert from 'node:assert/strict';
import {installOperator} from './operator.ts';
import {eventually, type Patience} from '../eventually.ts';
import type {KubernetesObject, Reference} from '../lab/kubernetes.ts';
import type {Lab} from '../lab/lab.ts';
import {Cluster, isReady, type Pod} from './cluster.ts';
import type {ServerClient} from './server-client.ts';

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What scenarios read of a SvcCluster. */
export type SvcCluster = KubernetesObject & {
  readonly metadata: {readonly generation: number; readonly resourceVersion: string};
  readonly spec: Readonly<Record<string, unknown>> & {readonly replicas: number};
  readonly status?: {
    readonly observedGeneration?: number;
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly templateHash?: string;
    readonly leader?: string;
    readonly voters?: number;
    readonly operation?: {
      readonly type: string;
      readonly step: string;
      readonly target?: string;
      readonly blockedBy: readonly string[];
      readonly message: string;
    };
    readonly members?: readonly {readonly pod: string; readonly role: string}[];
  };
};

/** An event about the cluster. */
export interface Told {
  readonly reason: string;
  readonly message: string;
}

/** Where a cluster is applied. */
export interface Place {
  readonly lab: Lab;
  readonly namespace: string;
  readonly version: string;
}

type Event = KubernetesObject & Told & {readonly involvedObject: {readonly name: string}};

const kind = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster'} as const;
/** Shorter than the operator's default, so that a scenario takes a minute rather than ten. */
const quickUpgrade = {settleSeconds: 2, podStartDeadline: '30s'};

export class Operated {
  readonly cluster: Cluster;
  readonly #place: Place;
  readonly #reference: Reference & {readonly name: string};

  private constructor(place: Place, cluster: Cluster) {
    this.#place = place;
    this.cluster = cluster;
    this.#reference = referenceOf(place, cluster.names.name);
  }

  /** Works like `apply` under an operator that is installed first. */
  static async begin(place: Place, spec: object = {}): Promise<Operated> {
    await installOperator(place.lab);
    return Operated.apply(place, spec);
  }

  /** Applies a cluster and waits until it is whole. @param spec - Beside version and size. */
  static async apply(place: Place, spec: object = {}, {name = 'db'} = {}): Promise<Operated> {
    const {lab, namespace, version} = place;
    const whole = {version, storage: {size: '512Mi'}, upgrade: quickUpgrade, ...spec};
    await lab.kubernetes.apply({...kind, metadata: {name, namespace}, spec: whole});
    return Operated.find(place, name);
  }

  /** One that was applied by somebody else; resolves when it is whole. */
  static async find(place: Place, name: string): Promise<Operated> {
    const {lab, namespace} = place;
    const patience = {seconds: 180};
    const {spec} = await eventually(
      `an available ${name}`,
      async () => {
        const found = await lab.kubernetes.get<SvcCluster>(referenceOf(place, name));
        const available = conditionIn(found, 'Available');
        if (available?.status === 'True') return found;
        throw new Error(JSON.stringify(found.status?.conditions ?? 'it has no conditions'));
      },
      patience,
    );
    const rootPassword = await secretValue(place, `${name}-root`, 'password');
    const {replicas} = spec;
    const cluster = new Cluster(lab.kubernetes, {name, namespace, replicas, rootPassword});
    await cluster.untilWhole();
    return new Operated(place, cluster);
  }

  /** The same cluster, with another number of members or another password. */
  as(names: {readonly replicas?: number; readonly rootPassword?: string}): Operated {
    const {lab} = this.#place;
    return new Operated(
      this.#place,
      new Cluster(lab.kubernetes, {...this.cluster.names, ...names}),
    );
  }

  /** A client of the service for writes, once that leads to somebody. */
  async writer(): Promise<ServerClient> {
    const client = await this.cluster.service(`${this.cluster.names.name}-rw`);
    await eventually('the service for writes', () => client.isReady());
    return client;
  }

  get(): Promise<SvcCluster> {
    return this.#place.lab.kubernetes.get<SvcCluster>(this.#reference);
  }

  async change(spec: object): Promise<void> {
    await this.#place.lab.kubernetes.patch(this.#reference, {spec});
  }

  /** @param annotations - null takes one away. */
  async mark(annotations: Readonly<Record<string, string | null>>): Promise<void> {
    await this.#place.lab.kubernetes.patch(this.#reference, {metadata: {annotations}});
  }

  async remove(): Promise<void> {
    await this.#place.lab.kubernetes.remove(this.#reference);
  }

  async condition(type: string): Promise<Condition | undefined> {
    return conditionIn(await this.get(), type);
  }

  /** Resolves when a condition is as expected. @param is - Its status, its reason, or both. */
  async untilCondition(
    type: string,
    is: Partial<Pick<Condition, 'status' | 'reason'>>,
    patience: Patience = {},
  ): Promise<Condition> {
    return eventually(
      `${type} ${is.status ?? ''} ${is.reason ?? ''}`,
      async () => {
        const found = await this.condition(type);
        const isSo =
          found !== undefined &&
          (is.status ?? found.status) === found.status &&
          (is.reason ?? found.reason) === found.reason;
        if (isSo) return found;
        throw new Error(JSON.stringify(found ?? 'there is no such condition'));
      },
      patience,
    );
  }

  /** The spec of this moment is reached: every member runs it, is ready, and votes. */
  async untilSettled(patience: Patience = {}): Promise<void> {
    await eventually(
      'a settled cluster',
      async () => {
        const {metadata, status = {}} = await this.get();
        const pods = await this.cluster.pods();
        const outdated = pods.filter(pod => hashOf(pod) !== status.templateHash);
        const {phase, observedGeneration, operation} = status;
        const isSettled =
          phase === 'Running' &&
          observedGeneration === metadata.generation &&
          operation === undefined &&
          outdated.length === 0 &&
          pods.length === this.cluster.names.replicas &&
          pods.every(isReady);
        if (isSettled) return true;
        throw new Error(
          JSON.stringify({phase, observedGeneration, operation, outdated: outdated.length}),
        );
      },
      {seconds: 180, everyMs: 500, ...patience},
    );
    await this.cluster.untilWhole();
  }

  /** Events about the resource, in no order. */
  async events(): Promise<readonly Told[]> {
    const {lab, namespace} = this.#place;
    const reference = {apiVersion: 'v1', kind: 'Event', namespace};
    const all = await lab.kubernetes.list<Event>(reference);
    return all
      .filter(({involvedObject}) => involvedObject.name === this.#reference.name)
      .map(({reason, message}) => ({reason, message}));
  }
}

/** The text of a Secret. */
export async function secretValue(
  {lab, namespace}: Pick<Place, 'lab' | 'namespace'>,
  name: string,
  key: string,
): Promise<string> {
  const reference = {apiVersion: 'v1', kind: 'Secret', namespace, name};
  const secret = await lab.kubernetes.get<KubernetesObject & {data: Record<string, string>}>(
    reference,
  );
  const value = secret.data[key];
  assert.ok(value !== undefined, `${name} holds no ${key}`);
  return Buffer.from(value, 'base64').toString();
}

/** Uids of pods by name: what a change that restarts nobody leaves as it was. */
export function uidsOf(pods: readonly Pod[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pods.map(({metadata}) => [metadata.name, metadata.uid ?? '']));
}

export function hashOf({metadata}: Pod): string | undefined {
  return metadata.annotations?.['svc.io/template-hash'];
}

function referenceOf({namespace}: Place, name: string): Reference & {readonly name: string} {
  return {...kind, namespace, name};
}

function conditionIn({status}: SvcCluster, wanted: string): Condition | undefined {
  return status?.conditions?.find(({type}) => type === wanted);
}
