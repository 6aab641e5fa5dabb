/** Schedules and backups against servers of the simulation. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {API_VERSION} from '#operator/api/group.ts';
import {at, type JsonMap, listAt, textAt} from '#operator/api/kube-object.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {OperatorWorld} from './operator-world.ts';

async function running(seed: number): Promise<OperatorWorld> {
  const world = new OperatorWorld(seed);
  world.startOperator();
  world.create({});
  assert.ok(await world.time.run(180_000, () => world.cluster().status?.phase === 'Running'));
  return world;
}

function schedule(world: OperatorWorld, spec: JsonMap): void {
  world.kubernetes.store.create(kinds.schedule, {
    apiVersion: API_VERSION,
    kind: 'SvcBackupSchedule',
    metadata: {name: 'often', namespace: 'shop'},
    spec: {clusterRef: {name: 'db'}, schedule: '* * * * *', ...spec},
  });
}

const scope = {kind: kinds.backup, namespace: 'shop', labelSelector: undefined};
const status = (world: OperatorWorld): unknown =>
  world.kubernetes.store.get({kind: kinds.schedule, namespace: 'shop', name: 'often'}).status;

test('each tick is one run with one archive a database, and old ones go', async () => {
  const world = await running(1);
  schedule(world, {retention: {maxFiles: 3}, historyLimits: {success: 2}});
  await world.time.run(10 * 60_000 + 5_000);
  assert.ok([2, 3].includes(world.kubernetes.store.list(scope).length));
  for (const database of ['music', 'shop']) {
    assert.equal(world.servers.archives.get(database)?.length, 3);
  }
  const conditions = listAt(status(world), 'conditions').map(one => at(one, 'reason'));
  assert.deepEqual(conditions, ['Scheduled', 'BackupsCurrent']);
  const health = world.cluster().status?.conditions?.find(({type}) => type === 'BackupHealthy');
  assert.deepEqual([health?.status, health?.reason], ['True', 'BackupsCurrent']);
  assert.match(world.cluster().status?.lastBackup?.name ?? '', /^often-/);
  await world.end();
});

test('a suspended schedule begins nothing, and afterwards one run at most', async () => {
  const world = await running(2);
  schedule(world, {suspend: true});
  await world.time.run(2 * 3_600_000);
  assert.equal(world.kubernetes.store.list(scope).length, 0);
  const ref = {kind: kinds.schedule, namespace: 'shop', name: 'often'};
  world.kubernetes.store.patch(ref, {spec: {suspend: false, schedule: '0 * * * *'}});
  await world.time.run(60_000);
  assert.ok(world.kubernetes.store.list(scope).length <= 1);
  await world.end();
});

test('a backup of a cluster that is not there fails and says so', async () => {
  const world = await running(3);
  world.kubernetes.store.create(kinds.backup, {
    apiVersion: API_VERSION,
    kind: 'SvcBackup',
    metadata: {name: 'once', namespace: 'shop'},
    spec: {clusterRef: {name: 'nobody'}},
  });
  await world.time.run(10_000);
  const backup = world.kubernetes.store.get({kind: kinds.backup, namespace: 'shop', name: 'once'});
  assert.equal(textAt(backup.status, 'phase'), 'Failed');
  assert.equal(at(listAt(backup.status, 'conditions')[0], 'reason'), 'ClusterMissing');
  await world.end();
});

test('a schedule whose runs never begin in time makes its cluster unhealthy', async () => {
  const world = await running(4);
  schedule(world, {schedule: '*/5 * * * *', startingDeadline: '1m'});
  world.kubernetes.store.patch(
    {kind: kinds.schedule, namespace: 'shop', name: 'often'},
    {spec: {clusterRef: {name: 'db'}, databases: ['no-such']}},
  );
  const isUnhealthy = (): boolean =>
    world
      .cluster()
      .status?.conditions?.some(
        ({type, status: is}) => type === 'BackupHealthy' && is === 'False',
      ) === true;
  assert.ok(await world.time.run(20 * 60_000, isUnhealthy));
  await world.end();
});

function once(world: OperatorWorld): void {
  world.kubernetes.store.create(kinds.backup, {
    apiVersion: API_VERSION,
    kind: 'SvcBackup',
    metadata: {name: 'once', namespace: 'shop'},
    spec: {clusterRef: {name: 'db'}},
  });
}

test('a backup that is deleted while it runs is over, and one of its name is another', async () => {
  const world = await running(5);
  const ref = {kind: kinds.backup, namespace: 'shop', name: 'once'};
  const phase = (): string | undefined => textAt(world.kubernetes.store.find(ref)?.status, 'phase');
  world.servers.backupMs = 60_000;
  once(world);
  await world.time.run(10_000);
  assert.equal(phase(), 'Running');
  // Gone and there again before anybody looked.
  world.kubernetes.store.delete(ref, {});
  once(world);
  assert.ok(await world.time.run(300_000, () => phase() === 'Completed'));
  const {metadata, status: ended} = world.kubernetes.store.get(ref);
  for (const database of listAt(ended, 'databases')) {
    const startedAt = textAt(database, 'startedAt') ?? '';
    assert.ok(startedAt >= (metadata.creationTimestamp ?? ''), 'an archive of the first one');
  }
  world.kubernetes.store.delete(ref, {});
  await world.time.run(60_000);
  assert.equal(world.cluster().status?.phase, 'Running');
  await world.end();
});
