/**
 * Credentials, lockout, logins and changes of users, on a clock that the test turns.
 * Holds invariant S1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createRandom} from '#server/platform/real/clock.ts';
import {Security, type SecurityDocument} from './security.ts';
import type {Principal} from './principal.ts';

function setUp(): {
  security: Security;
  files: Map<SecurityDocument, Uint8Array>;
  ended: string[];
  pass: (ms: number) => void;
} {
  const files = new Map<SecurityDocument, Uint8Array>();
  const ended: string[] = [];
  let time = 1_000;
  const {settings} = resolveSettings([
    {name: 'test', values: {'svc.server.saltIterations': 1_000}},
  ]);
  const security = new Security({
    store: {
      read: name => files.get(name),
      write: async (name, bytes) => {
        files.set(name, bytes);
      },
    },
    clock: {now: () => 1_700_000_000_000 + time, monotonic: () => time},
    random: createRandom(),
    settings: () => settings,
    endSessionsOf: user => ended.push(user),
  });
  return {
    security,
    files,
    ended,
    pass: ms => {
      time += ms;
    },
  };
}

async function come(security: Security, user: string, password: string): Promise<Principal> {
  return security.authenticate(user, password);
}
const wrong = {code: 'security.unauthenticated'};
const locked = {code: 'security.locked'};
const databases = {shop: ['admin']};
const grants = new Map([['shop', ['admin']]]);

test('a user logs in with a password that holds colons, and only with it', async () => {
  const {security, files} = setUp();
  await security.createUser({name: 'anna', password: 'a:b:c:d:e', databases});
  const anna = await come(security, 'anna', 'a:b:c:d:e');
  assert.deepEqual(anna, {name: 'anna', root: false, grants});
  await assert.rejects(come(security, 'anna', 'a:b:c:d:'), wrong);
  await assert.rejects(come(security, 'nobody', 'a:b:c:d:e'), wrong);
  const stored = Buffer.from(files.get('server-users.jsonl') ?? []).toString();
  assert.match(stored, /"password":"PBKDF2WithHmacSHA256\$1000\$[\w+/=]{44}\$[\w+/=]{44}"/);
  assert.doesNotMatch(stored, /a:b:c/);
});

test('a verified password is not hashed again until a user changes', async () => {
  const {security} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const first = security.authenticate('anna', 'anna-pass');
  assert.ok(first instanceof Promise, 'the first time it is hashed');
  await first;
  assert.ok(!(security.authenticate('anna', 'anna-pass') instanceof Promise), 'now it is known');
  await security.createUser({name: 'bert', password: 'bert-pass', databases});
  const again = security.authenticate('anna', 'anna-pass');
  assert.ok(again instanceof Promise, 'forgotten');
  await again;
});

test('five wrong passwords lock the name for 30 s, the right one included', async () => {
  const {security, pass} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  for (let count = 0; count < 5; count++) {
    await assert.rejects(come(security, 'anna', `guess-${count}`), wrong);
  }
  await assert.rejects(come(security, 'anna', 'anna-pass'), locked);
  pass(29_999);
  await assert.rejects(come(security, 'anna', 'anna-pass'), locked);
  pass(1);
  assert.equal((await come(security, 'anna', 'anna-pass')).name, 'anna');
});

test('slow guesses do not lock, and guesses sent at once gain nothing', async () => {
  const {security, pass} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  for (let count = 0; count < 8; count++) {
    await assert.rejects(come(security, 'anna', `guess-${count}`), wrong);
    pass(8_000);
  }
  pass(60_000);
  const guesses = Array.from({length: 50}, (_, n) => come(security, 'anna', `guess-${n}`));
  const outcomes = await Promise.allSettled(guesses);
  const codes = outcomes.map(outcome => outcome.status === 'rejected' && outcome.reason.code);
  assert.equal(codes.filter(code => code === 'security.unauthenticated').length, 5);
  assert.equal(codes.filter(code => code === 'security.locked').length, 45);
});

test('the same right password sent at once is one check for all', async () => {
  const {security} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const all = await Promise.all(
    Array.from({length: 300}, () => come(security, 'anna', 'anna-pass')),
  );
  assert.equal(new Set(all).size, 1);
});

test('a login ends when unused, at logout, and with its user', async () => {
  const {security, pass, ended} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const anna = await come(security, 'anna', 'anna-pass');
  const origin = {sourceIp: '127.0.0.1', userAgent: undefined};
  const [idle, used, closed] = [1, 2, 3].map(() => security.login(anna, origin));
  assert.match(String(used), /^AU-svc_0-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  security.logout(String(closed));
  assert.equal(security.principalOfToken(String(closed)), undefined);
  pass(1_000_000);
  assert.equal(security.principalOfToken(String(used))?.name, 'anna');
  pass(1_000_000);
  assert.equal(security.principalOfToken(String(idle)), undefined);
  assert.equal(security.logins().length, 1);

  await security.changeUser('anna', {password: undefined, databases: {}});
  assert.deepEqual(security.principalOfToken(String(used))?.grants, new Map(), 'sees new grants');
  assert.deepEqual(ended, []);
  await security.changeUser('anna', {password: 'other-pass', databases: undefined});
  assert.equal(security.principalOfToken(String(used)), undefined);
  assert.deepEqual(ended, ['anna']);
});

test('a dropped user is gone at once; root cannot be dropped', async () => {
  const {security} = setUp();
  await security.ensureRoot('root-password');
  await security.ensureRoot('another-password');
  assert.equal((await come(security, 'root', 'root-password')).root, true);
  await assert.rejects(security.dropUser('root'), {code: 'user.invalid'});
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  await come(security, 'anna', 'anna-pass');
  await security.dropUser('anna');
  await assert.rejects(come(security, 'anna', 'anna-pass'), wrong);
  await assert.rejects(security.dropUser('anna'), {code: 'user.missing'});
  assert.deepEqual(security.users(), [{name: 'root', databases: {'*': ['admin']}}]);
});

test('of equal users created at once, one is', async () => {
  const {security} = setUp();
  const user = {name: 'anna', password: 'anna-pass', databases};
  const outcomes = await Promise.allSettled([security.createUser(user), security.createUser(user)]);
  assert.deepEqual(outcomes.map(outcome => outcome.status).sort(), ['fulfilled', 'rejected']);
  assert.equal(security.users().length, 1);
});

test('a hand edit counts after a reload, and a broken one changes nothing', async () => {
  const {security, files} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const good = files.get('server-users.jsonl');
  files.set('server-users.jsonl', Buffer.from('{"name":'));
  assert.throws(() => security.reload(), {code: 'json.invalid'});
  assert.equal((await come(security, 'anna', 'anna-pass')).name, 'anna');
  files.set('server-users.jsonl', Buffer.from(''));
  security.reload();
  await assert.rejects(come(security, 'anna', 'anna-pass'), wrong);
  files.set('server-users.jsonl', good ?? Buffer.of());
  security.reload();
  assert.equal((await come(security, 'anna', 'anna-pass')).name, 'anna');
});
