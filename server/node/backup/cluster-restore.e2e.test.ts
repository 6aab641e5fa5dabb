/**
 * A restore in a cluster: every member serves the restored database, new or in the place of an old
 * one, and goes on with it together; a member that was down takes its copy when it is back; and
 * where too few members can take one, everything stays as it was.
 */
import assert from 'node:assert/strict';
import {readdirSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {untilLed} from '#server/testing/cluster/cluster-system.ts';
import {startSvcCluster, type SvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {temporaryRoot} from '#server/testing/worlds/server-process.ts';

const base = temporaryRoot('cluster-restore');
after(() => rmSync(base, {recursive: true, force: true}));

async function names(client: Client, database: string): Promise<readonly unknown[]> {
  const {result} = await client.query(database, 'SELECT name FROM Artist ORDER BY name');
  return result.map(({name}) => name);
}

async function untilAllHave(
  cluster: SvcCluster,
  database: string,
  expected: readonly string[],
): Promise<void> {
  for (const member of cluster.members) {
    await eventually(`${member.name} has ${expected.join()} in ${database}`, async () => {
      assert.deepEqual(await names(cluster.clientOf(member), database), expected);
      return true;
    });
  }
}

test('a restore reaches every member', {timeout: 300_000}, async () => {
  const folder = join(base, 'three');
  const cluster = await startSvcCluster({size: 3, folder});
  try {
    const led = await untilLed(cluster);
    const leader = cluster.clientOf(led);
    await leader.createDatabase('music');
    await leader.command('music', 'CREATE VERTEX TYPE Artist');
    await leader.command('music', "INSERT INTO Artist SET name = 'Ada'");
    const made = await leader.serverCommand('trigger backup music');
    const file = String(made['fileName']);
    await leader.command('music', "INSERT INTO Artist SET name = 'Bea'");
    await untilAllHave(cluster, 'music', ['Ada', 'Bea']);

    await leader.serverCommand(`restore backup music ${file} as before`);
    await untilAllHave(cluster, 'before', ['Ada']);
    await leader.command('before', "INSERT INTO Artist SET name = 'Clara'");
    await untilAllHave(cluster, 'before', ['Ada', 'Clara']);

    // A follower that is asked hands the request on.
    const other = cluster.members.find(({name}) => name !== led.name);
    assert.ok(other !== undefined);
    const follower = cluster.clientOf(other);
    await follower.serverCommand(`restore backup music ${file} overwrite`);
    await untilAllHave(cluster, 'music', ['Ada']);
    await leader.command('music', "INSERT INTO Artist SET name = 'Dora'");
    await untilAllHave(cluster, 'music', ['Ada', 'Dora']);
    const {result} = await leader.cluster('POST', '/verify/music');
    assert.match(JSON.stringify(result), /ALL_CONSISTENT/);
    for (const member of cluster.members) {
      const directories = readdirSync(join(folder, member.name, 'databases'));
      assert.deepEqual(
        directories.filter(name => name.startsWith('.restoring')),
        [],
      );
    }
  } finally {
    await cluster.dispose();
  }
});

test('one member down: the others go on, and it takes its copy later', {
  timeout: 300_000,
}, async () => {
  const cluster = await startSvcCluster({size: 3, folder: join(base, 'down')});
  try {
    const led = await untilLed(cluster);
    const leader = cluster.clientOf(led);
    await leader.createDatabase('music');
    await leader.command('music', 'CREATE VERTEX TYPE Artist');
    await leader.command('music', "INSERT INTO Artist SET name = 'Ada'");
    const file = String((await leader.serverCommand('trigger backup music'))['fileName']);
    const [first, second] = cluster.members.filter(({name}) => name !== led.name);
    assert.ok(first !== undefined && second !== undefined);
    await first.process.kill();
    await leader.serverCommand(`restore backup music ${file} as before`);
    assert.deepEqual(await names(leader, 'before'), ['Ada']);
    first.process.start();
    await untilAllHave(cluster, 'before', ['Ada']);

    await first.process.kill();
    await second.process.kill();
    const restoring = leader.serverCommand(`restore backup music ${file} as alone`);
    await assert.rejects(restoring, error => error instanceof ServerError);
    first.process.start();
    second.process.start();
    await untilAllHave(cluster, 'before', ['Ada']);
    const halves = (): readonly string[] =>
      cluster.members
        .flatMap(({name}) => readdirSync(join(base, 'down', name, 'databases')))
        .filter(name => name.startsWith('.restoring'));
    await eventually('nothing half to be left of it', () => halves().length === 0);
    // Where its entry was in the leader's log already it may happen later: wholly then.
    const back = cluster.clientOf(await untilLed(cluster));
    const [database, ...others] = (await back.databases()).filter(name => name === 'alone');
    assert.deepEqual(others, []);
    if (database !== undefined) await untilAllHave(cluster, database, ['Ada']);
  } finally {
    await cluster.dispose();
  }
});
