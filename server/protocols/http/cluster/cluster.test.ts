/** The routes of the cluster over a socket, in front of a cluster that is kept in memory. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import type {ClusterState} from '#server/cluster/cluster.ts';
import {followerState, leaderState, peerOf} from '#server/testing/cluster/member-states.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {
  type Call,
  type HttpAnswer,
  type HttpWorld,
  httpWorld,
} from '#server/testing/worlds/http-world.ts';
import {root} from '#server/testing/worlds/service-world.ts';

async function worldOf(
  context: TestContext,
  state: ClusterState,
  settings: Readonly<Record<string, string>> = {},
): Promise<{readonly world: HttpWorld; readonly cluster: MemoryCluster}> {
  const cluster = new MemoryCluster(state);
  const world = await httpWorld(settings, undefined, {cluster});
  context.after(() => world.server.close(0));
  return {world, cluster};
}

const posted = (body: unknown): Call => ({method: 'POST', body});
const added = {peerId: 'db9_2439', address: 'db9:2439:2489'};
const noField = /Unknown field 'peer': expected 'peerId', 'timeoutMs'/;

/** What is asked of the leader of three, the status, what was done or what the answer says. */
const onLeader: readonly (readonly [string, Call, number, unknown])[] = [
  [
    '/cluster/peer',
    posted({...added, name: 'svc_9', priority: 3}),
    200,
    [
      'add',
      {
        id: 'db9_2439',
        host: 'db9',
        raftPort: 2439,
        httpPort: 2489,
        name: 'svc_9',
        priority: 3,
        asksItself: false,
      },
    ],
  ],
  ['/cluster/peer', {method: 'POST'}, 400, /Request body is required/],
  ['/cluster/peer', posted({peerId: 'db9_2439'}), 400, /'peerId' and 'address' are required/],
  ['/cluster/peer', posted({...added, host: 'x'}), 400, /Unknown field 'host'/],
  ['/cluster/peer', posted({...added, priority: -1}), 400, /must not be negative/],
  ['/cluster/peer', posted({...added, name: 'a/b'}), 400, /no name of a server: 'a\/b'/],
  ['/cluster/peer', posted({...added, peerId: 'db9'}), 400, /is 'db9_2439', not 'db9'/],
  ['/cluster/peer', posted({...added, address: 'db9:24390'}), 400, /is 'db9_24390'/],
  ['/cluster/peer', posted({...added, address: 'db9'}), 400, /host:raftPort:httpPort, not 'db9'/],
  ['/cluster/peer', posted({...added, address: 'db9:0:1'}), 400, /host:raftPort:httpPort/],
  [
    '/cluster/peer',
    posted({peerId: 'localhost_2430', address: 'localhost:2430'}),
    400,
    /'localhost:2430' is this server itself/,
  ],
  [
    '/cluster/peer',
    posted({peerId: '127.0.0.1_2430', address: '127.0.0.1:2430'}),
    400,
    /is this server itself/,
  ],
  [
    '/cluster/peer',
    posted({peerId: '127.0.0.1_2431', address: '127.0.0.1:2431'}),
    409,
    /is a member of the cluster already/,
  ],
  ['/cluster/peer/127.0.0.1_2431', {method: 'DELETE'}, 200, ['remove', peerOf(1).id, false]],
  ['/cluster/peer/nobody_1?force=true', {method: 'DELETE'}, 409, /nobody_1 is no member/],
  ['/cluster/peer/x?force=yes', {method: 'DELETE'}, 400, /'force' must be true or false/],
  ['/cluster/leader', posted({}), 200, ['transfer', undefined, 30_000]],
  [
    '/cluster/leader',
    posted({peerId: peerOf(2).id, timeoutMs: 500}),
    200,
    ['transfer', peerOf(2).id, 500],
  ],
  ['/cluster/leader', {method: 'POST'}, 400, /Request body is required/],
  ['/cluster/leader', posted({peer: 'x'}), 400, noField],
  ['/cluster/leader', posted({timeoutMs: 0}), 400, /must be from 1 to 600000/],
  ['/cluster/leader', posted({peerId: 'nobody_1'}), 409, /it is no member of the cluster/],
  ['/cluster/stepdown', {method: 'POST'}, 200, ['transfer', peerOf(1).id, 10_000]],
  ['/cluster/resync/db', {method: 'POST'}, 400, /leads, and others take their copies from it/],
];

