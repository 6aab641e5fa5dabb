/** `connect cluster` and `disconnect cluster`, in front of a cluster that is kept in memory. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import type {ClusterState} from '#server/cluster/cluster.ts';
import {followerState, leaderState, peerOf} from '#server/testing/cluster/member-states.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

async function worldOf(
  context: TestContext,
  state: ClusterState,
): Promise<{readonly world: HttpWorld; readonly cluster: MemoryCluster}> {
  const cluster = new MemoryCluster(state);
  const world = await httpWorld({'svc.ha.raftPort': 2430}, undefined, {cluster});
  context.after(() => world.server.close(0));
  return {world, cluster};
}

const db9 = {id: 'db9_2430', host: 'db9', raftPort: 2430, priority: 0};

/** What stands behind the keywords, and what the cluster was asked to add. */
const added: readonly (readonly [string, object])[] = [
  ['db9', db9],
  ['db9:2439:2489', {...db9, id: 'db9_2439', raftPort: 2439, httpPort: 2489}],
  [
    'svc_9@db9:2430:2489:3:2499',
    {...db9, httpPort: 2489, httpsPort: 2499, name: 'svc_9', priority: 3},
  ],
  ['db9:{http:2489, priority:1}', {...db9, httpPort: 2489, priority: 1}],
];

for (const [address, peer] of added) {
  test(`connect cluster ${address} adds the server, on the leader`, async context => {
    const {world, cluster} = await worldOf(context, leaderState());
    const answer = await world.command(`Connect CLUSTER ${address}`);
    assert.deepEqual(answer.json, {result: 'ok'});
    const [[word, given] = []] = cluster.done as [string, object][];
    assert.equal(word, 'add');
    assert.deepEqual(JSON.parse(JSON.stringify(given)), peer);
  });
}

const refused: readonly (readonly [string, number, RegExp])[] = [
  ['connect cluster', 400, /Server address empty/],
  ['connect cluster a/b', 400, /'a\/b' is no host/],
  ['connect cluster db9:0', 400, /'0' is no raft/],
  ['connect cluster db8,db9', 400, /one server has to be named/],
  ['connect cluster localhost', 400, /'localhost:2430' is this server itself/],
  ['connect cluster 127.0.0.1:2430:2480', 400, /is this server itself/],
  ['connect cluster 127.0.0.1:2431', 409, /is a member of the cluster already/],
  ['connect cluster svc_1@db9', 400, /the name 'svc_1' is that of/],
  ['disconnect cluster now', 400, /Syntax: disconnect cluster \[force\]/],
];

for (const [command, status, says] of refused) {
  test(`${command} is ${status}`, async context => {
    const {world, cluster} = await worldOf(context, leaderState());
    const answer = await world.command(command);
    assert.equal(answer.status, status, answer.text);
    assert.match(answer.text, says);
    assert.deepEqual(cluster.done, []);
  });
}

test('a server alone has no cluster, and only root is told so', async context => {
  const alone = await httpWorld();
  context.after(() => alone.server.close(0));
  for (const command of ['connect cluster db9', 'disconnect cluster']) {
    const answer = await alone.command(command);
    const {error, exception} = answer.json as Record<string, unknown>;
    assert.deepEqual(
      [answer.status, error, exception],
      [400, 'Cannot execute command', 'OperationNotAvailableException'],
    );
    assert.match(answer.text, /runs alone: set svc.ha.enabled/);
    assert.equal((await alone.command(command, {as: 'anna:anna-pass'})).status, 403);
  }
});

test('a follower refuses its own address itself', async context => {
  const {world, cluster} = await worldOf(context, followerState());
  const answer = await world.command('connect cluster 127.0.0.1:2430');
  assert.equal(answer.status, 400);
  assert.match(answer.text, /is this server itself/);
  assert.deepEqual(cluster.done, []);
});

/** A member that knows the leader by its HTTP address. */
async function besides(
  context: TestContext,
  leader: HttpWorld,
  state: (peers: ClusterState['peers']) => ClusterState,
): ReturnType<typeof worldOf> {
  return worldOf(context, state([peerOf(0), peerOf(1, {httpPort: leader.port}), peerOf(2)]));
}

test('a follower that is disconnected asks the leader to remove it', async context => {
  const leader = await worldOf(context, leaderState({localPeerId: peerOf(1).id}));
  const {world} = await besides(context, leader.world, peers => followerState({peers}));
  assert.deepEqual((await world.command('disconnect cluster')).json, {result: 'ok'});
  assert.deepEqual(leader.cluster.done, [['remove', peerOf(0).id, false]]);
});

test('a leader that is disconnected hands over first', async context => {
  const next = await worldOf(context, leaderState({localPeerId: peerOf(1).id}));
  const {world, cluster} = await besides(context, next.world, peers => leaderState({peers}));
  assert.deepEqual((await world.command('disconnect cluster force')).json, {result: 'ok'});
  assert.deepEqual(cluster.done, [['transfer', peerOf(1).id, 10_000]]);
  assert.deepEqual(next.cluster.done, [['remove', peerOf(0).id, true]]);
});

test('the only member stays, and one that the leader keeps is told why', async context => {
  const alone = await worldOf(context, leaderState({peers: [peerOf(0)]}));
  assert.deepEqual((await alone.world.command('disconnect cluster')).json, {result: 'ok'});
  assert.deepEqual(alone.cluster.done, []);
  const state = leaderState({localPeerId: peerOf(1).id, peers: [peerOf(1), peerOf(2)]});
  const leader = await worldOf(context, state);
  const {world} = await besides(context, leader.world, peers => followerState({peers}));
  const answer = await world.command('disconnect cluster');
  assert.equal(answer.status, 409);
  assert.match(answer.text, /the leader keeps 127.0.0.1_2430: 127.0.0.1_2430 is no member/);
});
