/** Certificates that this folder writes, judged by the reader of Node.js and by a handshake. */
import assert from 'node:assert/strict';
import {X509Certificate} from 'node:crypto';
import {once} from 'node:events';
import {test} from 'node:test';
import tls from 'node:tls';
import {createRandom} from '#server/platform/real/clock.ts';
import {type KeyPair, x509} from './certificates.ts';

const random = createRandom();
const dayMs = 86_400_000;
const nowMs = Date.UTC(2026, 10, 24);
const validity = {notBeforeMs: nowMs, notAfterMs: nowMs + 90 * dayMs};
const hosts = ['*.db-headless.shop.svc.cluster.local', 'db-rw.shop.svc'];

function made(): {readonly authority: KeyPair; readonly server: KeyPair} {
  const authority = x509.authority('svc db in shop', validity, random);
  return {authority, server: x509.server(authority, hosts, validity, random)};
}

test('a certificate names its hosts, its time, its usages and who vouches for it', () => {
  const {authority, server} = made();
  const [root, leaf] = [authority, server].map(one => new X509Certificate(one.certificate));
  assert.ok(root && leaf);
  assert.ok(root.ca && !leaf.ca);
  assert.ok(root.verify(root.publicKey) && leaf.verify(root.publicKey));
  assert.ok(leaf.checkIssued(root));
  assert.equal(leaf.checkHost('db-2.db-headless.shop.svc.cluster.local') !== undefined, true);
  assert.equal(leaf.checkHost('db-rw.shop.svc') !== undefined, true);
  assert.equal(leaf.checkHost('db-rw.other.svc'), undefined);
  assert.deepEqual(
    [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)],
    [validity.notBeforeMs, validity.notAfterMs],
  );
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  assert.ok(!new X509Certificate(made().authority.certificate).verify(root.publicKey));
});

test('times from 2050 on are written in the long form', () => {
  const late = {notBeforeMs: nowMs, notAfterMs: Date.UTC(2061, 4, 5, 6, 7, 8)};
  const {certificate} = x509.authority('late', late, random);
  assert.equal(Date.parse(new X509Certificate(certificate).validTo), late.notAfterMs);
});

async function handshake(serverKeys: KeyPair, clientKeys: KeyPair, ca: string): Promise<string> {
  const given = (keys: KeyPair) => ({key: keys.key, cert: keys.certificate, ca});
  const server = tls.createServer({...given(serverKeys), requestCert: true});
  server.on('tlsClientError', () => undefined);
  server.on('secureConnection', socket => socket.end('well met'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const servername = 'db-0.db-headless.shop.svc.cluster.local';
  const socket = tls.connect({host: '127.0.0.1', port, servername, ...given(clientKeys)});
  let words = '';
  socket.on('data', (bytes: Buffer) => (words += bytes.toString()));
  // Whoever is turned away may hear of it after its own side was content.
  socket.on('error', () => socket.destroy());
  await new Promise(resolve => socket.once('close', resolve));
  server.close();
  await once(server, 'close');
  return words;
}

test('two servers believe each other, and neither one of another authority', async () => {
  // Judged against the clock of the machine.
  const today = Date.now();
  const now = {notBeforeMs: today - dayMs, notAfterMs: today + dayMs};
  const own = x509.authority('own', now, random);
  const other = x509.authority('other', now, random);
  const [left, right] = [own, own].map(by => x509.server(by, hosts, now, random));
  const stranger = x509.server(other, hosts, now, random);
  assert.ok(left && right);
  assert.equal(await handshake(left, right, own.certificate), 'well met');
  assert.notEqual(await handshake(left, stranger, own.certificate), 'well met');
  const both = own.certificate + other.certificate;
  assert.equal(await handshake(left, stranger, both), 'well met');
});