for (const [path, call, status, expected] of onLeader) {
  const sent = call.body === undefined ? '' : ` ${JSON.stringify(call.body)}`;
  test(`on the leader: ${call.method} ${path}${sent} is ${status}`, async context => {
    const {world, cluster} = await worldOf(context, leaderState());
    const answer = await world.call(path, call);
    assert.equal(answer.status, status, answer.text);
    if (expected instanceof RegExp) {
      assert.match(answer.text, expected);
      assert.deepEqual(cluster.done, []);
    } else {
      assert.deepEqual(cluster.done, [expected]);
    }
  });
}

const leadersOnly: readonly (readonly [string, Call])[] = [
  ['/cluster/peer', posted(added)],
  ['/cluster/peer/127.0.0.1_2432', {method: 'DELETE'}],
  ['/cluster/leader', posted({})],
  ['/cluster/stepdown', {method: 'POST'}],
];

for (const [path, call] of leadersOnly) {
  test(`on a follower: ${call.method} ${path} is 409 and names the leader`, async context => {
    const {world, cluster} = await worldOf(context, followerState());
    const answer = await world.call(path, call);
    assert.equal(answer.status, 409);
    const {requestId, ...body} = answer.json as Record<string, unknown>;
    assert.equal(typeof requestId, 'string');
    assert.deepEqual(body, {
      error: 'This server is not the leader',
      exception: 'ServerIsNotTheLeaderException',
      detail: '127.0.0.1_2430 does not lead: 127.0.0.1_2431 does',
      leader: '127.0.0.1_2431',
      leaderHttpAddress: '127.0.0.1:2481',
    });
    assert.deepEqual(cluster.done, []);
  });
}

test('a leadership that ends meanwhile is told in the same way', async context => {
  const {world} = await worldOf(context, leaderState());
  const answer = await world.call('/cluster/leader', posted({timeoutMs: 666}));
  assert.equal(answer.status, 409);
  assert.match(answer.text, /"leader":"127.0.0.1_2430"/);
});

test('a follower takes a copy from the leader, if there is one', async context => {
  const {world, cluster} = await worldOf(context, followerState());
  const call = {method: 'POST'};
  const answer = await world.call('/cluster/resync/db', call);
  assert.deepEqual(answer.json, {
    result: "Database 'db' was taken from 127.0.0.1_2431",
    database: 'db',
    localServer: 'svc_0',
  });
  assert.equal((await world.call('/cluster/resync/nope', call)).status, 404);
  cluster.current = followerState({leaderId: undefined});
  assert.equal((await world.call('/cluster/resync/db', call)).status, 503);
});

/** A world whose leader it knows by its HTTP address. */
async function followerOf(
  context: TestContext,
  leader: HttpWorld,
  state: (peers: ClusterState['peers']) => ClusterState,
): ReturnType<typeof worldOf> {
  return worldOf(context, state([peerOf(0), peerOf(1, {httpPort: leader.port}), peerOf(2)]));
}

test('a follower leaves by asking the leader to remove it', async context => {
  const leader = await worldOf(context, leaderState({localPeerId: peerOf(1).id}));
  const {world} = await followerOf(context, leader.world, peers => followerState({peers}));
  const answer = await world.call('/cluster/leave', {method: 'POST'});
  assert.deepEqual(answer.json, {result: '127.0.0.1_2430 left the cluster'});
  assert.deepEqual(leader.cluster.done, [['remove', peerOf(0).id, false]]);
});

test('a leader that leaves hands over first, and its successor removes it', async context => {
  const next = await worldOf(context, leaderState({localPeerId: peerOf(1).id}));
  const {world, cluster} = await followerOf(context, next.world, peers => leaderState({peers}));
  const answer = await world.call('/cluster/leave?force=true', {method: 'POST'});
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(cluster.done, [['transfer', peerOf(1).id, 10_000]]);
  assert.deepEqual(next.cluster.done, [['remove', peerOf(0).id, true]]);
});

