/**
 * E02: a cluster that is as its resource says is left alone: applied a second time, then at rest,
 * it is looked at once a minute at most, and nothing of it is written.
 */
import assert from 'node:assert/strict';
import {setTimeout as sleep} from 'node:timers/promises';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {Operated} from '../../svc/operated.ts';
import {installOwnOperator, operators} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

/** The promise is about minutes, and two of them show whether it is kept. */
const minutes = 2;

const kinds: readonly (readonly [string, string])[] = [
  ['svc.io/v1alpha1', 'SvcCluster'],
  ['apps/v1', 'StatefulSet'],
  ['v1', 'Pod'],
  ['v1', 'Service'],
  ['v1', 'ConfigMap'],
  ['v1', 'Secret'],
  ['v1', 'PersistentVolumeClaim'],
  ['v1', 'Event'],
  ['policy/v1', 'PodDisruptionBudget'],
  ['networking.k8s.io/v1', 'NetworkPolicy'],
];

export const restingCluster: Scenario = {
  id: 'E02',
  title: 'a settled cluster is looked at once a minute and written to never',
  operator: 'own',
  async run(world) {
    await installOwnOperator(world);
    const operated = await Operated.apply(world);
    await operated.untilSettled();
    const again = await Operated.apply(world);
    await again.untilSettled();
    // What the last change still causes: an event, a late answer of a watch.
    await sleep(10_000);
    const [versions, looks] = [await versionsOf(world), await looksOf(world)];
    await sleep(minutes * 60_000);
    assert.deepEqual(await versionsOf(world), versions, 'nothing was written');
    const more = (await looksOf(world)) - looks;
    world.note(`${more} looks in ${minutes} minutes, no object of ${versions.length} written`);
    assert.ok(more <= minutes, `${more} looks in ${minutes} minutes`);
  },
};

/** Every object of the namespace with the version that its last write gave it. */
async function versionsOf({lab, namespace}: World): Promise<readonly string[]> {
  const found = kinds.map(async ([apiVersion, kind]) => {
    const all = await lab.kubernetes.list<KubernetesObject>({apiVersion, kind, namespace});
    return all.map(({metadata}) => `${kind}/${metadata.name} ${metadata.resourceVersion}`);
  });
  return (await Promise.all(found)).flat().toSorted();
}

async function looksOf({lab, namespace}: World): Promise<number> {
  const [operator] = await operators(lab, namespace);
  assert.ok(operator);
  return operator.metric('svc_operator_reconcile_total', {controller: 'cluster'});
}
