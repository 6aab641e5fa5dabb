/** Trust stores: what vouches for members, and what stops a start. */
import assert from 'node:assert/strict';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {readTrustStore} from './trust-store.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls');
const folder = mkdtempSync(join(tmpdir(), 'svc-trust-store-'));
after(() => rmSync(folder, {recursive: true}));

function read(path: string): readonly string[] {
  const values = {'svc.ssl.trustStore': path};
  return readTrustStore(resolveSettings([{name: 'test', values}]).settings);
}

test('the certificates of a PEM file, without the keys beside them', () => {
  assert.deepEqual(read(''), []);
  const [only, ...more] = read(join(fixtures, 'localhost.pem'));
  assert.match(only ?? '', /^-----BEGIN CERTIFICATE-----/);
  assert.deepEqual(more, []);
});

test('a store without a certificate that can be read is refused by its name', () => {
  const broken = join(folder, 'broken.pem');
  const half = join(folder, 'half.pem');
  const whole = readFileSync(join(fixtures, 'localhost.pem'));
  writeFileSync(half, Buffer.concat([whole, Buffer.from('-----BEGIN CERTIFICATE-----\nMIIB')]));
  writeFileSync(broken, '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n');
  for (const [path, says] of [
    [join(folder, 'absent.pem'), /ENOENT.*svc\.ssl\.trustStore/],
    [join(fixtures, 'localhost.p12'), /no certificate in PEM/],
    [half, /half\.pem cannot be used/],
    [broken, /broken\.pem cannot be used/],
  ] as const) {
    assert.throws(() => read(path), {name: 'Refusal', code: 'start.refused', message: says});
  }
});
