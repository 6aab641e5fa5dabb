/** The connections to other servers as their settings want them. */
import assert from 'node:assert/strict';
import {join} from 'node:path';
import {test} from 'node:test';
import {type RawSetting, resolveSettings} from '#server/base/setting-values.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {listeningHost} from './peer-connections.ts';
import {openTestLinks} from './testing-peer-links.ts';
import type {PeerLinks} from '#server/replication/links/peer-links.ts';

const host = '127.0.0.1';
const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls/peers');
const secured = {
  'svc.ha.tls.enabled': true,
  'svc.ha.tls.certChainFile': join(fixtures, 'node.pem'),
  'svc.ha.tls.privateKeyFile': join(fixtures, 'node.pem'),
  'svc.ha.tls.trustCertCollectionFile': join(fixtures, 'authority.pem'),
};

function open(port: number, values: Readonly<Record<string, RawSetting>>): PeerLinks {
  return openTestLinks(resolveSettings([{name: 'test', values}]).settings, port);
}

for (const [name, values] of [
  ['plain', {}],
  ['secured', secured],
] as const) {
  test(`two servers find each other over ${name} connections`, async () => {
    const ports = [await freePort(), await freePort()] as const;
    const [left, right] = [open(ports[0], values), open(ports[1], values)];
    const heard = Promise.withResolvers<string>();
    const news = {connected: () => undefined, lost: () => undefined, rejected: () => undefined};
    right.listen({...news, message: (from, bytes) => heard.resolve(`${from} ${bytes}`)});
    left.listen({
      ...news,
      message: () => undefined,
      connected: peer => void left.send(peer, [Buffer.from('hello')]),
    });
    try {
      await Promise.all([left.listenOn(host, ports[0]), right.listenOn(host, ports[1])]);
      left.setPeers([{id: `${host}_${ports[1]}`, host, port: ports[1]}]);
      assert.equal(await heard.promise, `${host}_${ports[0]} hello`);
    } finally {
      await Promise.all([left.close(), right.close()]);
    }
  });
}

test('keys that cannot be used, and a port that is taken, stop the start', async () => {
  const broken = {...secured, 'svc.ha.tls.privateKeyFile': ''};
  assert.throws(() => open(1, broken), {code: 'start.refused', message: /privateKeyFile/});
  const port = await freePort();
  const first = open(port, {});
  const second = open(port, {});
  const silent = (): void => undefined;
  const news = {message: silent, connected: silent, lost: silent, rejected: silent};
  first.listen(news);
  second.listen(news);
  try {
    await first.listenOn(host, port);
    await assert.rejects(second.listenOn(host, port), {
      code: 'start.refused',
      message: /svc\.ha\.raftPort/,
    });
  } finally {
    await Promise.all([first.close(), second.close()]);
  }
});

test('who is declared for this machine alone listens there alone', () => {
  assert.equal(listeningHost('127.0.0.2'), '127.0.0.2');
  assert.equal(listeningHost('localhost'), 'localhost');
  assert.equal(listeningHost('db-0.db.default'), undefined);
  assert.equal(listeningHost('10.0.0.1'), undefined);
});
