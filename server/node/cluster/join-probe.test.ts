/** A pod that starts: whom it asks, what it says of itself, and when it is content. */
import assert from 'node:assert/strict';
import {test, type TestContext} from 'node:test';
import {PeerClient} from '#server/protocols/http/relay/peer-client.ts';
import {followerState, leaderState, peerOf} from '#server/testing/cluster/member-states.ts';
import {MemoryCluster} from '#server/testing/cluster/memory-cluster.ts';
import {httpWorld} from '#server/testing/worlds/http-world.ts';
import {JoinProbe} from './join-probe.ts';

const pod = peerOf(2, {inConfiguration: false, isVoter: false});
const applicant = {
  id: pod.id,
  address: '127.0.0.1:2432:2482',
  name: 'db-2',
  priority: 0,
};

interface Probed {
  readonly own: MemoryCluster;
  readonly delays: readonly number[];
  readonly logged: readonly string[];
  /** Lets the next timer run and waits until the probe has set another one, or is content. */
  turn(): Promise<void>;
}

/** A pod beside members that answer at real ports; timers run when a test says so. */
async function podBeside(
  context: TestContext,
  members: readonly MemoryCluster[],
  remembers = true,
): Promise<Probed> {
  const peers = [];
  for (const [number, cluster] of members.entries()) {
    const world = await httpWorld({}, undefined, {cluster});
    context.after(() => world.server.close(0));
    peers.push(peerOf(number, {httpPort: world.port}));
  }
  for (const member of members) {
    member.current = {
      ...member.current,
      peers: [...peers, ...member.current.peers.slice(peers.length)],
    };
  }
  const own = new MemoryCluster(
    followerState({localPeerId: pod.id, leaderId: undefined, peers: [...peers, pod]}),
  );
  const peerClient = new PeerClient({
    isSecure: () => false,
    authorities: () => [],
    logger: {log: () => {}},
  });
  context.after(() => peerClient.close());
  const delays: number[] = [];
  const logged: string[] = [];
  let task: (() => void) | undefined;
  let told: (() => void) | undefined;
  const probe = new JoinProbe({
    cluster: own,
    peerClient,
    applicant,
    wasMember: () => remembers,
    timers: {
      after: (delayMs, next) => {
        delays.push(delayMs);
        task = next;
        told?.();
        return () => undefined;
      },
      yield: () => Promise.resolve(),
    },
    logger: {
      log: (_level, event, fields) => {
        logged.push(
          `${event} ${typeof fields?.['reason'] === 'string' ? fields['reason'] : ''}`.trim(),
        );
        told?.();
      },
    },
  });
  context.after(() => probe.end());
  return {
    own,
    delays,
    logged,
    async turn() {
      const {promise, resolve} = Promise.withResolvers<void>();
      told = resolve;
      task?.();
      await promise;
      await new Promise<void>(done => void setImmediate(done));
    },
  };
}

const two = [peerOf(0), peerOf(1)];

test('it finds the leader by way of a follower and is added', async context => {
  const follower = new MemoryCluster(followerState({localPeerId: peerOf(0).id, peers: two}));
  const leader = new MemoryCluster(
    leaderState({localPeerId: peerOf(1).id, leaderId: peerOf(1).id, peers: two}),
  );
  const {own, delays, logged, turn} = await podBeside(context, [follower, leader]);
  assert.deepEqual(delays, [1_000]);
  await turn();
  assert.deepEqual(follower.done, []);
  assert.deepEqual(leader.done, [
    [
      'add',
      {
        id: pod.id,
        host: '127.0.0.1',
        raftPort: 2432,
        httpPort: 2482,
        name: 'db-2',
        priority: 0,
        asksItself: true,
      },
    ],
  ]);
  assert.deepEqual(logged, ['cluster.not-joined it was added, and has not heard the leader yet']);
  own.current = followerState({localPeerId: pod.id, leaderId: peerOf(1).id});
  await turn();
  assert.equal(logged.at(-1), 'cluster.joined');
  assert.deepEqual(delays, [1_000, 2_000]);
});

test('a member that hears its leader asks nobody', async context => {
  const leader = new MemoryCluster(leaderState());
  const {own, logged, turn} = await podBeside(context, [leader]);
  own.current = followerState({localPeerId: pod.id});
  await turn();
  assert.deepEqual(logged, ['cluster.joined']);
  assert.deepEqual(leader.done, []);
});

test('one without a memory leaves it to its connections', async context => {
  const leader = new MemoryCluster(leaderState({peers: two}));
  const {own, logged, turn} = await podBeside(context, [leader], false);
  await turn();
  assert.deepEqual([leader.done, logged], [[], []]);
  own.current = followerState({localPeerId: pod.id});
  await turn();
  assert.deepEqual(logged, ['cluster.joined']);
});

test('one that is a member already waits, and asks less and less often', async context => {
  const leader = new MemoryCluster(leaderState());
  const {delays, logged, turn} = await podBeside(context, [leader]);
  for (let count = 0; count < 7; count++) await turn();
  assert.deepEqual(delays, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  assert.match(logged[0] ?? '', /it is a member, and has not heard the leader yet/);
  assert.deepEqual(leader.done, []);
});

test('why it is no member yet stands in its own log', async context => {
  const lost = new MemoryCluster(followerState({localPeerId: peerOf(0).id, leaderId: undefined}));
  const {own, logged, turn} = await podBeside(context, [lost]);
  await turn();
  assert.match(logged[0] ?? '', /127.0.0.1_2430 knows no leader/);
  own.current = {...own.current, peers: [peerOf(1, {httpPort: 1}), pod]};
  await turn();
  assert.match(logged[1] ?? '', /127.0.0.1_2431 did not answer: connect ECONNREFUSED/);
});
