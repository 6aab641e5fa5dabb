/** Connections of peers on real sockets: what gets through, who is turned away, who is gone. */
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {test} from 'node:test';
import type {Timers} from '#server/platform/clock.ts';
import {createTimers} from '#server/platform/real/clock.ts';
import {LinkedNode, loopback} from './testing-links.ts';
import type {PeerLinksOptions} from './peer-links.ts';

/** Two nodes that know each other; `options` are the second one's. */
async function pair(
  run: (left: LinkedNode, right: LinkedNode) => Promise<void>,
  options: Partial<PeerLinksOptions> = {},
): Promise<void> {
  const left = await new LinkedNode('a_1').start();
  const right = await new LinkedNode('b_1', options).start();
  try {
    left.links.setPeers([right.address]);
    right.links.setPeers([left.address]);
    await run(left, right);
  } finally {
    await Promise.all([left.links.close(), right.links.close()]);
  }
}

test('messages of both sides arrive whole and in order', () =>
  pair(async (left, right) => {
    await Promise.all([left.hears('connected b_1'), right.hears('connected a_1')]);
    for (let number = 0; number < 100; number++) assert.ok(left.say(right, `number ${number}`));
    right.say(left, 'answer');
    await Promise.all([right.hears('a_1 says number 99'), left.hears('b_1 says answer')]);
    const numbers = right.told.filter(line => line.startsWith('a_1 says'));
    assert.deepEqual(
      numbers,
      Array.from({length: 100}, (_, number) => `a_1 says number ${number}`),
    );
    const [connection] = left.links.connections();
    assert.equal(connection?.introduction?.serverName, 'b_1');
    assert.equal(connection.obstacle, undefined);
    assert.ok(connection.heardAt !== undefined);
  }));

const strangers: readonly (readonly [string, Partial<PeerLinksOptions>, RegExp])[] = [
  ['another token', {token: 'guess'}, /does not know the token of this cluster/],
  ['another cluster', {cluster: 'd'}, /belongs to the cluster 'c', not to 'd'/],
  ['another name', {id: 'c_1'}, /looked for b_1, and here is c_1/],
  ['our own name', {id: 'a_1'}, /the address leads to this node itself/],
];

for (const [name, options, reason] of strangers) {
  test(`a peer with ${name} is turned away, and both sides say why`, async () => {
    const left = await new LinkedNode('a_1').start();
    const right = await new LinkedNode('b_1', options).start();
    try {
      left.links.setPeers([{id: 'b_1', host: loopback, port: right.port}]);
      await right.hears(/^rejected/);
      await left.hears(/^warn peer.obstacle/);
      assert.match(right.told.join(), reason);
      assert.ok(![...left.told, ...right.told].join().includes('secret'));
      assert.ok(!left.told.some(line => line.startsWith('connected')));
      const [connection] = left.links.connections();
      assert.match(connection?.obstacle ?? '', reason);
    } finally {
      await Promise.all([left.links.close(), right.links.close()]);
    }
  });
}

test('a killed process is known to be gone without waiting for silence', async () => {
  // A dial is repeated after milliseconds; what counts silence, from a second on, never fires.
  const real = createTimers();
  const timers: Timers = {
    after: (delayMs, task) => (delayMs < 1_000 ? real.after(delayMs, task) : () => {}),
    yield: () => real.yield(),
  };
  const left = await new LinkedNode('a_1', {timers}).start();
  const program = join(import.meta.dirname, 'testing-peer-process.ts');
  const child = spawn(
    process.execPath,
    ['--conditions=source', program, 'b_1', 'a_1', String(left.port)],
    {stdio: ['ignore', 'pipe', 'inherit']},
  );
  try {
    const [port] = await once(child.stdout, 'data');
    left.links.setPeers([{id: 'b_1', host: loopback, port: Number(String(port))}]);
    await left.hears('connected b_1');
    child.kill('SIGKILL');
    await left.hears('lost b_1');
    assert.equal(left.told.filter(line => line === 'lost b_1').length, 1);
  } finally {
    child.kill('SIGKILL');
    await left.links.close();
  }
});
