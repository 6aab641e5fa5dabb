/** Connections over time: what silence, pauses and breaks mean, and what they do not. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {LinkedNode, RawConnection, SilentPeer} from './testing-links.ts';

/** A node whose time a test moves, and a peer that says nothing behind its handshake. */
async function beside(
  run: (node: LinkedNode, peer: SilentPeer, time: Time) => Promise<void>,
): Promise<void> {
  const time = new Time();
  const {timers, clock} = time;
  const node = await new LinkedNode('a_1', {timers, clock}).start();
  const peer = await SilentPeer.open('b_1');
  try {
    node.links.setPeers([peer.address]);
    await node.hears('connected b_1');
    await run(node, peer, time);
    assert.ok(!node.told.includes('lost b_1'));
  } finally {
    peer.close();
    await node.links.close();
  }
}

/** Timers, and a clock that may go on without them, as when the process stood still. */
class Time {
  readonly timers = new ManualTimers();
  #stoodStillMs = 0;
  readonly clock = {
    now: () => this.timers.now() + this.#stoodStillMs,
    monotonic: () => this.timers.now() + this.#stoodStillMs,
  };

  standStill(ms: number): void {
    this.#stoodStillMs += ms;
  }
}

test('a connection over which nothing comes back is dialled anew after seconds', () =>
  beside(async (node, _, {timers}) => {
    timers.advance(4_000);
    assert.ok(node.links.connections()[0]?.isConnected);
    timers.advance(1_000);
    await node.hears(/obstacle.*no answer for 5000 ms/);
    await node.hears('connected b_1', 2);
  }));

test('a peer that is heard, and does not hear us, is dialled anew a little later', () =>
  beside(async (node, _, {timers}) => {
    const itsOwn = await (await RawConnection.open(node.port, 'b_1')).introduce();
    for (let second = 1; second < 10; second += 1) {
      timers.advance(1_000);
      itsOwn.write(itsOwn.framed('ping', Buffer.alloc(0)));
      assert.equal((await itsOwn.next()).kind, 'pong');
    }
    assert.ok(!node.told.join().includes('obstacle'));
    timers.advance(1_000);
    await node.hears(/obstacle.*no answer for 10000 ms/);
    await node.hears('connected b_1', 2);
    itsOwn.close();
  }));

test('a pause of this process is no silence of the others', () =>
  beside(async (node, _, time) => {
    time.standStill(20_000);
    time.timers.advance(1_000);
    assert.ok(node.links.connections()[0]?.isConnected);
  }));

test('a connection that breaks while the port answers is no end of the peer', () =>
  beside(async (node, peer) => {
    peer.drop();
    await node.hears('connected b_1', 2);
    node.links.reset('b_1');
    await node.hears('connected b_1', 3);
  }));

test('who does not introduce itself, or says nothing for long, is let go', async () => {
  const {timers, clock} = new Time();
  const node = await new LinkedNode('a_1', {timers, clock}).start();
  try {
    const stranger = await RawConnection.open(node.port);
    const peer = await (await RawConnection.open(node.port, 'b_1')).introduce();
    timers.advance(5_000);
    await stranger.isClosed;
    timers.advance(294_000);
    assert.ok(!node.told.join().includes('nothing came'));
    timers.advance(2_000);
    await peer.isClosed;
    assert.deepEqual(
      node.told.filter(line => line.startsWith('rejected')),
      ['rejected: no handshake within 5000 ms', 'rejected: nothing came for 300000 ms'],
    );
  } finally {
    await node.links.close();
  }
});

test('a member that is let go loses its connections, and another in its place gets its own', () =>
  beside(async (node, peer) => {
    const removed = await (await RawConnection.open(node.port, 'b_1')).introduce();
    node.links.setPeers([]);
    await removed.isClosed;
    assert.deepEqual(node.links.connections(), []);
    assert.ok(!node.links.send('b_1', [Buffer.from('x')]));
    node.links.setPeers([peer.address]);
    await node.hears('connected b_1', 2);
  }));
