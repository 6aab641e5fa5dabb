/**
 * `svc cluster` against real members: the leadership moves as it is asked to, a member leaves and
 * is added again, and what a follower lost it takes from the leader by itself.
 */
import assert from 'node:assert/strict';
import {existsSync, rmSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {type Member, untilLed} from '#server/testing/cluster/cluster-system.ts';
import {calmElections, startSvcCluster} from '#server/testing/cluster/svc-cluster.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {rootPassword, runSvc} from '#server/testing/worlds/server-process.ts';

const cluster = await startSvcCluster({
  size: 3,
  settings: {
    ...calmElections,
    'svc.ha.healthCheckInterval': 300,
  },
});
after(() => cluster.dispose());

/** Runs a command of `svc` at one member; it succeeds. */
async function done(at: Member, ...words: readonly string[]): Promise<string> {
  const environment = {SVC_URL: at.url, SVC_PASSWORD: rootPassword};
  const {code, out, error} = await runSvc(words, environment, '');
  assert.equal(code, 0, `${words.join(' ')}: ${error}`);
  return out;
}

interface Status {
  readonly localPeerId: string;
  readonly alerts: readonly {readonly id: string}[];
  readonly peers: readonly {readonly id: string; readonly role: string}[];
}

async function statusAt(member: Member): Promise<Status> {
  return JSON.parse(await done(member, 'cluster', 'status', '--json')) as Status;
}

function roleIn({peers}: Status, wanted: string): string | undefined {
  return peers.find(({id}) => id === wanted)?.role;
}

/** Sends a server command to a member, which has nothing to say. */
async function administer(member: Member, command: string): Promise<void> {
  assert.deepEqual(await cluster.clientOf(member).serverCommand(command), {result: 'ok'});
}

test('a cluster is looked at and changed from a shell, and mends a copy by itself', async () => {
  const first = await untilLed(cluster);
  const [other, third] = cluster.members.filter(member => member !== first) as [Member, Member];
  const {localPeerId: otherId} = await statusAt(other);
  const {localPeerId: thirdId} = await statusAt(third);
  await done(other, 'database', 'create', 'music');
  await done(other, 'query', 'music', 'CREATE DOCUMENT TYPE Artist');
  await done(other, 'query', 'music', "INSERT INTO Artist SET name = 'Ada'");

  const moved = await done(third, 'cluster', 'transfer', otherId);
  assert.match(moved, new RegExp(`^Leadership transferred to ${otherId}`));
  assert.equal(await untilLed(cluster), other);
  for (const member of cluster.members) {
    const path = '/api/v1/server?mode=cluster';
    const {text} = await cluster.clientOf(member).send({method: 'GET', path, again: true});
    const {ha} = JSON.parse(text) as {readonly ha: {readonly leader: string}};
    assert.equal(ha.leader, other.name, 'named alike wherever it is asked');
  }

  await done(third, 'cluster', 'leave');
  const without = await statusAt(other);
  assert.equal(roleIn(without, thirdId), 'NOT_IN_CONFIGURATION');
  assert.ok(without.alerts.some(({id}) => id === 'peers-not-in-configuration'));
  const address = `${thirdId.replace('_', ':')}:${third.httpPort}`;
  await done(first, 'cluster', 'add', address);
  await done(first, 'query', 'music', "INSERT INTO Artist SET name = 'Bea'");
  await administer(third, 'disconnect cluster');
  assert.equal(roleIn(await statusAt(other), thirdId), 'NOT_IN_CONFIGURATION');
  // Asked of a follower, which has the leader do it.
  await administer(first, `connect cluster ${address}`);
  assert.equal(roleIn(await statusAt(other), thirdId), 'FOLLOWER');
  assert.match(await done(first, 'cluster', 'verify', 'music'), /^music: ALL_CONSISTENT/);

  await third.process.kill();
  const lost = join(cluster.folder, third.name, 'databases/music');
  rmSync(lost, {recursive: true});
  third.process.start();
  await eventually('the copy is there again', async () => {
    const {result} = await cluster
      .clientOf(third)
      .query('music', 'SELECT count(*) AS n FROM Artist');
    return existsSync(lost) && result[0]?.['n'] === 2;
  });
  assert.match(await done(third, 'cluster', 'verify', 'music'), /^music: ALL_CONSISTENT/);
});