test('a leave that the leader refuses, or cannot be asked for, leaves a member', async context => {
  const two = [peerOf(0), peerOf(1, {progress: undefined})];
  const strict = await worldOf(context, leaderState({localPeerId: peerOf(1).id, peers: two}));
  const {world, cluster} = await followerOf(context, strict.world, peers => followerState({peers}));
  strict.cluster.current = leaderState({localPeerId: peerOf(1).id, peers: [peerOf(1), peerOf(2)]});
  const refused = await world.call('/cluster/leave', {method: 'POST'});
  assert.equal(refused.status, 409);
  assert.match(refused.text, /the leader keeps 127.0.0.1_2430: 127.0.0.1_2430 is no member/);
  cluster.current = followerState({peers: [peerOf(0), peerOf(1, {httpPort: 1})]});
  const silent = await world.call('/cluster/leave', {method: 'POST'});
  assert.equal(silent.status, 503);
  assert.match(silent.text, /the leader cannot be asked: 127.0.0.1_2431 did not answer/);
});

test('the only member has nothing to leave', async context => {
  const {world, cluster} = await worldOf(context, leaderState({peers: [peerOf(0)]}));
  const answer = await world.call('/cluster/leave', {method: 'POST'});
  assert.match(answer.text, /only member/);
  assert.deepEqual(cluster.done, []);
});

test('a server alone, and one that is starting, say so', async context => {
  const alone = await httpWorld();
  context.after(() => alone.server.close(0));
  const refused = await alone.call('/cluster');
  assert.equal(refused.status, 400);
  assert.match(refused.text, /runs alone: svc.ha.enabled/);
  assert.equal((await alone.call('/server?mode=cluster')).text.includes('"ha"'), false);
  const {world} = await worldOf(context, followerState({raftState: 'STARTING'}));
  assert.equal((await world.call('/cluster')).status, 503);
});

test('the cluster is for root alone', async context => {
  const {world} = await worldOf(context, leaderState());
  for (const path of ['/cluster', '/cluster/stepdown', '/cluster/leave']) {
    const method = path === '/cluster' ? 'GET' : 'POST';
    assert.equal((await world.call(path, {method, as: 'anna:anna-pass'})).status, 403, path);
  }
});

test('members alone may ask what is between members', async context => {
  const {world} = await worldOf(context, leaderState());
  for (const path of ['/cluster/capabilities', '/cluster/security-seed']) {
    for (const headers of [{}, {'X-Svc-Cluster-Token': 'a-token'}]) {
      assert.equal((await world.call(path, {method: 'POST', headers})).status, 401, path);
    }
  }
});

const byToken = {method: 'POST', as: 'none', headers: {'X-Svc-Cluster-Token': 'the-token'}};

test('a member tells another what it holds', async context => {
  const {world} = await worldOf(context, leaderState());
  const answer = await world.call('/cluster/capabilities', byToken);
  assert.deepEqual(answer.json, {
    peerId: '127.0.0.1_2430',
    version: '1.0',
    formats: {from: 1, to: 1},
    databases: ['db'],
  });
});

test('a leader asks all members at once which databases they hold', async context => {
  const other = await worldOf(context, followerState({localPeerId: peerOf(1).id}));
  await other.world.service.createDatabase(root, 'old');
  await other.world.service.dropDatabase(root, 'db');
  const peers = [peerOf(0), peerOf(1, {httpPort: other.world.port}), peerOf(2, {httpPort: 1})];
  const {world} = await worldOf(context, leaderState({peers}));
  const answer = await world.call('/cluster?presence=true');
  const {databasePresence} = answer.json as {databasePresence: unknown};
  const [first, second, third] = peers.map(({id}) => id);
  assert.deepEqual(databasePresence, {
    nodes: [first, second],
    unreachable: [third],
    databases: [
      {name: 'db', present: [first], missing: [second]},
      {name: 'old', present: [second], missing: [first]},
    ],
  });
  assert.deepEqual(alertsIn(answer), ['leader-missing-databases']);
});

