/** Handshakes: who is believed, who is turned away, and what a recording is worth. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createRandom} from '#server/platform/real/clock.ts';
import type {PeerIntroduction} from '../peer-transport.ts';
import {Handshake, type Hello, type Rejection, type Side, type Trust} from './handshake.ts';

const random = createRandom();
const introduction: PeerIntroduction = {
  serverName: 'svc_0',
  formats: {from: 1, to: 2},
  release: '26.11.1',
  logId: 'log',
  httpPort: 2480,
  httpsPort: undefined,
};
const alice: Hello = {cluster: 'c', from: 'a_1', to: 'b_1', introduction};
const bob: Hello = {...alice, from: 'b_1', to: ''};

function begin(side: Side, own: Hello, token = 'secret'): Handshake {
  return new Handshake({side, own, token, random});
}

/** What each side concludes; a rejection of a hello stands for both. */
function shake(dialler: Handshake, listener: Handshake): readonly (Trust | Rejection)[] {
  const answer = listener.hear(dialler.hello);
  if (!Buffer.isBuffer(answer)) return [answer, answer];
  const proof = dialler.hear(listener.hello);
  if (!Buffer.isBuffer(proof)) return [proof, proof];
  return [dialler.conclude(answer), listener.conclude(proof)];
}

test('two that know the token trust each other and agree on the seeds', () => {
  const [left, right] = shake(begin('dialler', alice), begin('listener', bob));
  assert.ok(left !== undefined && right !== undefined);
  assert.ok('seeds' in left && 'seeds' in right);
  assert.deepEqual(left.seeds, right.seeds);
  assert.notEqual(left.seeds.dialler, left.seeds.listener);
  assert.deepEqual([left.peer.from, right.peer.from], ['b_1', 'a_1']);
  assert.deepEqual({...introduction, ...left.peer.introduction}, introduction);
});

const strangers: readonly (readonly [string, Hello, Hello, string, Rejection['reason']])[] = [
  ['another token', alice, bob, 'guess', 'token'],
  ['another cluster', {...alice, cluster: 'd'}, bob, 'secret', 'cluster'],
  ['an address that passed to another', {...alice, to: 'c_1'}, bob, 'secret', 'addressee'],
  ['itself', {...alice, from: 'b_1'}, bob, 'secret', 'itself'],
  ['a dialler that is not the one awaited', alice, {...bob, to: 'c_1'}, 'secret', 'addressee'],
];

for (const [name, left, right, token, reason] of strangers) {
  test(`${name} is turned away`, () => {
    for (const outcome of shake(begin('dialler', left, token), begin('listener', right))) {
      assert.ok('reason' in outcome);
      assert.equal(outcome.reason, reason);
      assert.ok(!outcome.detail.includes('secret'));
    }
  });
}

test('a recorded conversation proves nothing later', () => {
  const dialler = begin('dialler', alice);
  const listener = begin('listener', bob);
  listener.hear(dialler.hello);
  const proof = dialler.hear(listener.hello);
  assert.ok(Buffer.isBuffer(proof));
  const later = begin('listener', bob);
  assert.ok(Buffer.isBuffer(later.hear(dialler.hello)));
  const outcome = later.conclude(proof);
  assert.ok('reason' in outcome && outcome.reason === 'token');
});

test('a proof that is sent back is none', () => {
  const listener = begin('listener', bob);
  const proof = listener.hear(begin('dialler', alice).hello);
  assert.ok(Buffer.isBuffer(proof));
  const outcome = listener.conclude(proof);
  assert.ok('reason' in outcome && outcome.reason === 'token');
});

test('a hello that cannot be read is turned away', () => {
  const nonce = Buffer.alloc(16);
  const introduced = (changed: object): string =>
    JSON.stringify({...alice, introduction: {...introduction, ...changed}});
  const texts = [
    '',
    '{',
    'null',
    '[]',
    '{"cluster":1}',
    JSON.stringify({...alice, introduction: 1}),
    introduced({formats: 1}),
    introduced({logId: 7}),
    introduced({httpPort: 70_000}),
    introduced({httpsPort: '2490'}),
    introduced({release: 'x'.repeat(5_000)}),
  ];
  for (const text of texts) {
    const outcome = begin('listener', bob).hear(Buffer.concat([nonce, Buffer.from(text)]));
    assert.ok(!Buffer.isBuffer(outcome) && outcome.reason === 'malformed', text.slice(0, 40));
  }
  const early = begin('listener', bob).conclude(Buffer.alloc(32));
  assert.ok('reason' in early && early.reason === 'malformed');
});
