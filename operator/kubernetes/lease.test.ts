/** Never do two operators act at once, whatever the API server does to their renewals. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Clock} from '#server/platform/clock.ts';
import {textAt} from '#operator/api/kube-object.ts';
import {SeededRandom} from '#operator/simulation/seeded-random.ts';
import {InMemoryApi, noInterference} from '#operator/simulation/fake-api/in-memory-api.ts';
import {ApiError} from './api.ts';
import {kinds} from './kinds.ts';
import {LeaseElection} from './lease.ts';
import {world} from './testing-world.ts';

type World = ReturnType<typeof world>;
type Means = Omit<World['means'], 'clock'> & {readonly clock: Clock};

function contender(
  parts: Pick<World, 'store'> & {readonly means: Means},
  identity: string,
  fails = (): boolean => false,
  leaseSeconds?: number,
) {
  const told: string[] = [];
  const check = () =>
    fails() ? Promise.reject(new ApiError(0, 'Network', 'lost')) : Promise.resolve();
  const election = new LeaseElection({
    ...parts.means,
    api: new InMemoryApi(parts.store, {...noInterference, before: check, after: check}),
    namespace: 'svc-system',
    name: 'svc-operator',
    identity,
    ...(leaseSeconds === undefined ? {} : {leaseSeconds}),
    onLeading: () => told.push('leads'),
    onLost: () => told.push('lost'),
  });
  election.start();
  return {election, told};
}

const ref = {kind: kinds.lease, namespace: 'svc-system', name: 'svc-operator'};

test('one of two leads, and goes on doing so', async () => {
  const parts = world();
  const [one, two] = [contender(parts, 'one'), contender(parts, 'two')];
  await parts.time.run(120_000);
  assert.deepEqual([one.told, two.told], [['leads'], []]);
  assert.equal(textAt(parts.store.get(ref), 'spec', 'holderIdentity'), 'one');
  await one.election.release();
  await two.election.release();
});

test('a lease that was given up is taken by the next try', async () => {
  const parts = world();
  const one = contender(parts, 'one');
  await parts.time.run(10_000);
  const two = contender(parts, 'two');
  await parts.time.run(5_000);
  await one.election.release();
  await parts.time.run(3_000);
  assert.equal(one.election.isLeading, false);
  assert.deepEqual(two.told, ['leads']);
  await two.election.release();
});

test('whoever cannot renew stops before another may begin', async () => {
  const parts = world();
  let isAway = false;
  const one = contender(parts, 'one', () => isAway);
  await parts.time.run(5_000);
  const two = contender(parts, 'two');
  isAway = true;
  const stopped = await parts.time.run(60_000, () => one.told.includes('lost'));
  assert.ok(stopped);
  assert.equal(two.election.isLeading, false);
  await parts.time.run(30_000);
  assert.deepEqual(two.told, ['leads']);
  await two.election.release();
});

test('clocks that differ by hours, and two lengths of leases, make no two leaders', async () => {
  const parts = world();
  const hours = (count: number) => {
    const clock = {
      now: () => parts.time.now() + count * 3_600_000,
      monotonic: () => parts.time.monotonic(),
    };
    return {...parts, means: {...parts.means, clock}};
  };
  let isAway = false;
  const one = contender(hours(-7), 'one', () => isAway, 30);
  await parts.time.run(5_000);
  const two = contender(hours(7), 'two', undefined, 6);
  await parts.time.run(300_000);
  assert.deepEqual([one.told, two.told], [['leads'], []]);
  isAway = true;
  for (let second = 0; second < 60; second++) {
    await parts.time.run(1_000);
    assert.ok(!one.election.isLeading || !two.election.isLeading);
  }
  assert.deepEqual([one.told, two.told], [['leads', 'lost'], ['leads']]);
  await two.election.release();
});

for (let seed = 1; seed <= 40; seed++) {
  test(`under lost calls and answers, seed ${seed}: at most one acts`, async () => {
    const parts = world();
    const random = new SeededRandom(seed);
    let loss = 0.4;
    const all = ['a', 'b', 'c'].map(name => contender(parts, name, () => random.chance(loss)));
    for (let step = 0; step < 400; step++) {
      if (random.chance(0.05)) loss = random.pick([0, 0.3, 0.6, 0.95]);
      await parts.time.run(random.below(1_000));
      const acting = all.filter(({election}) => election.isLeading);
      assert.ok(acting.length <= 1, `at ${parts.time.monotonic()}: ${acting.length} act`);
    }
    for (const {election} of all) await election.release();
  });
}
