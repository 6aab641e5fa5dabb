/**
 * Puts the operator of this checkout into the lab, for all namespaces as deploy/base describes it
 * or for one by the chart, and asks it. Where no namespace is named, that of all is meant.
 */
import assert from 'node:assert/strict';
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {eventually} from '../eventually.ts';
import type {KubernetesObject} from '../lab/kubernetes.ts';
import type {Lab} from '../lab/lab.ts';
import {isReady, type Pod} from './cluster.ts';

/** It has more fields; scenarios change these. */
export interface Container {
  readonly image?: string;
  readonly env?: readonly object[];
}

type Deployment = KubernetesObject & {
  readonly metadata: {readonly generation: number};
  readonly spec: {
    readonly replicas: number;
    readonly template: {readonly spec: {readonly containers: readonly Container[]}};
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly replicas?: number;
    readonly updatedReplicas?: number;
    readonly availableReplicas?: number;
  };
};

type Lease = KubernetesObject & {readonly spec: {readonly holderIdentity?: string}};

const root = join(import.meta.dirname, '../..');
const home = 'svc-system';
const name = 'svc-operator';
const metricsPort = 8_080;

const deploymentIn = (namespace: string) =>
  ({apiVersion: 'apps/v1', kind: 'Deployment', namespace, name}) as const;

/** The definitions of the resources alone. */
export async function applyDefinitions(lab: Lab): Promise<void> {
  const folder = join(root, 'crds');
  const files = readdirSync(folder).filter(name => name.startsWith('svc.io_'));
  for (const file of files) await lab.applyFiles(join(folder, file));
}

/** Resolves when it is available; one that is there already is brought up to date. */
export async function installOperator(lab: Lab): Promise<void> {
  await lab.applyFiles(join(root, 'deploy/base'), {kustomize: true});
  await changeOperator(lab, {replicas: 1});
}

/** The definitions are there, and no operator of all namespaces is. */
export async function withoutSharedOperator(lab: Lab): Promise<void> {
  await applyDefinitions(lab);
  const shared = await lab.kubernetes.find(deploymentIn(home));
  if (shared !== undefined) await changeOperator(lab, {replicas: 0});
}

/** Resolves when an operator is available that looks after this namespace and lies in it. */
export async function installOwnOperator({
  lab,
  namespace,
}: {
  readonly lab: Lab;
  readonly namespace: string;
}): Promise<void> {
  await withoutSharedOperator(lab);
  const values = [`watchNamespaces={${namespace}}`, 'crds.install=false'];
  const set = values.flatMap(value => ['--set', value]);
  const chart = join(root, 'charts/svc-operator');
  await lab.helm('install', name, chart, '-n', namespace, '--wait', '--timeout', '180s', ...set);
}

/**
 * Takes away every operator of svc-system, by whatever it came, and namespaces with what it made.
 * The definitions stay. Resolves when all of it is gone; never gives up halfway.
 */
export async function removeOperator(lab: Lab, namespaces: readonly string[] = []): Promise<void> {
  const gone = ['--ignore-not-found', '--wait', '--timeout=300s'];
  const steps: readonly (() => Promise<string>)[] = [
    // Clusters first: an operator in between would make their objects again.
    ...namespaces.map(one => () => lab.kubectl('delete', 'svcc,svcb,svcbs', '--all', '-n', one)),
    () => lab.helm('uninstall', 'svc', '-n', home, '--ignore-not-found', '--wait'),
    () => lab.kubectl('delete', 'deployment', name, '-n', home, ...gone),
    () => lab.kubectl('delete', 'clusterrole,clusterrolebinding', name, ...gone),
    ...[...new Set([...namespaces, home])].map(
      one => () => lab.kubectl('delete', 'namespace', one, ...gone),
    ),
  ];
  for (const step of steps) await step().catch((error: unknown) => lab.tell(String(error)));
}

/** Changes its one container, and waits as below. */
export async function changeContainer(
  lab: Lab,
  change: (container: Container) => Container,
  namespace = home,
): Promise<void> {
  const {spec} = await lab.kubernetes.get<Deployment>(deploymentIn(namespace));
  const containers = spec.template.spec.containers.map(change);
  await changeOperator(lab, {template: {spec: {containers}}}, namespace);
}

/** Changes its Deployment and waits until that is carried out. @param spec - A merge patch. */
export async function changeOperator(lab: Lab, spec: object, namespace = home): Promise<void> {
  const deployment = deploymentIn(namespace);
  await lab.kubernetes.patch(deployment, {spec});
  await eventually('the operator', async () => {
    const {metadata, spec: wanted, status} = await lab.kubernetes.get<Deployment>(deployment);
    const {
      observedGeneration,
      replicas = 0,
      updatedReplicas = 0,
      availableReplicas = 0,
    } = status ?? {};
    return (
      observedGeneration === metadata.generation &&
      [replicas, updatedReplicas, availableReplicas].every(count => count === wanted.replicas)
    );
  });
}

/** A process of the operator. */
export class OperatorPod {
  readonly pod: Pod;

  constructor(pod: Pod) {
    this.pod = pod;
  }

  /** The sum of the series of a metric that carry these labels. */
  async metric(name: string, labels: Readonly<Record<string, string>> = {}): Promise<number> {
    const address = `http://${this.pod.status.podIP}:${metricsPort}/metrics`;
    const response = await fetch(address, {signal: AbortSignal.timeout(5_000)});
    const series = (await response.text()).split('\n').filter(line => {
      const isOfName = line.startsWith(`${name}{`) || line.startsWith(`${name} `);
      return (
        isOfName && Object.entries(labels).every(([key, is]) => line.includes(`${key}="${is}"`))
      );
    });
    // A line may end with a time behind its value.
    const values = series.map(line => Number(line.replace(/^.*?[} ]\s*/, '').split(' ')[0]));
    assert.ok(!values.some(Number.isNaN), `${name}: ${series.join(' ')}`);
    return values.reduce((sum, value) => sum + value, 0);
  }
}

/** The pods that are ready. */
export async function operators(lab: Lab, namespace = home): Promise<readonly OperatorPod[]> {
  const reference = {apiVersion: 'v1', kind: 'Pod', namespace};
  const pods = await lab.kubernetes.list<Pod>(reference, `app.kubernetes.io/name=${name}`);
  return pods.filter(isReady).map(pod => new OperatorPod(pod));
}

/** The pod that holds the lease; undefined while nobody does. */
export async function leaseHolder(lab: Lab, namespace = home): Promise<OperatorPod | undefined> {
  const lease = {apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', namespace, name};
  const {spec} = await lab.kubernetes.get<Lease>(lease);
  const all = await operators(lab, namespace);
  return all.find(({pod}) => spec.holderIdentity?.startsWith(`${pod.metadata.name}_`));
}

/** What all operators that are there have logged. */
export async function operatorLogs(lab: Lab, namespace = home): Promise<string> {
  const selector = ['-l', `app.kubernetes.io/name=${name}`, '--tail=-1'];
  return lab.kubectl('logs', '-n', namespace, ...selector);
}
