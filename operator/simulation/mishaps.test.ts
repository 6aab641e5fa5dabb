/** What people take away by mistake comes back. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {KubeObject} from '#operator/api/kube-object.ts';
import {kinds} from '#operator/kubernetes/kinds.ts';
import {textOfSecret} from '#operator/kubernetes/secret-text.ts';
import {type Tokens, TOKENS_KEY, tokensOf} from '#operator/objects/tokens.ts';
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
const tokensHeld = (held: KubeObject): Tokens => tokensOf(held, textOfSecret(held, TOKENS_KEY));
const secret = (name: string) => ({kind: kinds.secret, namespace: 'shop', name});

for (const [name, restarts] of [
  ['db-root', 'nobody'],
  ['db-token', 'in rounds'],
  ['db-tokens', 'nobody'],
  ['db-tokens-kept', 'nobody'],
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

/** Rounds of a change, of which each is begun within seconds of the end of the one before. */
for (const round of ['joined', 'turned', 'single'] as const) {
  test(`the Secret db-tokens deleted in the round ${round} is made anew as it was`, async () => {
    const world = await runningWorld(11);
    const {store} = world.kubernetes;
    const token = Buffer.from('another-token').toString('base64');
    store.patch(secret('db-token'), {data: {token}});
    const isRound = (): boolean => {
      const held = store.find(secret('db-tokens'));
      const {step, phase} = held === undefined ? {step: 0, phase: undefined} : tokensHeld(held);
      return step > 0 && phase === round;
    };
    assert.ok(await world.time.run(patienceMs, isRound));
    // Some members of the round have started anew, and others have not.
    await world.time.run(20_000);
    const old = tokensHeld(store.get(secret('db-tokens')));
    store.delete(secret('db-tokens'), {});
    await world.time.run(patienceMs, () => store.find(secret('db-tokens')) !== undefined);
    assert.deepEqual(tokensHeld(store.get(secret('db-tokens'))), old);
    await world.time.run(patienceMs);
    await untilRunning(world);
    const {lines, phase} = tokensHeld(store.get(secret('db-tokens')));
    assert.deepEqual([lines, phase], [['another-token'], 'single']);
    assert.deepEqual(world.servers.violations, []);
    await world.end();
  });
}

test('a cluster applied again with another port than its volumes have says so', async () => {
  const world = await runningWorld(3);
  const remove = (): void =>
    world.kubernetes.store.delete({kind: kinds.cluster, namespace: 'shop', name: 'db'}, {});
  const {initial} = [...world.servers.groups.values()][0] ?? {};
  remove();
  assert.ok(await world.time.run(patienceMs, () => world.pods().length === 0));
  world.create({ha: {raftPort: 2500}});
  await world.time.run(patienceMs);
  const {status} = world.cluster();
  const said = status?.conditions?.find(({type}) => type === 'Reconciled');
  assert.equal(said?.reason, 'SpecInvalid');
  assert.match(said?.message ?? '', /apply it with that port/);
  assert.equal(world.pods().length, 0, 'nothing starts that would never be found');
  remove();
  world.create({});
  await untilRunning(world);
  assert.deepEqual([...world.servers.groups.values()][0]?.initial, initial);
  assert.deepEqual(world.servers.violations, []);
  await world.end();
});
