/** `svc cluster` in front of a real HTTP server: what a person reads, and where requests go. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import type {ClusterState} from '#server/cluster/cluster.ts';
import {followerState, leaderState, peerOf} from '#server/testing/cluster/member-states.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {httpWorld, rootPassword} from '#server/testing/worlds/http-world.ts';
import {type PipedRun, svc} from '#server/testing/terminal/piped-command.ts';

interface Asked {
  readonly cluster: MemoryCluster;
  readonly address: string;
  readonly port: number;
  readonly run: (...words: readonly string[]) => Promise<PipedRun>;
}

async function memberOf(context: TestContext, state: ClusterState): Promise<Asked> {
  const cluster = new MemoryCluster(state);
  const world = await httpWorld({}, undefined, {cluster});
  context.after(() => world.server.close(0));
  const {port} = world;
  const address = `127.0.0.1:${port}`;
  const environment = {SVC_URL: `http://${address}`, SVC_PASSWORD: rootPassword};
  return {cluster, address, port, run: (...words) => svc(['cluster', ...words], environment)};
}

/** A follower whose leader listens on `httpPort`. */
function behind(httpPort: number): ClusterState {
  return followerState({peers: [peerOf(0), peerOf(1, {httpPort})]});
}

test('the status is a headline, a table of the peers, and the alerts', async context => {
  const out = {inConfiguration: false, isVoter: false, progress: undefined, release: undefined};
  const {run} = await memberOf(
    context,
    leaderState({peers: [peerOf(0), peerOf(1), peerOf(2), peerOf(3, out)]}),
  );
  const {code, out: text} = await run('status');
  assert.equal(code, 0);
  const lines = text.split('\n');
  assert.equal(lines[0], 'cluster svc: 127.0.0.1_2430 leads, term 3');
  assert.equal(lines[1], 'told by 127.0.0.1_2430 (RUNNING), applied 100');
  assert.match(text, /^peer +name +role +http +priority +status +lag +heard ms ago +version$/m);
  assert.match(text, /^127.0.0.1_2430 +svc_0 +LEADER +127.0.0.1:2480 +0 +1.0.0$/m);
  assert.match(text, /^127.0.0.1_2431 +svc_1 +FOLLOWER +127.0.0.1:2481 +0 +UNKNOWN +0 +5 +1.0.0$/m);
  assert.match(text, /^127.0.0.1_2433 +svc_3 +NOT_IN_CONFIGURATION/m);
  assert.match(
    text,
    /^WARNING peers-not-in-configuration: 127.0.0.1_2433 is in svc.ha.serverList/m,
  );
  assert.match(text, /^ {2}Add them on the leader \(svc cluster add/m);
});

test('a follower tells what it knows, and machines get JSON', async context => {
  const {run} = await memberOf(context, followerState({leaderId: undefined, appliedIndex: 90}));
  const told = await run('status');
  assert.match(told.out, /nobody leads, term 3/);
  assert.match(told.out, /^CRITICAL no-leader: Writes are refused/m);
  assert.match((await memberOf(context, followerState())).address, /:/);
  const json = await run('status', '--json');
  assert.equal((JSON.parse(json.out) as {leaderId: unknown}).leaderId, null);
});

test('presence is a table of databases by member', async context => {
  const {run} = await memberOf(context, leaderState({peers: [peerOf(0), peerOf(1)]}));
  const {out} = await run('status', '--presence');
  assert.match(out, /^database +127.0.0.1_2430$/m);
  assert.match(out, /^db +present$/m);
  assert.match(out, /^not reached: 127.0.0.1_2431$/m);
});

const requests: readonly (readonly [readonly string[], unknown])[] = [
  [
    ['add', 'db9:2434:2480', '--name', 'svc_9', '--priority', '2'],
    [
      'add',
      {
        id: 'db9_2434',
        host: 'db9',
        raftPort: 2434,
        httpPort: 2480,
        name: 'svc_9',
        priority: 2,
        asksItself: false,
      },
    ],
  ],
  [
    ['add', '[fd00::9]:2434'],
    [
      'add',
      {
        id: 'fd00::9_2434',
        host: 'fd00::9',
        raftPort: 2434,
        httpPort: undefined,
        name: undefined,
        priority: 0,
        asksItself: false,
      },
    ],
  ],
  [
    ['remove', peerOf(1).id],
    ['remove', peerOf(1).id, false],
  ],
  [
    ['remove', peerOf(1).id, '--force'],
    ['remove', peerOf(1).id, true],
  ],
  [['transfer'], ['transfer', undefined, 30_000]],
  [
    ['transfer', peerOf(2).id, '--timeout', '5'],
    ['transfer', peerOf(2).id, 5_000],
  ],
  [['stepdown'], ['transfer', peerOf(1).id, 10_000]],
];

for (const [words, done] of requests) {
  test(`svc cluster ${words.join(' ')}`, async context => {
    const {run, cluster} = await memberOf(context, leaderState());
    const {code, out, error} = await run(...words);
    assert.equal(code, 0, error);
    assert.match(out, /^\S.* \S+\n$/);
    assert.deepEqual(cluster.done, [done]);
  });
}

test('what only the leader does goes to it, and the answer says so', async context => {
  const leader = await memberOf(context, leaderState());
  const {run, cluster} = await memberOf(context, behind(leader.port));
  const {code, out} = await run('remove', peerOf(2).id);
  assert.equal(code, 0);
  assert.equal(out, `Peer 127.0.0.1_2432 removed\n(asked the leader at ${leader.address})\n`);
  assert.deepEqual(cluster.done, []);
  assert.deepEqual(leader.cluster.done, [['remove', peerOf(2).id, false]]);
});

test('who is alone has nothing to leave', async context => {
  const {run} = await memberOf(context, leaderState({peers: [peerOf(0)]}));
  assert.match((await run('leave', '--force')).out, /only member/);
});

test('a leader that leads no more is not asked a third time', async context => {
  const other = await memberOf(context, followerState());
  const {run} = await memberOf(context, behind(other.port));
  const {code, error} = await run('stepdown');
  assert.equal(code, 1);
  assert.match(error, /127.0.0.1_2430 does not lead: 127.0.0.1_2431 does \(status 409\)/);
});

test('a follower takes its copy itself', async context => {
  const {run, cluster} = await memberOf(context, followerState());
  const {out} = await run('resync', 'db');
  assert.equal(out, "Database 'db' was taken from 127.0.0.1_2431\n");
  assert.deepEqual(cluster.done, [['resync', 'db']]);
});

const mistakes: readonly (readonly [readonly string[], number, RegExp])[] = [
  [['statsu'], 2, /no action 'statsu': did you mean status\?/],
  [['stepdown', 'x'], 2, /stepdown takes no TARGET, but 'x' is given/],
  [['remove'], 2, /TARGET is missing: the id of the member/],
  [['status', '--force'], 2, /--force belongs to remove and leave, not to status/],
  [['add', 'db9'], 1, /'db9' is no address: give HOST:RAFTPORT:HTTPPORT/],
  [['add', 'db9:1:2', '--priority', 'high'], 2, /--priority is a number, not 'high'/],
  [['remove', 'nobody_1'], 1, /nobody_1 is no member of the cluster/],
  [['resync', 'db'], 1, /leads, and others take their copies from it/],
];

for (const [words, code, message] of mistakes) {
  test(`svc cluster ${words.join(' ')} is refused`, async context => {
    const {run, cluster} = await memberOf(context, leaderState());
    const ran = await run(...words);
    assert.equal(ran.code, code, ran.error);
    assert.match(ran.error, message);
    assert.deepEqual(cluster.done, []);
  });
}
