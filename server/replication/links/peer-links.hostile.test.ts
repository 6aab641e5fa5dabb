/** What strangers, broken peers and bad networks do to a node's connections: nothing lasting. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {FrameWriter} from './frame.ts';
import type {PeerLinksOptions} from './peer-links.ts';
import {introductionOf, LinkedNode, RawConnection, SilentPeer} from './testing-links.ts';

/** A node, and whatever is done to it; a healthy peer speaks with it before and after. */
async function attacked(
  attack: (node: LinkedNode) => Promise<void>,
  options: Partial<PeerLinksOptions> = {},
): Promise<void> {
  const node = await new LinkedNode('a_1', options).start();
  const healthy = await new LinkedNode('b_1').start();
  try {
    healthy.links.setPeers([node.address]);
    await healthy.hears('connected a_1');
    await attack(node);
    healthy.say(node, 'still here');
    await node.hears('b_1 says still here');
    assert.ok(!healthy.told.some(line => line.includes('obstacle')), healthy.told.join('\n'));
  } finally {
    await Promise.all([node.links.close(), healthy.links.close()]);
  }
}

const messageBytesMax = 1_000;

/** A frame of a message, spoilt. */
function spoilt(writer: FrameWriter, change: (frame: Buffer) => void): Buffer {
  const payload = Buffer.from('an entry of the log');
  const frame = Buffer.concat(writer.frame('message', [payload]));
  change(frame);
  return frame;
}

const faults: readonly (readonly [string, (frame: Buffer) => void, RegExp])[] = [
  ['a damaged frame', frame => void frame.writeUInt8(0, 20), /another checksum: damaged/],
  ['an older frame', frame => void frame.writeUInt8(0, 4), /frames of version 0; this release/],
  ['a newer frame', frame => void frame.writeUInt8(2, 4), /frames of version 2; this release/],
  ['a foreign frame', frame => void frame.write('GET /'), /is no peer of a cluster/],
  ['a giant', frame => void frame.writeUInt32LE(2 ** 31, 8), /at most 1000 are taken/],
  ['a second hello', frame => void frame.writeUInt8(0, 5), /another checksum|a second hello/],
];

for (const [name, change, reason] of faults) {
  test(`${name} of a peer ends its connection by name`, () =>
    attacked(
      async node => {
        const peer = await (await RawConnection.open(node.port)).introduce();
        peer.write(spoilt(peer.writer, change));
        await node.hears(/^rejected/);
        assert.match(node.told.join(), reason);
        assert.equal((await peer.next()).kind, 'refusal');
        await peer.isClosed;
      },
      {messageBytesMax},
    ));
}

test('what was recorded is worth nothing on another connection, nor twice on the same', () =>
  attacked(async node => {
    const peer = await (await RawConnection.open(node.port)).introduce();
    const recorded = peer.framed('message', Buffer.from('pay'));
    peer.write(recorded);
    await node.hears('x_1 says pay');
    peer.write(recorded);
    await peer.isClosed;
    const later = await (await RawConnection.open(node.port)).introduce();
    later.write(recorded);
    await later.isClosed;
    assert.equal(node.told.filter(line => line === 'x_1 says pay').length, 1);
  }));

test('before the handshake nobody may send much, or anything but a hello', () =>
  attacked(async node => {
    const giant = await RawConnection.open(node.port);
    giant.write(giant.framed('hello', Buffer.alloc(10_000)));
    await giant.isClosed;
    const hasty = await RawConnection.open(node.port);
    hasty.write(hasty.framed('message', Buffer.from('append this')));
    await hasty.isClosed;
    await node.hears('rejected: a message where a hello was due');
    assert.ok(!node.told.some(line => line.includes('says')));
  }));

test('a flood of silent connections keeps no peer out', () =>
  attacked(async node => {
    const flood = await Promise.all(Array.from({length: 300}, () => RawConnection.open(node.port)));
    const late = await new LinkedNode('c_1').start();
    late.links.setPeers([node.address]);
    await late.hears('connected a_1');
    // The oldest had to make room.
    await flood[0]?.isClosed;
    for (const connection of flood) connection.close();
    await late.links.close();
  }));

test('a flood from one address pushes out nobody who comes from another', () =>
  attacked(async node => {
    const peer = await RawConnection.open(node.port, 'x_1', '127.0.0.2');
    const flood = await Promise.all(Array.from({length: 300}, () => RawConnection.open(node.port)));
    await flood[0]?.isClosed;
    await peer.introduce();
    for (const connection of flood) connection.close();
  }));

test('strangers do not fill the log, whatever words they choose', () =>
  attacked(async node => {
    for (let at = 0; at < 300; at += 1) {
      const stranger = await RawConnection.open(node.port);
      const frame = stranger.framed('hello', Buffer.alloc(100));
      frame.writeUInt8(at % 255 === 1 ? 0 : at % 255, 4);
      stranger.write(frame);
      await stranger.isClosed;
    }
    const lines = node.told.filter(line => line.includes('peer.rejected'));
    assert.ok(lines.length <= 100, `${lines.length} lines`);
  }));

test('a peer that does not read costs its own queue, and no other peer anything', async () => {
  const queueBytesMax = 2 ** 20;
  const node = await new LinkedNode('a_1', {queueBytesMax}).start();
  const quick = await new LinkedNode('b_1').start();
  // It answers the handshake and then reads nothing more.
  const slow = await SilentPeer.open('c_1');
  try {
    node.links.setPeers([quick.address, slow.address]);
    await Promise.all([node.hears('connected b_1'), node.hears('connected c_1')]);
    const megabyte = Buffer.alloc(2 ** 20);
    let taken = 0;
    while (node.links.send('c_1', [megabyte])) taken++;
    const queued = (): number =>
      node.links.connections().find(({id}) => id === 'c_1')?.queuedBytes ?? 0;
    assert.ok(taken < 64, `${taken} messages`);
    assert.ok(queued() <= queueBytesMax + megabyte.length + 100, `${queued()} bytes`);
    for (let round = 0; round < 100; round++) assert.ok(!node.links.send('c_1', [megabyte]));
    assert.equal(node.links.connections().find(({id}) => id === 'c_1')?.dropped, 101);
    node.say(quick, 'quick');
    await quick.hears('a_1 says quick');
  } finally {
    slow.close();
    await Promise.all([node.links.close(), quick.links.close()]);
  }
});

test('a known name with another log is another node', () =>
  attacked(
    async node => {
      const impostor = await new LinkedNode('c_1', {
        introduce: () => introductionOf('c_1', {logId: 'another'}),
      }).start();
      impostor.links.setPeers([node.address]);
      await node.hears('rejected: c_1 comes with another log');
      await impostor.hears(/obstacle.*c_1 comes with another log/);
      await impostor.links.close();
    },
    {
      judge: (peer, {logId}) =>
        logId === `log of ${peer}` ? undefined : `${peer} comes with another log`,
    },
  ));
