/** The way from a resource that a person wrote to a cluster that takes writes. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {OperatorWorld} from './operator-world.ts';

test('a minimal SvcCluster becomes a running cluster of three', async () => {
  const world = new OperatorWorld(1);
  world.startOperator();
  await world.time.run(5_000);
  world.create({});
  const isRunning = await world.time.run(
    180_000,
    () => world.cluster().status?.phase === 'Running',
  );
  const {status} = world.cluster();
  assert.ok(isRunning, JSON.stringify(status, undefined, 2));
  assert.equal(status?.readyReplicas, 3);
  assert.equal(status.voters, 3);
  assert.match(status.leader ?? '', /^db-[012]$/);
  await world.end();
});
