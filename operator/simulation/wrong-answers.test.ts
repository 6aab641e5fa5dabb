/** Servers that lie, hang or belong to somebody else, and operators whose clock is wrong. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Condition} from '#operator/api/conditions.ts';
import {textAt} from '#operator/api/kube-object.ts';
import {AdminError} from '#operator/database/admin.ts';
import type {MemberReport} from '#operator/decide/agreement.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {OperatorWorld} from './operator-world.ts';

const patienceMs = 1_800_000;
/** Several looks, whatever the operator waits for. */
const looksMs = 300_000;

async function runningWorld(aheadMs = 0): Promise<OperatorWorld> {
  const world = new OperatorWorld(5);
  world.aheadMs = aheadMs;
  world.startOperator();
  world.create({});
  await untilRunning(world);
  return world;
}

async function untilRunning(world: OperatorWorld): Promise<void> {
  const isRunning = await world.time.run(patienceMs, () => {
    const {status, spec, metadata} = world.cluster();
    return (
      status?.phase === 'Running' &&
      status.observedGeneration === metadata.generation &&
      status.voters === spec.replicas
    );
  });
  assert.ok(isRunning, JSON.stringify(world.cluster().status, undefined, 2));
}

const uidsOf = (world: OperatorWorld): readonly unknown[] =>
  world.pods().map(({metadata}) => metadata.uid);
const conditionOf = (world: OperatorWorld, type: string): Condition | undefined =>
  world.cluster().status?.conditions?.find(one => one.type === type);

/** What a follower says from now on. */
function answerOfFollower(
  world: OperatorWorld,
  answer: (report: MemberReport) => Promise<MemberReport>,
): void {
  const {leader} = world.cluster().status ?? {};
  const name = world.pods().find(({metadata}) => metadata.name !== leader)?.metadata.name ?? '';
  world.heard = report =>
    report.peerId.startsWith(`${name}.`) ? answer(report) : Promise.resolve(report);
}

test('a server of another cluster is told of, and takes no part in anything', async () => {
  const world = await runningWorld();
  const before = uidsOf(world);
  answerOfFollower(world, report => Promise.resolve({...report, clusterName: 'another'}));
  await world.time.run(looksMs);
  assert.equal(conditionOf(world, 'Available')?.status, 'True');
  assert.equal(conditionOf(world, 'Degraded')?.reason, 'ForeignServer');
  const scope = {kind: kinds.event, namespace: undefined, labelSelector: undefined};
  const events = world.kubernetes.store.list(scope).map(event => textAt(event, 'reason'));
  assert.ok(events.includes('ForeignServer'), events.join());
  assert.deepEqual(uidsOf(world), before);
  world.heard = report => Promise.resolve(report);
  await world.time.run(looksMs);
  assert.equal(conditionOf(world, 'Degraded')?.status, 'False');
  await world.end();
});

test('while a server claims to lead in a later term, nothing is changed', async () => {
  const world = await runningWorld();
  const before = uidsOf(world);
  answerOfFollower(world, report =>
    Promise.resolve({
      ...report,
      term: report.term + 10,
      leaderId: report.peerId,
      isReadyLeader: true,
    }),
  );
  world.patch({spec: {replicas: 5, podTemplate: {labels: {team: 'blue'}}}});
  await world.time.run(looksMs);
  assert.deepEqual(uidsOf(world).slice(0, 3), before, 'no member is touched');
  assert.equal(conditionOf(world, 'Available')?.reason, 'NoLeader');
  world.heard = report => Promise.resolve(report);
  await untilRunning(world);
  assert.deepEqual(world.servers.violations, []);
  await world.end();
});

test('a server that hangs stays a member, and its pod stays as it is', async () => {
  const world = await runningWorld();
  const before = uidsOf(world);
  answerOfFollower(world, () => Promise.reject(new AdminError('silent', 'no answer in time')));
  await world.time.run(looksMs);
  assert.equal(conditionOf(world, 'Available')?.status, 'True');
  assert.deepEqual(uidsOf(world), before);
  assert.equal(world.cluster().status?.voters, 3);
  await world.end();
});

for (const minutes of [-5, 5]) {
  test(`an operator whose clock is ${minutes} minutes ahead carries changes out`, async () => {
    const world = await runningWorld(minutes * 60_000);
    world.patch({spec: {replicas: 5}});
    await untilRunning(world);
    const before = uidsOf(world);
    world.patch({spec: {podTemplate: {labels: {team: 'blue'}}}});
    const isChanged = await world.time.run(patienceMs, () =>
      world.pods().every(({metadata}) => metadata.labels?.['team'] === 'blue'),
    );
    assert.ok(isChanged, JSON.stringify(world.cluster().status, undefined, 2));
    await untilRunning(world);
    assert.ok(uidsOf(world).every(uid => !before.includes(uid)));
    assert.deepEqual(world.servers.violations, []);
    await world.end();
  });
}
