/** Keys of the connections between servers: what stops a start, and what is warned about. */
import assert from 'node:assert/strict';
import {chmodSync, copyFileSync, mkdtempSync, rmSync, utimesSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {resolveSettings, type Settings} from '#server/base/setting-values.ts';
import {createClock} from '#server/platform/real/clock.ts';
import type {PeerKeys} from '#server/replication/links/socket-security.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {PeerKeyFiles} from './peer-keys.ts';

const fixtures = join(import.meta.dirname, '../../testing/fixtures/tls/peers');
const folder = mkdtempSync(join(tmpdir(), 'svc-peer-keys-'));
const logged: string[] = [];
const logger = {log: (_level: unknown, event: string) => void logged.push(event)};
after(() => rmSync(folder, {recursive: true}));

function file(name: string, from: {fixture: string} | {text: string}): string {
  const path = join(folder, name);
  if ('fixture' in from) copyFileSync(join(fixtures, from.fixture), path);
  else writeFileSync(path, from.text);
  chmodSync(path, 0o600);
  return path;
}

const node = file('node.pem', {fixture: 'node.pem'});
const authority = file('authority.pem', {fixture: 'authority.pem'});

function settingsWith(changed: Readonly<Record<string, string | boolean>>): Settings {
  const values = {
    'svc.ha.tls.certChainFile': node,
    'svc.ha.tls.privateKeyFile': node,
    'svc.ha.tls.trustCertCollectionFile': authority,
    ...changed,
  };
  return resolveSettings([{name: 'test', values}]).settings;
}

function open(changed: Readonly<Record<string, string | boolean>>, host?: string): PeerKeyFiles {
  logged.length = 0;
  return new PeerKeyFiles(settingsWith(changed), host, logger);
}

const cert = 'svc.ha.tls.certChainFile';
const key = 'svc.ha.tls.privateKeyFile';
const trust = 'svc.ha.tls.trustCertCollectionFile';
const absent = join(folder, 'absent.pem');
const oldKey = '-----BEGIN EC PRIVATE KEY-----\n';
const refused: readonly (readonly [string, string, string, RegExp])[] = [
  ['no certificate', cert, '', /needs a file: set svc\.ha\.tls\.certChainFile/],
  ['no key', key, '', /set svc\.ha\.tls\.privateKeyFile/],
  ['no authority', trust, '', /set svc\.ha\.tls\.trustCertCollectionFile/],
  ['a file that is not there', cert, absent, /ENOENT.*\(svc\.ha\.tls\.certChainFile\)/],
  ['noise', trust, file('noise', {text: 'noise'}), /noise cannot be used: it holds no cert/],
  ['no key in PEM', key, file('no-key', {text: 'noise'}), /no-key cannot be used: it holds no/],
  ['half a certificate', trust, file('half', {text: '-----BEGIN CERTIFICATE-----\n'}), /half/],
  ['an old form of key', key, file('old', {text: oldKey}), /openssl pkcs8 -topk8/],
  ['a key of another', key, file('other', {fixture: 'elsewhere.pem'}), /mismatch.*privateKeyFile/],
  ['a lacking usage', cert, file('half-used', {fixture: 'server-only.pem'}), /usage clientAuth/],
];

for (const [name, setting, path, says] of refused) {
  test(`${name} is refused by the name of its setting`, () => {
    assert.throws(() => open({[setting]: path}), {code: 'start.refused', message: says});
  });
}

test('good files are taken without a word', () => {
  assert.ok(open({}, '127.0.0.1').keys.isMutual);
  assert.deepEqual(logged, []);
});

test('what is no reason to refuse is warned about', () => {
  open({}, 'db.example');
  assert.deepEqual(logged, ['peer-tls.name']);
  open({'svc.ha.tls.mutualAuth': false});
  assert.deepEqual(logged, ['peer-tls.not-mutual']);
  const readable = file('readable.pem', {fixture: 'node.pem'});
  chmodSync(readable, 0o644);
  open({[key]: readable});
  assert.deepEqual(logged, ['peer-tls.key-readable']);
  const expired = file('expired.pem', {fixture: 'expired.pem'});
  const files = open({[key]: expired, [cert]: expired});
  files.watch({clock: createClock(), timers: new ManualTimers()}, () => undefined)();
  assert.deepEqual(logged, ['peer-tls.certificate-expired']);
});

test('replaced files are taken over, those that cannot be used are reported and left', () => {
  const replaced = file('replaced.pem', {fixture: 'node.pem'});
  const timers = new ManualTimers();
  const renewed: PeerKeys[] = [];
  const files = open({[key]: replaced, [cert]: replaced});
  const end = files.watch({clock: createClock(), timers}, keys => renewed.push(keys));
  timers.advance(60_000);
  assert.deepEqual([renewed.length, logged], [0, []]);
  utimesSync(replaced, 1, 1);
  timers.advance(60_000);
  assert.deepEqual([renewed.length, logged], [1, ['peer-tls.renewed']]);
  writeFileSync(replaced, 'noise');
  timers.advance(120_000);
  assert.deepEqual(logged, ['peer-tls.renewed', 'peer-tls.renewal-failed']);
  assert.deepEqual(files.keys, renewed[0]);
  end();
});
