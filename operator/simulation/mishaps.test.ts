/** What people take away by mistake comes back. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {OperatorWorld} from './operator-world.ts';

const patienceMs = 1_800_000;

async function runningWorld(seed: number): Promise<OperatorWorld> {
  const world = new OperatorWorld(seed);
  world.startOperator();
  world.create({});
  await untilRunning(world);
  return world;
}

async function untilRunning(world: OperatorWorld): Promise<void> {
  const isRunning = await world.time.run(patienceMs, () => {
    const {status, metadata} = world.cluster();
    return status?.phase === 'Running' && status.observedGeneration === metadata.generation;
  });
  assert.ok(isRunning, JSON.stringify(world.cluster().status, undefined, 2));
}

const uidOf = ({metadata}: KubeObject): string | undefined => metadata.uid;
const secret = (name: string) => ({kind: kinds.secret, namespace: 'shop', name});

for (const [name, restarts] of [
  ['db-root', 'nobody'],
  ['db-token', 'in rounds'],
  ['db-tokens', 'in rounds'],
] as const) {
  test(`a deleted Secret ${name} is made anew; restarted: ${restarts}`, async () => {
    const world = await runningWorld(7);
    const {store} = world.kubernetes;
    const before = world.pods().map(uidOf);
    const old = store.get(secret(name));
    store.delete(secret(name), {});
    await world.time.run(patienceMs, () => store.find(secret(name)) !== undefined);
    assert.notEqual(uidOf(store.get(secret(name))), uidOf(old));
    await world.time.run(patienceMs);
    await untilRunning(world);
    if (restarts === 'nobody') assert.deepEqual(world.pods().map(uidOf), before);
    await world.end();
  });
}
