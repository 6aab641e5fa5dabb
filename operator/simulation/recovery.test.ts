/** Clusters that begin out of backups, against servers of the simulation. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {annotations} from '#operator/api/group.ts';
import type {JsonMap} from '#operator/api/kube-object.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {OperatorWorld} from './operator-world.ts';

const fromClaim = {bootstrap: {recovery: {claim: {name: 'archives'}}}};

function begun(seed: number, spec: JsonMap): OperatorWorld {
  const world = new OperatorWorld(seed);
  world.startOperator();
  world.create(spec);
  return world;
}

function isRunning(world: OperatorWorld): boolean {
  const {status} = world.cluster();
  return status?.phase === 'Running' && status.readyReplicas === 3;
}

function available(world: OperatorWorld): string {
  const {conditions = []} = world.cluster().status ?? {};
  const found = conditions.find(({type}) => type === 'Available');
  return `${found?.status} ${found?.reason}`;
}

test('one member restores everything, and then the others join', async () => {
  const world = begun(1, fromClaim);
  const seen = new Set<string>();
  const done = await world.time.run(15 * 60_000, () => {
    seen.add(`${world.pods().length} pods, ${available(world)}`);
    return isRunning(world);
  });
  assert.ok(done, JSON.stringify(world.cluster().status, undefined, 2));
  const group = world.servers.groupOf(world.cluster());
  assert.deepEqual([...(group?.databases ?? [])], ['music', 'shop']);
  assert.equal(group?.peers.size, 3);
  assert.ok(seen.has('1 pods, False Recovering'), [...seen].join('\n'));
  assert.ok(!seen.has('3 pods, False Recovering'), 'the others wait for the databases');
  const {recovery} = world.cluster().status ?? {};
  assert.equal(recovery?.phase, 'Completed');
  const mounts = world.pods().map(pod => JSON.stringify(pod.spec));
  assert.ok(!mounts.some(text => text.includes('"archives"')), 'no pod keeps the archives');
  await world.end();
});

test('an archive that cannot be read stops it, until somebody asks again', async () => {
  const world = new OperatorWorld(2);
  world.servers.broken.add('shop');
  world.startOperator();
  world.create(fromClaim);
  const hasFailed = (): boolean => available(world) === 'False RecoveryFailed';
  assert.ok(await world.time.run(10 * 60_000, hasFailed));
  await world.time.run(10 * 60_000);
  assert.equal(world.pods().length, 1);
  const condition = world.cluster().status?.conditions?.find(({type}) => type === 'Degraded');
  assert.match(condition?.message ?? '', /^shop: the archive of shop is damaged/);
  assert.deepEqual([...(world.servers.groupOf(world.cluster())?.databases ?? [])], ['music']);
  world.servers.broken.clear();
  world.patch({metadata: {annotations: {[annotations.retryRecovery]: 'once more'}}});
  assert.ok(await world.time.run(15 * 60_000, () => isRunning(world)));
  await world.end();
});

test('a source that is not there is told, and found when it comes', async () => {
  const world = begun(3, {bootstrap: {recovery: {backupName: 'nightly-1'}}});
  assert.ok(await world.time.run(60_000, () => available(world) === 'False RecoveryFailed'));
  assert.equal(world.pods().length, 0);
  const database = (name: string) => ({
    name,
    phase: 'Completed',
    pod: 'old-0',
    file: `${name}.zip`,
  });
  const label = {'svc.io/cluster': 'old'};
  world.kubernetes.store.create(kinds.claim, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: {name: 'data-old-0', namespace: 'shop', labels: label},
    spec: {resources: {requests: {storage: '1Gi'}}},
  });
  world.kubernetes.store.create(kinds.backup, {
    apiVersion: 'svc.io/v1alpha1',
    kind: 'SvcBackup',
    metadata: {name: 'nightly-1', namespace: 'shop'},
    spec: {clusterRef: {name: 'old'}},
  });
  world.kubernetes.store.patch(
    {kind: kinds.backup, namespace: 'shop', name: 'nightly-1'},
    {status: {phase: 'Completed', databases: [database('shop')]}},
    'status',
  );
  assert.ok(await world.time.run(15 * 60_000, () => isRunning(world)), available(world));
  assert.deepEqual([...(world.servers.groupOf(world.cluster())?.databases ?? [])], ['shop']);
  await world.end();
});

test('operators that end in the middle go on where the servers are', async () => {
  for (let seed = 10; seed < 20; seed++) {
    const world = new OperatorWorld(seed);
    world.faults = {failure: 0.05, death: 0.02, cut: 0.02, lateMs: 1_000};
    world.startOperator();
    world.create(fromClaim);
    const done = await world.time.run(60 * 60_000, () => isRunning(world));
    assert.ok(done, `seed ${seed}: ${JSON.stringify(world.cluster().status, undefined, 2)}`);
    const group = world.servers.groupOf(world.cluster());
    assert.deepEqual([...(group?.databases ?? [])].toSorted(), ['music', 'shop'], `seed ${seed}`);
    assert.deepEqual(world.servers.violations, []);
    await world.end();
  }
});
