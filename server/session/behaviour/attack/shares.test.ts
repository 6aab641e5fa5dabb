/** What one user takes of memory, places and transactions leaves root and others theirs. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open({
    'svc.keptMemoryMax': '12MB',
    'svc.keptMemoryMaxPerUser': '8MB',
    'svc.queryMaxConcurrent': '4',
    'svc.server.httpSessionMaxPerUser': '50',
  });
});
after(() => world.close());

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

function userOf(database: TestDatabase, name: string, group = '*'): Principal {
  return {name, root: false, grants: new Map([[database.name, [group]]])};
}

const text = 'x'.repeat(1_000_000);

/** Sets so many parameters of two megabytes in one session, or as many as go. */
async function fill(database: TestDatabase, who: Principal, count: number): Promise<number> {
  const transactionId = await world.service.begin(who, database.name);
  const more = {language: 'opencypher', transactionId, parameters: new Map([['v', text]])};
  for (let at = 0; at < count; at += 1) {
    try {
      await database.run(`SESSION SET $p${at} = $v`, more, who);
    } catch (error) {
      assert.ok(error instanceof Refusal && /query\.memory/.test(error.code), String(error));
      return at;
    }
  }
  return count;
}

test('H1: parameters of sessions count, in a share per user, and root has room', async () => {
  const database = await world.database([]);
  const eve = userOf(database, 'eve1');
  assert.equal(await fill(database, eve, 999), 4, 'eight megabytes, two bytes a character');
  assert.equal(await fill(database, eve, 999), 4, 'what failed was given back');
  const mallory = userOf(database, 'mallory');
  assert.ok((await fill(database, mallory, 999)) <= 4);
  assert.equal(await fill(database, root, 20), 20);
  world.service.endSessionsOf('eve1');
  world.service.endSessionsOf('mallory');
  assert.equal(await fill(database, userOf(database, 'bob1'), 2), 2);
  for (const {name} of [root, userOf(database, 'bob1')]) world.service.endSessionsOf(name);
});

test('H1: writes of open transactions count', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE T']);
  await world.security.saveGroup(database.name, 'writer', {types: {T: {access: ['createRecord']}}});
  const eve = userOf(database, 'eve2', 'writer');
  let refused: unknown;
  for (let at = 0; at < 20 && refused === undefined; at += 1) {
    const transactionId = await world.service.begin(eve, database.name);
    const parameters = new Map([['v', text]]);
    await database
      .run('INSERT INTO T SET a = :v', {transactionId, parameters}, eve)
      .catch((error: unknown) => {
        refused = error;
      });
  }
  assert.ok(refusedWith('query.memory')(refused), String(refused));
  await database.run('INSERT INTO T SET a = 1');
  world.service.endSessionsOf('eve2');
});

test('M11: global variables need a right, and count', async () => {
  const database = await world.database([]);
  const eve = userOf(database, 'eve3');
  const set = "SET GLOBAL secret = 'x'";
  await assert.rejects(
    database.run(set, {language: 'sqlscript'}, eve),
    refusedWith('security.denied'),
  );
  await world.security.saveGroup(database.name, 'owner', {access: ['updateDatabaseSettings']});
  const owner = userOf(database, 'owner', 'owner');
  const parameters = new Map([['v', text]]);
  const more = {language: 'sqlscript', parameters};
  for (let at = 0; at < 4; at += 1) await database.run(`SET GLOBAL g${at} = :v`, more, owner);
  await assert.rejects(
    database.run('SET GLOBAL g9 = :v', more, owner),
    refusedWith('query.memory'),
  );
  await world.service.dropDatabase(root, database.name);
});

test('M3: no user takes all transactions', async () => {
  const database = await world.database([]);
  const eve = userOf(database, 'eve4');
  const begin = (who: Principal): Promise<string> => world.service.begin(who, database.name);
  for (let at = 0; at < 50; at += 1) await begin(eve);
  await assert.rejects(async () => begin(eve), refusedWith('admission.full'));
  await begin(root);
  world.service.endSessionsOf('eve4');
});

test('H3: endless statements of one user keep nobody out, and end with their user', async () => {
  const database = await world.database([]);
  const eve = userOf(database, 'eve5');
  const endless =
    'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b UNWIND range(1, 100000) AS c ' +
    'RETURN sum(a * b + c) AS n';
  const running = Array.from({length: 4}, () =>
    database.run(endless, {language: 'opencypher'}, eve).catch((error: unknown) => error),
  );
  assert.deepEqual(await database.run('SELECT 1 AS n'), [{n: 1}]);
  const bob = userOf(database, 'bob5');
  assert.deepEqual(await database.run('SELECT 1 AS n', {}, bob), [{n: 1}]);
  world.service.endSessionsOf('eve5');
  for (const end of await Promise.all(running)) {
    assert.ok(refusedWith('query.terminated')(end), String(end));
  }
});

test('H3: views that the clock refreshes take the places of their owner', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Doc']);
  const group = {access: ['updateSchema'], types: {'*': {access: ['readRecord', 'createRecord']}}};
  await world.security.saveGroup(database.name, 'viewers', group);
  for (const name of ['eve7', 'bob7']) {
    const databases = {[database.name]: ['viewers']};
    await world.security.createUser({name, password: `${name}-pass`, databases});
  }
  const eve = userOf(database, 'eve7', 'viewers');
  const made = 'CREATE MATERIALIZED VIEW Seen AS SELECT n FROM Doc REFRESH EVERY 1 SECOND';
  await database.run(made, {}, eve);
  await database.run(made.replace('Seen', 'Followed').replace(/EVERY.*/, 'INCREMENTAL'), {}, eve);
  const refreshes = async (): Promise<number> => {
    const [row] = await database.run(
      "SELECT refreshCount AS n FROM schema:materializedViews WHERE name = 'Seen'",
    );
    return Number(row?.['n']);
  };
  const endless =
    'UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b UNWIND range(1, 100000) AS c ' +
    'RETURN sum(a * b + c) AS n';
  const running = Array.from({length: 2}, () =>
    database.run(endless, {language: 'opencypher'}, eve).catch((error: unknown) => error),
  );
  await eventually('the refresh waits', () => world.service.load.queriesWaiting === 1);
  const before = await refreshes();
  // Nor does a full share of hers keep others waiting with what her views follow.
  await database.run('INSERT INTO Doc SET n = 1', {}, userOf(database, 'bob7', 'viewers'));
  assert.deepEqual(await database.run('SELECT n FROM Followed'), [{n: 1}]);
  assert.equal(await refreshes(), before);
  world.service.endSessionsOf('eve7');
  await Promise.all(running);
  await eventually('the view is refreshed', async () => (await refreshes()) > before);
  await world.service.dropDatabase(root, database.name);
});

test('H7: a call of JavaScript in a write ends after some milliseconds', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE T',
    'DEFINE FUNCTION bad.test "return new RegExp(pattern).test(text)" ' +
      'PARAMETERS [pattern, text] LANGUAGE js',
  ]);
  const parameters = new Map([
    ['p', '^(a+)+$'],
    ['t', `${'a'.repeat(50)}!`],
  ]);
  const failure = await database
    .run('INSERT INTO T SET a = bad.test(:p, :t)', {parameters})
    .catch((error: unknown) => error);
  assert.match(String(failure), /more than 20 ms/);
});