test('the leader writes users, groups and tokens again where copies differ', async context => {
  const {world, cluster} = await worldOf(context, leaderState());
  const seeded = async (fingerprints: object): Promise<unknown> => {
    const body = {reason: 'rejoin', fingerprints};
    return (await world.call('/cluster/security-seed', {...byToken, body})).json;
  };
  const current = {upToDate: true, seeded: false, failedSeeds: []};
  const written = {upToDate: false, seeded: true, failedSeeds: []};
  assert.deepEqual(await seeded(world.security.fingerprints()), current);
  assert.deepEqual(await seeded({users: 'other'}), written);
  assert.equal((await world.call('/databases')).status, 200);
  const wrong = {...byToken, body: {fingerprints: {passwords: 'x'}}};
  assert.equal((await world.call('/cluster/security-seed', wrong)).status, 400);
  cluster.current = followerState();
  assert.equal((await world.call('/cluster/security-seed', byToken)).status, 409);
});

function alertsIn({json}: HttpAnswer): readonly string[] {
  return (json as {alerts: readonly {id: string}[]}).alerts.map(({id}) => id);
}

test('the status tells leader, peers, databases and alerts', async context => {
  const {world, cluster} = await worldOf(context, leaderState());
  const answer = await world.call('/cluster');
  assert.equal(answer.status, 200);
  const {leaderId, currentTerm, databases} = answer.json as Record<string, unknown>;
  assert.deepEqual([leaderId, currentTerm, databases], ['127.0.0.1_2430', 3, [{name: 'db'}]]);
  assert.deepEqual(alertsIn(answer), []);
  cluster.current = followerState({leaderId: undefined});
  assert.deepEqual(alertsIn(await world.call('/cluster')), ['no-leader']);
});

test('a member that is asked to be in good order is not ready without a leader', async context => {
  const strict = {'svc.server.readinessRequiresHA': 'true'};
  const {world, cluster} = await worldOf(context, followerState({leaderId: undefined}), strict);
  const answer = await world.call('/ready', {as: 'none'});
  assert.deepEqual([answer.status, answer.text], [503, 'No leader is known']);
  cluster.current = followerState();
  assert.equal((await world.call('/ready', {as: 'none'})).status, 204);
  const {world: lax} = await worldOf(context, followerState({leaderId: undefined}));
  assert.equal((await lax.call('/ready', {as: 'none'})).status, 204);
});

test('svc.server.readinessHAMaxLag is how far a member may be behind', async context => {
  const behind = followerState({appliedIndex: 100, commitIndex: 105, leaderCommitIndex: 105});
  const strict = {'svc.server.readinessRequiresHA': 'true'};
  for (const [lagMax, status] of [
    [4, 503],
    [5, 204],
  ] as const) {
    const values = {...strict, 'svc.server.readinessHAMaxLag': String(lagMax)};
    const {world} = await worldOf(context, behind, values);
    assert.equal((await world.call('/ready', {as: 'none'})).status, status);
  }
});

test('drivers and panels find the cluster in what the server says of itself', async context => {
  const {world} = await worldOf(context, leaderState());
  const {ha} = (await world.call('/server?mode=cluster', {as: 'anna:anna-pass'})).json as {
    ha: Record<string, unknown>;
  };
  assert.equal(ha['leaderAddress'], '127.0.0.1:2480');
  assert.equal(ha['replicaAddresses'], '127.0.0.1:2481,127.0.0.1:2482');
  const {metrics} = (await world.call('/server')).json as {
    metrics: {ha: Record<string, unknown>};
  };
  assert.equal(metrics.ha['svc_ha_leader'], 1);
  assert.equal(metrics.ha['svc_ha_followers_tracked'], 2);
  assert.deepEqual(metrics.ha['svc_ha_follower_replication_lag'], {
    '127.0.0.1_2431': 0,
    '127.0.0.1_2432': 0,
  });
});
