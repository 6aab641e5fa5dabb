/** Trust stores: what vouches for members, and what stops a start. */
import assert from 'node:assert/strict';
import {X509Certificate} from 'node:crypto';
import {copyFileSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {TrustStore} from './trust-store.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls');
const folder = mkdtempSync(join(tmpdir(), 'svc-trust-store-'));
after(() => rmSync(folder, {recursive: true}));

function open(path: string, password = ''): Promise<TrustStore> {
  const values = {'svc.ssl.trustStore': path, 'svc.ssl.trustStorePassword': password};
  return TrustStore.open(resolveSettings([{name: 'test', values}]).settings);
}

async function read(path: string, password = ''): Promise<readonly string[]> {
  return (await open(path, password)).authorities;
}

test('the certificates of a PEM file, without the keys beside them', async () => {
  assert.deepEqual(await read(''), []);
  const [only, ...more] = await read(join(fixtures, 'localhost.pem'));
  assert.match(only ?? '', /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(more, []);
});

test('the certificates of PKCS#12, as openssl and keytool pack them, of any key', async () => {
  const [own = ''] = await read(join(fixtures, 'localhost.pem'));
  const fingerprint = new X509Certificate(own).fingerprint256;
  for (const [name, count] of [
    ['trust.p12', 1],
    ['trust-java.p12', 2],
    ['localhost.p12', 1],
  ] as const) {
    const found = (await read(join(fixtures, name), 'only-for-tests')).map(
      text => new X509Certificate(text).fingerprint256,
    );
    assert.equal(found.length, count, name);
    assert.ok(found.includes(fingerprint), name);
  }
});

test('a store without a certificate that can be read is refused by its name', async () => {
  const broken = join(folder, 'broken.pem');
  const cut = join(folder, 'cut.p12');
  writeFileSync(cut, readFileSync(join(fixtures, 'trust.p12')).subarray(0, 300));
  const half = join(folder, 'half.pem');
  const whole = readFileSync(join(fixtures, 'localhost.pem'));
  writeFileSync(half, Buffer.concat([whole, Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB')]));
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
  for (const [path, says] of [
    [join(folder, 'absent.pem'), /ENOENT.*svc\.ssl\.trustStore/],
    [join(fixtures, 'trust.p12'), /trust\.p12 cannot be used: its password is another one/],
    [cut, /cut\.p12 cannot be used/],
    [join(fixtures, 'README.md'), /no certificate in PEM/],
    [half, /half\.pem cannot be used/],
    [broken, /broken\.pem cannot be used/],
  ] as const) {
    await assert.rejects(read(path), {name: 'Refusal', code: 'start.refused', message: says});
  }
});

test('a renewed store is taken over; one that cannot be used is reported and left', async () => {
  const path = join(folder, 'renewed.pem');
  const [first, second] = ['authority.pem', 'stranger-authority.pem'].map(name =>
    readFileSync(join(fixtures, 'peers', name), 'latin1'),
  );
  const timers = new ManualTimers();
  const logged: string[] = [];
  const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
  writeFileSync(path, `${first}`);
  utimesSync(path, 1, 1);
  const store = await open(path);
  const [before] = store.authorities;
  // Replaced before anybody looks: servers may wait for each other for minutes first.
  writeFileSync(path, `${first}${second}`);
  utimesSync(path, 2, 2);
  const end = store.watch({timers, logger});
  timers.advance(60_000);
  assert.deepEqual([store.authorities.length, logged], [2, ['ssl.trust-store.renewed']]);
  writeFileSync(path, `${second}`);
  utimesSync(path, 3, 3);
  timers.advance(60_000);
  assert.equal(store.authorities.length, 1);
  assert.notEqual(store.authorities[0], before);
  for (const wrong of ['noise', readFileSync(join(fixtures, 'trust.p12'))]) {
    const kept = store.authorities;
    logged.length = 0;
    writeFileSync(path, wrong);
    timers.advance(60_000);
    assert.deepEqual([store.authorities, logged], [kept, ['ssl.trust-store.renewal-failed']]);
  }
  end();
});

test('a packed store is taken over as well', async () => {
  const path = join(folder, 'renewed.p12');
  const timers = new ManualTimers();
  copyFileSync(join(fixtures, 'trust.p12'), path);
  const store = await open(path, 'only-for-tests');
  assert.equal(store.authorities.length, 1);
  copyFileSync(join(fixtures, 'trust-java.p12'), path);
  utimesSync(path, 1, 1);
  const end = store.watch({timers, logger: {log: () => {}}});
  timers.advance(60_000);
  assert.equal(store.authorities.length, 2);
  end();
});
