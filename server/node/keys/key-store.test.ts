/** Key stores: what can be listened with, and what stops a start. */
import assert from 'node:assert/strict';
import {copyFileSync, chmodSync, mkdtempSync, rmSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {createSecureContext, type SecureContextOptions} from 'node:tls';
import {createClock} from '#server/platform/real/clock.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {KeyStore} from './key-store.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls');
const folder = mkdtempSync(join(tmpdir(), 'svc-key-store-'));
const logged: string[] = [];
const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
after(() => rmSync(folder, {recursive: true}));

function file(name: string, from: string | Uint8Array): string {
  const path = join(folder, name);
  if (typeof from === 'string') copyFileSync(join(fixtures, from), path);
  else writeFileSync(path, from);
  chmodSync(path, 0o600);
  return path;
}

test('PEM and PKCS#12 can be listened with', () => {
  for (const [name, password] of [
    ['localhost.pem', ''],
    ['localhost.p12', 'only-for-tests'],
  ] as const) {
    const {options} = new KeyStore(file(name, name), password, logger);
    assert.ok(createSecureContext(options));
  }
});

test('a store that cannot be used is refused by its name', () => {
  const java = Buffer.from([0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2]);
  const wrong: readonly (readonly [string, string, RegExp])[] = [
    [join(folder, 'absent.pem'), '', /ENOENT.*svc\.ssl\.keyStore/],
    [file('wrong.p12', 'localhost.p12'), 'guess', /wrong\.p12 cannot be used/],
    [file('java.jks', java), '', /Java key store: convert/],
    [file('noise.p12', Buffer.from('noise')), '', /noise\.p12 cannot be used/],
    [
      file('half.pem', Buffer.from('-----BEGIN CERTIFICATE-----\n')),
      '',
      /half\.pem cannot be used/,
    ],
  ];
  for (const [path, password, says] of wrong) {
    assert.throws(() => new KeyStore(path, password, logger), {
      code: 'start.refused',
      message: says,
    });
  }
});

test('a key that others may read is warned about', () => {
  const path = file('open.pem', 'localhost.pem');
  chmodSync(path, 0o644);
  logged.length = 0;
  new KeyStore(path, '', logger);
  assert.deepEqual(logged, ['ssl.key-store-readable']);
});

test('a renewed file is taken over; one that cannot be used is reported and left', () => {
  const path = file('renewed.pem', 'localhost.pem');
  const timers = new ManualTimers();
  const renewed: SecureContextOptions[] = [];
  logged.length = 0;
  const store = new KeyStore(path, '', logger);
  const end = store.watch({clock: createClock(), timers}, keys => renewed.push(keys));
  timers.advance(60_000);
  assert.deepEqual([renewed.length, logged], [0, []]);
  utimesSync(path, 1, 1);
  timers.advance(60_000);
  assert.deepEqual([renewed.length, logged], [1, ['ssl.renewed']]);
  writeFileSync(path, 'noise');
  timers.advance(60_000);
  timers.advance(60_000);
  assert.deepEqual([renewed.length, logged], [1, ['ssl.renewed', 'ssl.renewal-failed']]);
  end();
});
