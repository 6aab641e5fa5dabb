/**
 * Three processes that share a log, from outside: what is acknowledged is on all of them, also
 * after the leader was killed in the middle, and on the killed one when it is back.
 */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';

const cluster = await startSvcCluster({
  size: 3,
  settings: calmElections,
});
after(() => cluster.dispose());

async function rows(member: Member, query: string): Promise<unknown> {
  return (await cluster.clientOf(member).query('music', query)).result;
}

/** Everybody who runs answers the same, soon. */
async function assertAll(expected: readonly string[]): Promise<void> {
  const wanted = JSON.stringify(expected.map(name => ({name})));
  for (const member of cluster.members.filter(({process}) => process.isRunning)) {
    await eventually(`${member.name} has ${wanted}`, async () => {
      return JSON.stringify(await rows(member, 'SELECT name FROM Artist ORDER BY name')) === wanted;
    });
  }
}

test('what is acknowledged is on all three, before and after a kill of the leader', async () => {
  const first = await untilLed(cluster);
  const insert = (member: Member, what: string): Promise<unknown> =>
    cluster.clientOf(member).command('music', `INSERT INTO Artist SET ${what}`);
  await cluster.clientOf(first).createDatabase('music');
  await cluster.clientOf(first).command('music', 'CREATE VERTEX TYPE Artist');
  await insert(first, "name = 'Ada'");
  await assertAll(['Ada']);

  await first.process.kill();
  const second = await untilLed(cluster);
  assert.notEqual(second, first);
  await insert(second, "name = 'Bea'");
  await assertAll(['Ada', 'Bea']);

  first.process.start();
  await untilLed(cluster);
  await assertAll(['Ada', 'Bea']);
  await insert(second, "name = 'Cid', songs = 3");
  await assertAll(['Ada', 'Bea', 'Cid']);
  for (const member of cluster.members) {
    const songs = await rows(member, 'SELECT songs FROM Artist WHERE songs > 2');
    assert.deepEqual(songs, [{songs: 3}]);
  }
});
