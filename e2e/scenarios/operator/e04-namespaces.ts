/**
 * E04: installed by its chart for two namespaces, with a Role in each and no right beyond them, the
 * operator makes clusters there, leaves a third namespace alone, and is refused nothing.
 *
 * The charts are linted, and what they render is taken by the API server, on the way.
 */
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';
import {eventually} from '../../eventually.ts';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {Operated} from '../../svc/operated.ts';
import {operatorLogs, withoutSharedOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

const charts = join(import.meta.dirname, '../../../charts');
const own = {replicas: 1, storage: {size: '300Mi'}};
/** A cluster begins in a fraction of this. */
const ignoredMs = 15_000;

export const namespacedOperator: Scenario = {
  id: 'E04',
  title: 'an operator with Roles in two namespaces works there, and nowhere else',
  operator: 'own',
  async run(world) {
    const {lab, namespace, version, note} = world;
    await withoutSharedOperator(lab);
    const spaces = ['one', 'two', 'three'].map(name => `${namespace}-${name}`);
    const [one = '', two = '', three = ''] = spaces;
    for (const name of [...spaces, 'e04-operator']) await makeNamespace(world, name);
    await lookAtCharts(world);
    const values = [`watchNamespaces={${one},${two}}`, 'crds.install=false'];
    const set = values.flatMap(value => ['--set', value]);
    const chart = join(charts, 'svc-operator');
    const place = ['-n', 'e04-operator', '--wait', '--timeout', '120s'];
    await lab.helm('install', 'svc', chart, ...place, ...set);
    for (const name of [one, two]) {
      const operated = await Operated.apply({lab, namespace: name, version}, own);
      await operated.untilSettled();
    }
    const cluster = {apiVersion: 'svc.io/v1alpha1', kind: 'SvcCluster'};
    const spec = {version, ...own};
    await lab.kubernetes.apply({...cluster, metadata: {name: 'db', namespace: three}, spec});
    await sleep(ignoredMs);
    const ignored = await lab.kubernetes.get<KubernetesObject & {readonly status?: object}>({
      ...cluster,
      namespace: three,
      name: 'db',
    });
    assert.equal(ignored.status, undefined, 'the third namespace is left alone');
    const logs = await operatorLogs(lab, 'e04-operator');
    assert.doesNotMatch(logs, /forbidden/i);
    note('clusters in two namespaces, none in the third, and nothing was forbidden');
    await lab.helm('uninstall', 'svc', '-n', 'e04-operator', '--wait');
    for (const name of [...spaces, 'e04-operator']) {
      await lab.kubernetes.remove({apiVersion: 'v1', kind: 'Namespace', name});
    }
  },
};

async function makeNamespace({lab}: World, name: string): Promise<void> {
  const labels = {'pod-security.kubernetes.io/enforce': 'restricted'};
  await lab.kubernetes.apply({apiVersion: 'v1', kind: 'Namespace', metadata: {name, labels}});
  const account = {apiVersion: 'v1', kind: 'ServiceAccount', namespace: name, name: 'default'};
  await eventually(`the account of ${name}`, () => lab.kubernetes.find(account));
}

/** What `helm lint` and a trial of the API server say of them. */
async function lookAtCharts({lab, namespace}: World): Promise<void> {
  // Helm takes the cluster for one of long ago when it is not told.
  const version = ['--kube-version', '1.36.0'];
  for (const name of ['svc-operator', 'svc-cluster']) {
    await lab.helm('lint', '--strict', join(charts, name));
    const rendered = await lab.helm(
      'template',
      'trial',
      join(charts, name),
      ...version,
      '-n',
      namespace,
    );
    await lab.applyText(rendered, {isTrial: true, namespace});
  }
}
