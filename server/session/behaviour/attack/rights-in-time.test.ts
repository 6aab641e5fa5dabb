/**
 * What was begun with rights that are gone does not go on: M1 of the attacks. Rights that were
 * added end nothing.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal, type RefusalCode} from '#server/base/errors.ts';
import type {Principal} from '#server/security/principal.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open({'svc.server.saltIterations': '1000'});
});
after(() => world.close());

const everything = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};
const changeSchema = {access: ['updateSchema'], types: {'*': everything}};
let users = 0;

/** A user of the database alone, with one group. */
async function userOf({name: database}: TestDatabase, group: string): Promise<Principal> {
  const name = `user${++users}`;
  await world.security.saveGroup(database, group, changeSchema);
  await world.security.createUser({
    name,
    password: `${name}-pass`,
    databases: {[database]: [group]},
  });
  const who = world.security.principalOf(name);
  assert.ok(who !== undefined);
  return who;
}

function isRefused(code: RefusalCode): (error: unknown) => boolean {
  return error => error instanceof Refusal && error.code === code;
}

async function filled(): Promise<TestDatabase> {
  const database = await world.database(['CREATE DOCUMENT TYPE Doc']);
  await database.run(
    'LET $i = 0; WHILE ($i < 4000) { ' +
      `INSERT INTO Doc SET n = $i, t = '${'x'.repeat(100)}'; LET $i = $i + 1; }`,
    {language: 'sqlscript'},
  );
  return database;
}

test('a stream ends where rights of its reader were taken, not where some were added', async () => {
  const database = await filled();
  const who = await userOf(database, 'streams');
  const begin = async () => {
    const cursor = await world.service.run(who, database.request('SELECT FROM Doc'));
    assert.ok((await cursor.next()) !== undefined);
    return cursor;
  };
  const first = await begin();
  const more = {...changeSchema, access: ['updateSchema', 'updateSecurity']};
  await world.security.saveGroup(database.name, 'streams', more);
  assert.ok((await first.next()) !== undefined);
  await world.security.saveGroup(database.name, 'streams', {types: {Other: everything}});
  await assert.rejects(async () => {
    while ((await first.next()) !== undefined);
  }, isRefused('security.changed'));
  first.close();
  await assert.rejects(async () => begin(), isRefused('security.denied'));
});

test('a transaction does not commit what its user may not write any more', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Doc']);
  const who = await userOf(database, 'writers');
  const {service, security} = world;
  const transactionId = await service.begin(who, database.name, 'READ_COMMITTED');
  await database.run('INSERT INTO Doc SET n = 1', {transactionId}, who);
  await security.saveGroup(database.name, 'writers', {types: {Doc: {access: ['readRecord']}}});
  await assert.rejects(
    service.commit(who, database.name, transactionId, undefined),
    isRefused('transaction.expired'),
  );
  assert.deepEqual(await database.run('SELECT FROM Doc'), []);
});

test('a script that waits while its user is dropped stores nothing', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Doc']);
  const who = await userOf(database, 'sleepers');
  const script = 'INSERT INTO Doc SET n = 1; SLEEP 600000; INSERT INTO Doc SET n = 2';
  const running = database.run(script, {language: 'sqlscript'}, who);
  await assert.doesNotReject(world.security.dropUser(who.name));
  await assert.rejects(running, isRefused('query.terminated'));
  assert.deepEqual(await database.run('SELECT FROM Doc'), []);
});

test('a principal that was given out before is asked again', async () => {
  const database = await world.database(['CREATE DOCUMENT TYPE Doc']);
  const who = await userOf(database, 'earlier');
  const {security} = world;
  const insert = () => database.run('INSERT INTO Doc SET n = 1', {}, who);
  await insert();
  // Grants that were taken count for those who came before.
  await security.changeUser(who.name, {password: undefined, databases: {}});
  await assert.rejects(insert, isRefused('security.denied'));
  await security.changeUser(who.name, {
    password: undefined,
    databases: {[database.name]: ['earlier']},
  });
  await insert();
  await security.changeUser(who.name, {password: 'another-pass', databases: undefined});
  await assert.rejects(insert, isRefused('security.unauthenticated'));
  await security.dropUser(who.name);
  await security.createUser({name: who.name, password: 'third-pass', databases: {'*': ['admin']}});
  await assert.rejects(insert, isRefused('security.unauthenticated'));
  assert.equal((await database.run('SELECT FROM Doc', {}, root)).length, 2);
});
