/**
 * E33: what somebody deletes in the middle of something comes back, and nothing that was
 * acknowledged is lost: every kind of object that the operator makes, during a rolling change; a
 * backup while it runs; the resource itself while the cluster is created, scaled, changed, and
 * begins out of a backup.
 */
import assert from 'node:assert/strict';
import {eventually} from '../../eventually.ts';
import type {KubernetesObject} from '../../lab/kubernetes.ts';
import {applyBackup, untilEnded} from '../../svc/backups.ts';
import {Ledger, settleBooks, compareBooks} from '../../svc/ledger.ts';
import {Operated, type SvcCluster} from '../../svc/operated.ts';
import {installOperator} from '../../svc/operator.ts';
import type {Scenario, World} from '../scenario.ts';

const patience = {seconds: 600, everyMs: 200};

export const deletedMeanwhile: Scenario = {
  id: 'E33',
  title: 'what is deleted in mid-operation comes back, and no acknowledged entry is lost',
  operator: 'shared',
  async run(world) {
    const {note} = world;
    await installOperator(world.lab);
    await applied(world, 'db');
    await untilPods(world, 'db', count => count > 0);
    await removeCluster(world, 'db');
    note('deleted while it was created: nothing runs any more');

    const operated = await Operated.apply(world);
    await operated.untilSettled();
    const ledger = await Ledger.open(await operated.writer(), {writers: 2});
    await withoutObjects(world, operated);
    note(`objects deleted in a rolling change: ${await settleBooks(operated.cluster, ledger)}`);

    await applyBackup(world, 'short');
    await world.lab.kubernetes.remove(named(world, 'SvcBackup', 'short'));
    await untilBackedUp(world);
    note('a backup deleted while it ran; the next one is completed');

    await operated.change({replicas: 4});
    await untilPods(world, 'db', count => count === 4);
    await removeCluster(world, 'db');
    const scaled = await Operated.apply(world);
    await scaled.untilSettled(patience);
    await compareBooks(scaled.cluster, ledger);
    note('deleted while it was scaled: the same entries when it is applied again');

    const template = (await scaled.get()).status?.templateHash;
    await scaled.change({podTemplate: {labels: {team: 'blue'}}});
    await eventually(
      'a rolling change',
      async () => {
        const now = (await scaled.get()).status;
        return now?.templateHash !== template && now?.operation?.type === 'Upgrade';
      },
      patience,
    );
    await removeCluster(world, 'db');
    const changed = await Operated.apply(world);
    await changed.untilSettled(patience);
    await compareBooks(changed.cluster, ledger);
    note('deleted in a rolling change: the same entries when it is applied again');

    await recoveredTwice(world);
    await compareBooks(changed.cluster, ledger);
    note('deleted while it began out of a backup: it begins again, and the source is whole');
  },
};

/** Deletes one object of each kind, one after the other, while all members are replaced in turn. */
async function withoutObjects(world: World, operated: Operated): Promise<void> {
  const {kubernetes} = world.lab;
  const [first] = await operated.cluster.pods();
  await operated.change({podTemplate: {labels: {team: 'green'}}});
  await eventually('the first new pod', async () => {
    const pods = await operated.cluster.pods();
    return pods.some(({metadata}) => metadata.labels?.['team'] === 'green');
  });
  const gone: readonly (readonly [string, string, string])[] = [
    ['policy/v1', 'PodDisruptionBudget', 'db'],
    ['networking.k8s.io/v1', 'NetworkPolicy', 'db'],
    ['v1', 'ServiceAccount', 'db'],
    ['v1', 'ConfigMap', 'db-config'],
    ['v1', 'Service', 'db-ro'],
    ['v1', 'Service', 'db-headless'],
    ['v1', 'Secret', 'db-tokens'],
    ['v1', 'PersistentVolumeClaim', `data-${first?.metadata.name}`],
    ['apps/v1', 'StatefulSet', 'db'],
  ];
  const {namespace} = world;
  for (const [apiVersion, kind, name] of gone) {
    const reference = {apiVersion, kind, namespace, name};
    const before = await kubernetes.get(reference);
    await kubernetes.remove(reference);
    // Pods that mount it wait for it: so it is to come back before anything else is tried.
    await eventually(
      `another ${kind} ${name}`,
      async () => {
        const now = await kubernetes.find(reference);
        if (kind === 'PersistentVolumeClaim') return now?.metadata.deletionTimestamp !== undefined;
        return now !== undefined && now.metadata.uid !== before.metadata.uid;
      },
      patience,
    );
  }
  await operated.untilSettled(patience);
}

/** The servers go on with an archive that nobody asks for any more, and skip others meanwhile. */
async function untilBackedUp(world: World): Promise<void> {
  for (;;) {
    await applyBackup(world, 'full');
    const {status} = await untilEnded(world, 'full', patience);
    if (status?.phase === 'Completed') return;
    assert.equal(status?.phase, 'Skipped', JSON.stringify(status));
    await world.lab.kubernetes.remove(named(world, 'SvcBackup', 'full'));
  }
}

async function recoveredTwice(world: World): Promise<void> {
  const bootstrap = {recovery: {backupName: 'full'}};
  await applied(world, 'copy', {bootstrap, replicas: 1});
  await untilPods(world, 'copy', count => count > 0);
  await removeCluster(world, 'copy');
  const copy = await Operated.apply(world, {bootstrap, replicas: 1}, {name: 'copy'});
  await copy.untilSettled(patience);
  await copy.remove();
}

async function applied({lab, namespace, version}: World, name: string, spec = {}): Promise<void> {
  const {apiVersion, kind} = named({namespace}, 'SvcCluster', name);
  const whole = {version, storage: {size: '512Mi'}, ...spec};
  await lab.kubernetes.apply({apiVersion, kind, metadata: {name, namespace}, spec: whole});
}

/** Deletes the resource and waits until nothing of it runs. */
async function removeCluster(world: World, name: string): Promise<void> {
  const reference = named(world, 'SvcCluster', name);
  await world.lab.kubernetes.remove(reference);
  await untilPods(world, name, count => count === 0);
  const set = {...reference, apiVersion: 'apps/v1', kind: 'StatefulSet'};
  await eventually(
    `the end of ${name}`,
    async () => {
      const left = [
        await world.lab.kubernetes.find<SvcCluster>(reference),
        await world.lab.kubernetes.find(set),
      ];
      return left.every(one => one === undefined);
    },
    patience,
  );
}

async function untilPods(
  {lab, namespace}: World,
  name: string,
  isSo: (count: number) => boolean,
): Promise<void> {
  await eventually(
    `the pods of ${name}`,
    async () => {
      const reference = {apiVersion: 'v1', kind: 'Pod', namespace};
      const pods = await lab.kubernetes.list<KubernetesObject>(reference, `svc.io/cluster=${name}`);
      return isSo(pods.length);
    },
    patience,
  );
}

function named({namespace}: Pick<World, 'namespace'>, kind: string, name: string) {
  return {apiVersion: 'svc.io/v1alpha1', kind, namespace, name};
}
