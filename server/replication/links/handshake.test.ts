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

function begin(
  side: Side,
  own: Hello,
  token = 'secret',
  alsoAccepted: readonly string[] = [],
): Handshake {
  return new Handshake({side, own, token, alsoAccepted, random});
}

/** What each side concludes; a rejection of a hello stands for both. */
function shake(dialler: Handshake, listener: Handshake): readonly (Trust | Rejection)[] {
  const rejection = listener.hear(dialler.hello) ?? dialler.hear(listener.hello);
  if (rejection !== undefined) return [rejection, rejection];
  const believed = listener.conclude(dialler.proof());
  return [dialler.conclude(listener.proof()), believed];
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

test('while a token changes, a listener takes the old one and goes on with it', () => {
  const [left, right] = shake(
    begin('dialler', alice, 'old'),
    begin('listener', bob, 'new', ['older', 'old']),
  );
  assert.ok(left !== undefined && right !== undefined);
  assert.ok('seeds' in left && 'seeds' in right);
  assert.deepEqual(left.seeds, right.seeds);
});

test('what a dialler accepts as a listener does not let a listener in', () => {
  const [left] = shake(begin('dialler', alice, 'new', ['old']), begin('listener', bob, 'old'));
  assert.ok(left !== undefined && 'reason' in left);
  assert.equal(left.reason, 'token');
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
  assert.equal(dialler.hear(listener.hello), undefined);
  const later = begin('listener', bob);
  assert.equal(later.hear(dialler.hello), undefined);
  const outcome = later.conclude(dialler.proof());
  assert.ok('reason' in outcome && outcome.reason === 'token');
});

test('a proof that is sent back is none', () => {
  const listener = begin('listener', bob);
  assert.equal(listener.hear(begin('dialler', alice).hello), undefined);
  const outcome = listener.conclude(listener.proof());
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
    assert.equal(outcome?.reason, 'malformed', text.slice(0, 40));
  }
  const early = begin('listener', bob).conclude(Buffer.alloc(32));
  assert.ok('reason' in early && early.reason === 'malformed');
});
