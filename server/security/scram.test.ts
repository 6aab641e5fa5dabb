/** Logins by SCRAM-SHA-256 against the words of its RFC, and with the users of a server. */
import assert from 'node:assert/strict';
import {createHash, createHmac, pbkdf2Sync} from 'node:crypto';
import {test} from 'node:test';
import {resolveSettings} from '#server/base/setting-values.ts';
import {createClock, createRandom, createTimers} from '#server/platform/real/clock.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import type {Principal} from './principal.ts';
import {ScramLogin} from './scram.ts';
import {parseVerifier, printVerifier, verifierOf} from './scram-verifier.ts';
import type {SecurityDocument} from './documents.ts';
import {Security} from './security.ts';

const invalid = {code: 'security.unauthenticated'};
const hmac = (key: Uint8Array, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

test('the exchange of RFC 7677 is answered word for word', async () => {
  const salt = 'W22ZaJ0SNY7soEsUEjb6gQ==';
  const salted = pbkdf2Sync('pencil', Buffer.from(salt, 'base64'), 4_096, 32, 'sha256');
  const stored = printVerifier(verifierOf(salted, {rounds: 4_096, salt}));
  const login = new ScramLogin({
    user: undefined,
    nonce: '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
    verifierOf: () => {
      const verifier = parseVerifier(stored);
      assert.ok(verifier);
      return verifier;
    },
    decide: (name, isProven) => {
      assert.deepEqual([name, isProven], ['user', true]);
      return Promise.resolve({name, root: false, grants: new Map()});
    },
  });
  const nonce = 'rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0';
  const first = login.challenge('n,,n=user,r=rOprNGfwEbeRWgbNEkqO');
  assert.equal(first, `r=${nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096`);
  const proof = 'dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=';
  const {answer} = await login.prove(`c=biws,r=${nonce},p=${proof}`);
  assert.equal(answer, 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=');
});

/** A client of its own: what it says to a challenge, and whether it believes the answer. */
function client(name: string, password: string, head = 'n,,') {
  const escaped = name.replaceAll('=', '=3D').replaceAll(',', '=2C');
  const bare = `n=${escaped},r=client`;
  let signature = '';
  return {
    first: `${head}${bare}`,
    final(challenge: string): string {
      const [, nonce = '', salt = '', rounds] =
        /^r=([^,]+),s=([^,]+),i=(\d+)$/.exec(challenge) ?? [];
      assert.ok(nonce.startsWith('client') && nonce.length > 20);
      const bytes = Buffer.from(salt, 'base64');
      const salted = pbkdf2Sync(password, bytes, Number(rounds), 32, 'sha256');
      const clientKey = hmac(salted, 'Client Key');
      const stored = createHash('sha256').update(clientKey).digest();
      const unproven = `c=${Buffer.from(head).toString('base64')},r=${nonce}`;
      const whole = `${bare},${challenge},${unproven}`;
      const mask = hmac(stored, whole);
      const proof = Buffer.from(clientKey.map((byte, at) => byte ^ (mask[at] ?? 0)));
      signature = hmac(hmac(salted, 'Server Key'), whole).toString('base64');
      return `${unproven},p=${proof.toString('base64')}`;
    },
    believes: (answer: string): boolean => answer === `v=${signature}`,
  };
}

type Files = Map<SecurityDocument, Uint8Array>;

function over(files: Files, ended: string[] = []): Security {
  const values = {'svc.server.saltIterations': 1_000, 'svc.security.failureDelay': 0};
  const {settings} = resolveSettings([{name: 'test', values}]);
  return new Security({
    store: {
      read: name => files.get(name),
      write: async (name, bytes) => {
        files.set(name, bytes);
      },
    },
    clock: createClock(),
    timers: createTimers(),
    random: createRandom(),
    settings: () => settings,
    endSessionsOf: name => void ended.push(name),
  });
}

async function open(files: Files = new Map()): Promise<Security> {
  const security = over(files);
  await security.ensureRoot('root-password');
  await security.addVerifier('root', 'root-password');
  await security.createUser({name: 'lina', password: 'lina-password', databases: {}});
  await security.createUser({name: 'a,b=c', password: 'abc-password', databases: {}});
  return security;
}

async function login(
  security: Security,
  who: ReturnType<typeof client>,
  user?: string,
): Promise<Principal> {
  const exchange = security.scram('10.0.0.1', user);
  const {principal, answer} = await exchange.prove(who.final(exchange.challenge(who.first)));
  assert.ok(who.believes(answer), 'the server proves itself, too');
  return principal;
}

test('who knows a password logs in, and nobody else', async () => {
  const security = await open();
  assert.equal((await login(security, client('lina', 'lina-password'))).name, 'lina');
  assert.equal((await login(security, client('lina', 'lina-password', 'y,,'))).name, 'lina');
  assert.equal((await login(security, client('a,b=c', 'abc-password'))).name, 'a,b=c');
  // A protocol that has named the user before leaves the name in the exchange empty.
  assert.equal((await login(security, client('', 'lina-password'), 'lina')).name, 'lina');
  await assert.rejects(login(security, client('lina', 'another')), invalid);
  await assert.rejects(login(security, client('nobody', 'lina-password')), invalid);
  await assert.rejects(login(security, client('', 'lina-password')), invalid);
});

test('somebody who does not exist is asked like everybody, and always the same', async () => {
  const files: Files = new Map();
  const security = await open(files);
  const asked = (name: string, of = security): RegExpExecArray => {
    const challenge = of.scram('').challenge(`n,,n=${name},r=client`);
    const found = /,s=([A-Za-z0-9+/=]+),i=(\d+)$/.exec(challenge);
    assert.ok(found);
    return found;
  };
  const [nobody, again, lina, other] = ['nobody', 'nobody', 'lina', 'other'].map(one => asked(one));
  // A restart, or another member, does not tell those who exist from those who do not.
  assert.equal(asked('nobody', over(files))[1], nobody?.[1]);
  assert.equal(asked('lina', over(files))[1], lina?.[1]);
  assert.equal(nobody?.[1], again?.[1]);
  assert.notEqual(nobody?.[1], other?.[1]);
  assert.equal(nobody?.[1]?.length, lina?.[1]?.length);
  assert.equal(nobody?.[2], lina?.[2]);
});

test('messages out of order, altered, or with what is not offered are refused', async () => {
  const security = await open();
  const who = client('lina', 'lina-password');
  const bad = [
    '',
    'n,,',
    'n=lina,r=x',
    'p=tls-unique,,n=lina,r=x',
    'n,a=root,n=lina,r=x',
    'n,,n=lina,r=',
    'n,,m=later,n=lina,r=x',
    'n,,n=li=6Ea,r=x',
    'y,a=lina,n=lina,r=x',
  ];
  for (const first of bad) assert.throws(() => security.scram('').challenge(first), invalid, first);
  await assert.rejects(security.scram('').prove(who.final('r=client-no-challenge-yet,s=eA==,i=1')));
  const exchange = security.scram('');
  const final = who.final(exchange.challenge(who.first));
  await assert.rejects(exchange.prove(final.replace('c=biws', 'c=eSws')), invalid);
  await assert.rejects(exchange.prove(final), invalid, 'each message counts once');
  for (const changed of [final.replace(',r=client', ',r=cli3nt'), final.replace(/,p=.*/, ''), '']) {
    const altered = security.scram('');
    altered.challenge(who.first);
    await assert.rejects(altered.prove(changed), invalid, changed);
  }
  const replayed = security.scram('');
  replayed.challenge(who.first);
  await assert.rejects(replayed.prove(final), invalid, 'a proof is of one exchange');
});

test('wrong proofs count as wrong passwords', async () => {
  const security = await open();
  for (let tries = 0; tries < 5; tries += 1) {
    await assert.rejects(login(security, client('lina', `wrong ${tries}`)), invalid);
  }
  const locked = {code: 'security.locked'};
  await assert.rejects(login(security, client('lina', 'lina-password')), locked);
  await assert.rejects(
    async () => security.authenticate('lina', 'lina-password', '10.0.0.1'),
    locked,
  );
});

test('a password that changes in the middle of an exchange ends it', async () => {
  const security = await open();
  const who = client('lina', 'lina-password');
  const exchange = security.scram('');
  const final = who.final(exchange.challenge(who.first));
  await security.changeUser('lina', {password: 'new-password', databases: undefined});
  await assert.rejects(exchange.prove(final), invalid);
  assert.equal((await login(security, client('lina', 'new-password'))).name, 'lina');
});

/** What is stored of a user. */
function lineOf(files: Files, name: string): Record<string, string> {
  const lines = Buffer.from(files.get('server-users.jsonl') ?? '')
    .toString()
    .trim()
    .split('\n');
  const found = lines.map(line => JSON.parse(line) as Record<string, string>);
  return found.find(line => line['name'] === name) ?? {};
}

test('who has stolen what is stored logs in by none of it', async () => {
  const files: Files = new Map();
  const security = await open(files);
  const {password = '', scram = ''} = lineOf(files, 'lina');
  const [, , , hash = ''] = password.split('$');
  const verifier = parseVerifier(scram);
  assert.ok(verifier);
  const head = 'n=lina,r=client';
  const proofs = (whole: string): Record<string, Buffer> => {
    const masked = (key: Uint8Array): Buffer => {
      const mask = hmac(verifier.storedKey, whole);
      return Buffer.from(key.map((byte, at) => byte ^ (mask[at] ?? 0)));
    };
    return {
      'the hash as the salted password': masked(hmac(Buffer.from(hash, 'base64'), 'Client Key')),
      'the hash as the key': masked(Buffer.from(hash, 'base64')),
      'the stored key as the key': masked(verifier.storedKey),
      'the key of the server': masked(verifier.serverKey),
      'a signature by it': hmac(verifier.serverKey, whole),
    };
  };
  for (const name of Object.keys(proofs(''))) {
    const exchange = security.scram(name);
    const challenge = exchange.challenge(`n,,${head}`);
    const unproven = `c=biws,${challenge.split(',')[0]}`;
    const proof = proofs(`${head},${challenge},${unproven}`)[name]?.toString('base64');
    await assert.rejects(exchange.prove(`${unproven},p=${proof}`), invalid, name);
  }
  for (const text of [password, scram, hash]) {
    await assert.rejects(async () => security.authenticate('lina', text, text), invalid);
  }
  assert.doesNotMatch(JSON.stringify(security.users()), /SCRAM/);
});

test('a user of an earlier release gets a verifier when the password is shown', async () => {
  const files: Files = new Map();
  await open(files);
  const {password, databases} = lineOf(files, 'lina');
  const earlier = JSON.stringify({name: 'lina', password, databases});
  files.set('server-users.jsonl', Buffer.from(`${earlier}\n`));
  const ended: string[] = [];
  const security = over(files, ended);
  await assert.rejects(login(security, client('lina', 'lina-password')), invalid);
  await assert.rejects(async () => security.authenticate('lina', 'wrong'), invalid);
  const lina = await security.authenticate('lina', 'lina-password');
  const token = security.login(lina, {sourceIp: '', userAgent: undefined});
  await eventually('the verifier is stored', () => lineOf(files, 'lina')['scram'] !== undefined);
  assert.equal((await login(security, client('lina', 'lina-password'))).name, 'lina');
  assert.equal(lineOf(files, 'lina')['password'], password);
  assert.deepEqual(ended, []);
  assert.equal((await security.principalOfToken(token))?.name, 'lina');
});

test('a verifier counts beside the hash that it was made with, and no other', async () => {
  const files: Files = new Map();
  const security = await open(files);
  const {scram, databases} = lineOf(files, 'lina');
  await security.changeUser('lina', {password: 'new-password', databases: undefined});
  const {password} = lineOf(files, 'lina');
  const written = JSON.stringify({name: 'lina', password, scram, databases});
  files.set('server-users.jsonl', Buffer.from(`${written}\n`));
  const another = over(files);
  await assert.rejects(login(another, client('lina', 'lina-password')), invalid);
  await another.authenticate('lina', 'new-password');
  await eventually('it is made anew', () => lineOf(files, 'lina')['scram'] !== scram);
  assert.equal((await login(another, client('lina', 'new-password'))).name, 'lina');
});

test('a password is prepared as the clients of the exchange prepare it', async () => {
  const security = await open();
  const password = 'gr\u00f6\u00dfe\u00a0\u2168\u00ad';
  await security.createUser({name: 'prep', password, databases: {}});
  assert.equal((await login(security, client('prep', 'gr\u00f6\u00dfe IX'))).name, 'prep');
  assert.equal((await security.authenticate('prep', password)).name, 'prep');
});
