/** Connections that show a certificate, and whom it makes of them. */
import assert from 'node:assert/strict';
import {once} from 'node:events';
import {readFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import {test} from 'node:test';
import {connect, createServer, type TLSSocket} from 'node:tls';
import {closing} from '#server/testing/closing.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';
import {certifiedName, type CertifiedSocket} from './client-certificates.ts';

const keys = readFileSync(join(import.meta.dirname, '../testing/fixtures/tls/localhost.pem'));

/** The server's end of a connection that shows the certificate, or none. */
async function connection({shows, trusts}: {shows: boolean; trusts: boolean}): Promise<TLSSocket> {
  const options = {key: keys, cert: keys, requestCert: true, rejectUnauthorized: false};
  const server = closing(createServer({...options, ...(trusts && {ca: keys})}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  const own = shows ? {key: keys, cert: keys} : {};
  const client = connect({port, host: '127.0.0.1', rejectUnauthorized: false, ...own});
  closing({close: () => client.destroy()});
  const [socket] = (await once(server, 'secureConnection')) as [TLSSocket];
  return socket;
}

test('a certificate that is trusted names its user, another one or none nobody', async () => {
  const world = closing(await ServiceWorld.open({'svc.server.saltIterations': '1000'}));
  const {security} = world;
  await security.createUser({name: 'localhost', password: 'a-password', databases: {}});
  const named = certifiedName(await connection({shows: true, trusts: true}));
  assert.equal((await security.principalOfCertificate(named)).name, 'localhost');
  const nobody = {code: 'security.unauthenticated'};
  for (const [shows, trusts] of [
    [false, true],
    [true, false],
  ] as const) {
    const name = certifiedName(await connection({shows, trusts}));
    assert.equal(name, undefined);
    await assert.rejects(async () => security.principalOfCertificate(name), nobody);
  }
  await assert.rejects(async () => security.principalOfCertificate('somebody'), nobody);
  await security.dropUser('localhost');
  await assert.rejects(async () => security.principalOfCertificate(named), nobody);
});

test('a certificate with several names is none of them', () => {
  const socket = (subject: {readonly CN: unknown} | undefined): CertifiedSocket => ({
    authorized: true,
    getPeerCertificate: () => ({subject}),
  });
  assert.equal(certifiedName(socket({CN: ['ada', 'root']})), undefined);
  assert.equal(certifiedName(socket({CN: ''})), undefined);
  assert.equal(certifiedName(socket(undefined)), undefined);
  assert.equal(certifiedName(socket({CN: 'ada'})), 'ada');
});
