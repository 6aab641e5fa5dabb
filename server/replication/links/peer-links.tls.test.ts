/** Connections of peers under TLS: whose certificate is taken, and what is said of the others. */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {type PeerKeys, plainSockets, SecureSockets} from './socket-security.ts';
import {LinkedNode} from './testing-links.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls/peers');

function pem(name: string): Buffer {
  return readFileSync(join(fixtures, `${name}.pem`));
}

function keysOf(name: string, changed: Partial<PeerKeys> = {}): PeerKeys {
  return {key: pem(name), cert: pem(name), ca: pem('authority'), isMutual: true, ...changed};
}

/** A node of the authority and one with other keys, which both dial. */
async function pair(
  keys: PeerKeys | undefined,
  run: (left: LinkedNode, right: LinkedNode) => Promise<void>,
  own = keysOf('node'),
): Promise<void> {
  const left = await new LinkedNode('a_1', {security: new SecureSockets(own)}).start();
  const security = keys === undefined ? plainSockets : new SecureSockets(keys);
  const right = await new LinkedNode('b_1', {security}).start();
  try {
    left.links.setPeers([right.address]);
    right.links.setPeers([left.address]);
    await run(left, right);
  } finally {
    await Promise.all([left.links.close(), right.links.close()]);
  }
}

test('two nodes of one authority speak', () =>
  pair(keysOf('node'), async (left, right) => {
    await Promise.all([left.hears('connected b_1'), right.hears('connected a_1')]);
    left.say(right, 'hello');
    await right.hears('a_1 says hello');
  }));

test('renewed keys are those of the next connection', async () => {
  const security = new SecureSockets(keysOf('expired'));
  const left = await new LinkedNode('a_1', {security: new SecureSockets(keysOf('node'))}).start();
  const right = await new LinkedNode('b_1', {security}).start();
  try {
    left.links.setPeers([right.address]);
    await left.hears(/certificate has expired/);
    assert.throws(() => security.renew({...keysOf('node'), key: pem('stranger')}), /mismatch/);
    security.renew(keysOf('node'));
    await left.hears('connected b_1');
  } finally {
    await Promise.all([left.links.close(), right.links.close()]);
  }
});

const refusedAsServer: readonly (readonly [string, RegExp])[] = [
  ['elsewhere', /does not match certificate's altnames/],
  ['stranger', /unable to verify|unable to get|issuer|self.signed/i],
  ['expired', /certificate has expired/],
];

for (const [name, reason] of refusedAsServer) {
  test(`a node with the certificate '${name}' is not spoken to`, () =>
    pair(keysOf(name), async left => {
      await left.hears(/^warn peer.obstacle/);
      assert.match(left.links.connections()[0]?.obstacle ?? '', reason);
      assert.ok(!left.told.includes('connected b_1'));
    }));
}

const refusedAsClient: readonly (readonly [string, RegExp])[] = [
  ['stranger', /its certificate is not taken: UNABLE_TO/],
  ['expired', /its certificate is not taken: CERT_HAS_EXPIRED/],
  ['server-only', /its certificate is not taken: INVALID_PURPOSE/],
];

for (const [name, reason] of refusedAsClient) {
  test(`a node that comes with the certificate '${name}' is turned away and told so`, () =>
    pair(keysOf(name), async (left, right) => {
      await left.hears(/^rejected: its certificate/);
      assert.match(left.told.join(), reason);
      await right.hears(/^warn peer.obstacle.*its certificate/);
      assert.ok(!right.told.includes('connected a_1'));
    }));
}

test('without mutual authentication whoever comes needs the token alone', () =>
  pair(
    keysOf('stranger'),
    async (_, right) => {
      await right.hears('connected a_1');
    },
    keysOf('node', {isMutual: false}),
  ));

test('a node without TLS and one with it tell each other', () =>
  pair(undefined, async (left, right) => {
    await left.hears(/^rejected: no TLS handshake/);
    await right.hears(/^rejected: whoever speaks here is no peer of a cluster/);
  }));
