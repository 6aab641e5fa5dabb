/**
 * Credentials, lockout, logins and changes of users, on a clock that the test turns.
 * Holds invariant S1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createRandom} from '#server/platform/real/clock.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import type {SecurityDocument} from './documents.ts';
import {derivePooled} from './passwords.ts';
import {Security, type SecurityOptions} from './security.ts';
import type {Principal} from './principal.ts';

function setUp(
  values: Readonly<Record<string, number>> = {},
  more: Partial<SecurityOptions> = {},
): {
  security: Security;
  files: Map<SecurityDocument, Uint8Array>;
  ended: string[];
  pass: (ms: number) => void;
  /** How long refusals were kept back. */
  delays: number[];
} {
  const files = new Map<SecurityDocument, Uint8Array>();
  const ended: string[] = [];
  const delays: number[] = [];
  let time = 1_000;
  const {settings} = resolveSettings([
    {name: 'test', values: {'svc.server.saltIterations': 1_000, ...values}},
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
    timers: {
      after: (delay, task) => {
        delays.push(delay);
        queueMicrotask(task);
        return () => {};
      },
      yield: () => Promise.resolve(),
    },
    settings: () => settings,
    endSessionsOf: user => ended.push(user),
    ...more,
  });
  return {
    security,
    files,
    ended,
    delays,
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

test('a verified password is not hashed again until it changes', async () => {
  const {security} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const first = security.authenticate('anna', 'anna-pass');
  assert.ok(first instanceof Promise, 'the first time it is hashed');
  await first;
  assert.ok(!(security.authenticate('anna', 'anna-pass') instanceof Promise), 'now it is known');
  await security.changeUser('anna', {password: 'anna-pass', databases: undefined});
  const again = security.authenticate('anna', 'anna-pass');
  assert.ok(again instanceof Promise, 'forgotten');
  await again;
});

test('L2: rounds that were raised do not tell who exists', async () => {
  const before = setUp();
  await before.security.createUser({name: 'anna', password: 'anna-pass', databases});
  const rounds: number[] = [];
  const derived = Buffer.alloc(32);
  const store = {read: (name: SecurityDocument) => before.files.get(name), write: async () => {}};
  const deriveKey = async (_password: string, _salt: string, count: number): Promise<Buffer> => {
    rounds.push(count);
    return derived;
  };
  const {security} = setUp({'svc.server.saltIterations': 20_000}, {store, deriveKey});
  for (const name of ['anna', 'nobody', 'somebody']) {
    await assert.rejects(come(security, name, 'guess'), wrong);
  }
  assert.deepEqual(rounds, [1_000, 1_000, 1_000]);
});

test('a refusal comes late whatever its reason, an admission at once', async () => {
  const {security, delays} = setUp({'svc.security.failureDelay': 700});
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  for (const user of ['anna', 'nobody']) {
    await assert.rejects(come(security, user, 'guess'), wrong);
  }
  // Others are turns behind others.
  const late = (): number => delays.filter(delay => delay === 700).length;
  assert.equal(late(), 2);
  await come(security, 'anna', 'anna-pass');
  await come(security, 'anna', 'anna-pass');
  assert.equal(late(), 2);
  for (let at = 0; at < 5; at += 1) {
    await assert.rejects(come(security, 'nobody', `guess ${at}`));
  }
  await assert.rejects(come(security, 'nobody', 'guess'), locked);
  assert.equal(late(), 8);
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
  await security.logout(String(closed));
  assert.equal(security.principalOfToken(String(closed)), undefined);
  pass(1_000_000);
  assert.equal((await security.principalOfToken(String(used)))?.name, 'anna');
  pass(1_000_000);
  assert.equal(security.principalOfToken(String(idle)), undefined);
  assert.equal(security.logins().length, 1);

  await security.changeUser('anna', {password: undefined, databases: {}});
  const changed = await security.principalOfToken(String(used));
  assert.deepEqual(changed?.grants, new Map(), 'sees new grants');
  assert.deepEqual(ended.splice(0), ['anna'], 'what was begun with more rights ends');
  await security.changeUser('anna', {password: undefined, databases});
  assert.deepEqual(ended, [], 'more rights end nothing');
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

test('a document by hand counts at once; a damaged one, or one without root, never', async () => {
  const {security, files, ended} = setUp();
  await security.ensureRoot('root-password');
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const users = Buffer.from(files.get('server-users.jsonl') ?? []).toString();
  const adopt = (name: SecurityDocument, text: string): Promise<void> =>
    security.adopt(name, Buffer.from(text));
  for (const [name, text, message] of [
    ['server-users.jsonl', `${users}{"name":`, /server-users\.jsonl: Line 3 .* JSON$/],
    ['server-users.jsonl', '', /no line gives root a password/],
    ['server-groups.json', '{"databases": {\n"*":\n', /server-groups\.json: .*valid JSON/],
    ['server-groups.json', '{}', /server-groups\.json: Expected a JSON object for 'databases'/],
    ['server-api-tokens.json', '{"tokens": [{}]}', /server-api-tokens\.json: .*token 1 of/],
  ] as const) {
    const before = files.get(name);
    await assert.rejects(adopt(name, text), message);
    assert.equal(files.get(name), before);
  }
  assert.equal((await come(security, 'anna', 'anna-pass')).name, 'anna');
  await adopt('server-users.jsonl', users.replace('"anna"', '"bert"'));
  await assert.rejects(come(security, 'anna', 'anna-pass'), wrong);
  assert.equal((await come(security, 'bert', 'anna-pass')).name, 'bert');
  assert.deepEqual(ended, ['anna']);
});

async function outcome(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return 'in';
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
}

test('M2: wrong passwords lock the name where they come from and nowhere else', async () => {
  const {security, pass} = setUp();
  await security.ensureRoot('the-right-one');
  await security.addVerifier('root', 'the-right-one');
  const from = (source: string, password = 'the-right-one'): Promise<string> =>
    outcome(() => security.authenticate('root', password, source));
  assert.equal(await from('10.0.0.1'), 'in');
  const {generation} = security;
  for (let at = 0; at < 5; at += 1) {
    assert.equal(await from('10.6.6.6', 'wrong-one'), 'security.unauthenticated');
  }
  assert.equal(await from('10.6.6.6'), 'security.locked', 'the attacker waits');
  assert.equal(await from('10.0.0.1'), 'in', 'who was verified before goes on');
  assert.equal(await from('10.0.0.2'), 'in', 'and so does another address');
  assert.equal(security.generation, generation, 'connections that are open are not asked again');
  pass(30_001);
  assert.equal(await from('10.6.6.6'), 'in');
});

test('M2: guesses from many addresses lock the name but where it was right before', async () => {
  const {security} = setUp();
  await security.ensureRoot('the-right-one');
  await security.addVerifier('root', 'the-right-one');
  const from = (source: string, password: string): Promise<string> =>
    outcome(() => security.authenticate('root', password, source));
  assert.equal(await from('10.0.0.1', 'the-right-one'), 'in');
  for (let at = 0; at < 50; at += 1) await from(`10.6.6.${at}`, `guess-${at}`);
  assert.equal(await from('10.7.7.7', 'guess-51'), 'security.locked');
  assert.equal(await from('10.0.0.1', 'the-right-one'), 'in');
});

test('svc.security.hashConcurrencyMax passwords are hashed at once, and no more', async () => {
  for (const most of [1, 3]) {
    let running = 0;
    let seen = 0;
    const {security} = setUp(
      {'svc.security.hashConcurrencyMax': most, 'svc.security.failureDelay': 0},
      {
        deriveKey: async (...order) => {
          running += 1;
          seen = Math.max(seen, running);
          const key = await derivePooled(...order);
          running -= 1;
          return key;
        },
      },
    );
    const guesses = Array.from({length: 12}, (_, at) =>
      assert.rejects(come(security, `user${at}`, 'a guess'), wrong),
    );
    await Promise.all(guesses);
    assert.equal(seen, most);
  }
});

test('H8: strangers who flood the checks wait behind themselves', async () => {
  const {security} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  const flood = Array.from({length: 400}, (_, at) =>
    outcome(() => security.authenticate(`nobody${at}`, 'guess', '10.6.6.6')),
  );
  const anna = await outcome(() => security.authenticate('anna', 'anna-pass', '10.0.0.1'));
  assert.equal(anna, 'in');
  const ends = await Promise.all(flood);
  assert.ok(ends.includes('admission.full'), 'the queue was full');
});

test('H8: a password that was right before is checked before those of strangers', async () => {
  const {security} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  assert.equal(await outcome(() => security.authenticate('anna', 'anna-pass', '10.0.0.1')), 'in');
  // The new hash of her password makes everybody forget what was verified.
  await security.changeUser('anna', {password: 'anna-pass', databases: undefined});
  let ended = 0;
  const flood = Array.from({length: 200}, (_, at) =>
    outcome(() => security.authenticate(`nobody${at}`, 'guess', `10.6.${at}.1`)).then(() => {
      ended += 1;
    }),
  );
  assert.equal(await outcome(() => security.authenticate('anna', 'anna-pass', '10.0.0.1')), 'in');
  assert.ok(ended < 20, `${ended} strangers were before her`);
  await Promise.all(flood);
});

test('H8: what was verified stays known while it is used, and while others change', async () => {
  const {security, pass} = setUp();
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  await come(security, 'anna', 'anna-pass');
  for (let minutes = 0; minutes < 30; minutes += 1) {
    pass(60_000);
    assert.ok(!(security.authenticate('anna', 'anna-pass') instanceof Promise), 'still known');
  }
  await security.createUser({name: 'bert', password: 'bert-pass', databases});
  const known = security.authenticate('anna', 'anna-pass');
  assert.ok(!(known instanceof Promise));
  await security.changeUser('anna', {password: undefined, databases: {zoo: ['admin']}});
  const changed = security.authenticate('anna', 'anna-pass');
  assert.ok(!(changed instanceof Promise));
  assert.deepEqual(changed.grants, new Map([['zoo', ['admin']]]));
  pass(5 * 60_000);
  assert.ok(security.authenticate('anna', 'anna-pass') instanceof Promise, 'unused, forgotten');
});

test('32 who guess from one address are told two a second, a right password at once', async () => {
  const timers = new ManualTimers();
  const {security} = setUp({}, {timers, clock: timers});
  await security.createUser({name: 'anna', password: 'anna-pass', databases});
  let told = 0;
  let isOver = false;
  const guess = async (who: number): Promise<void> => {
    for (let turn = 0; !isOver; turn += 1) {
      const pass = `guess-${turn}`;
      await assert.rejects(async () => security.authenticate(`user${who}`, pass, '10.6.6.6'));
      told += 1;
    }
  };
  const guessing = Array.from({length: 32}, (_, who) => guess(who));
  for (const source of ['10.6.6.6', '10.0.0.1']) {
    const anna = await security.authenticate('anna', 'anna-pass', source);
    assert.equal(anna.name, 'anna');
    assert.equal(told, 0);
  }
  const seconds = 30;
  while (timers.now() < seconds * 1_000) {
    timers.advance(10);
    await new Promise(resolve => setImmediate(resolve));
  }
  assert.ok(told >= seconds && told <= 2.5 * seconds, `${told} were told in ${seconds} s`);
  isOver = true;
  security.endDelays();
  await Promise.all(guessing);
});

test('M3: no user takes all logins, and a tenth is for root', async () => {
  const {security} = setUp({
    'svc.server.httpAuthSessionMax': 20,
    'svc.server.httpAuthSessionMaxPerUser': 10,
  });
  const origin = {sourceIp: '10.0.0.1', userAgent: undefined};
  const opened = (name: string, count: number): number => {
    const who: Principal = {name, root: name === 'root', grants};
    let opens = 0;
    for (let at = 0; at < count; at += 1) {
      try {
        security.login(who, origin);
        opens += 1;
      } catch (error) {
        assert.ok(error instanceof Refusal && error.code === 'admission.full');
      }
    }
    return opens;
  };
  assert.equal(opened('mallory', 100), 10);
  assert.equal(opened('eve1', 100), 8);
  assert.equal(opened('root', 2), 2);
});

test('L12: no name can be made that looks like another one', async () => {
  const {security} = setUp();
  const names = [' root', 'root ', 'ro\u00adot', 'root\u200b', 'root\u2028', '\u202eroot'];
  for (const name of names) {
    const made = (): Promise<void> =>
      security.createUser({name, password: 'long-enough', databases});
    await assert.rejects(made, {code: 'user.invalid'}, JSON.stringify(name));
  }
});
