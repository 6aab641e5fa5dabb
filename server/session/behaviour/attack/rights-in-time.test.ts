/**
 * What was begun with rights that are gone does not go on: M1 of the attacks. Rights that were
 * added end nothing. A view is read with the rights that its owner has at each refresh: H6; a
 * trigger fires with those that its owner has then: M4. Holds invariants A3 and A4.
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
  const transactionId = await service.begin(who, database.name);
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

const allButSecret = {
  access: ['updateSchema'],
  types: {'*': everything, Secret: {access: []}},
};

/** A user who may do everything but read Secret, and the view that he makes. */
async function viewOwner(database: TestDatabase, query: string): Promise<Principal> {
  const who = await userOf(database, 'makers');
  await world.security.saveGroup(database.name, 'makers', allButSecret);
  const made = `CREATE MATERIALIZED VIEW Shown AS ${query} REFRESH INCREMENTAL`;
  const principal = world.security.principalOf(who.name);
  assert.ok(principal !== undefined);
  await database.run(made, {}, principal);
  return principal;
}

const secrets = [
  'CREATE DOCUMENT TYPE Secret',
  'CREATE DOCUMENT TYPE Doc',
  "INSERT INTO Secret SET name = 'top-secret'",
];

async function shown(database: TestDatabase): Promise<unknown> {
  const [figures] = await database.run('SELECT status, owner FROM schema:materializedViews');
  return {status: figures?.['status'], rows: await database.run('SELECT n FROM Shown')};
}

test('H6: a view shows no type that became a subtype of what it reads', async () => {
  const database = await world.database(secrets);
  await viewOwner(database, 'SELECT name AS n FROM Doc');
  await database.run("INSERT INTO Doc SET name = 'plain'");
  assert.deepEqual(await shown(database), {status: 'VALID', rows: [{n: 'plain'}]});
  await database.run('ALTER TYPE Secret SUPERTYPE +Doc');
  await database.run("INSERT INTO Doc SET name = 'later'");
  assert.deepEqual(await shown(database), {status: 'ERROR', rows: [{n: 'plain'}]});
});

test('H6: a view reads along links what its owner may read', async () => {
  const database = await world.database(secrets);
  await viewOwner(database, 'SELECT link.name AS n FROM Doc');
  const [secret] = await database.run('SELECT @rid AS rid FROM Secret');
  const own = await database.run('INSERT INTO Doc SET name = 1');
  assert.equal(own.length, 1);
  await database.run(`INSERT INTO Doc SET link = ${String(secret?.['rid'])}`);
  const {status} = (await shown(database)) as {status: string};
  assert.equal(status, 'ERROR');
  assert.ok(!JSON.stringify(await shown(database)).includes('top-secret'));
});

test('a view whose owner is gone stays as it is and says so', async () => {
  const database = await world.database(secrets);
  const who = await viewOwner(database, 'SELECT name AS n FROM Doc');
  await database.run("INSERT INTO Doc SET name = 'plain'");
  await world.security.dropUser(who.name);
  await database.run("INSERT INTO Doc SET name = 'later'");
  assert.deepEqual(await shown(database), {status: 'ERROR', rows: [{n: 'plain'}]});
  await assert.rejects(
    database.run('REFRESH MATERIALIZED VIEW Shown'),
    isRefused('security.denied'),
  );
});

test('H6: a view is refreshed in the name of who last said when, unless root said so', async () => {
  const database = await world.database(secrets);
  const who = await viewOwner(database, 'SELECT name AS n FROM Doc');
  const view = 'CREATE MATERIALIZED VIEW Names AS SELECT name AS n FROM Secret';
  await database.run(view);
  const ownerOf = async (name: string): Promise<unknown> => {
    const text = `SELECT owner FROM schema:materializedViews WHERE name = '${name}'`;
    return (await database.run(text))[0]?.['owner'];
  };
  assert.equal(await ownerOf('Names'), 'root');
  await database.run('ALTER MATERIALIZED VIEW Names REFRESH EVERY 1 HOUR', {}, who);
  assert.equal(await ownerOf('Names'), who.name);
  await assert.rejects(
    database.run('REFRESH MATERIALIZED VIEW Names', {}, who),
    isRefused('security.denied'),
  );
  await database.run('ALTER MATERIALIZED VIEW Shown REFRESH MANUAL');
  assert.equal(await ownerOf('Shown'), who.name, 'root lends it nothing');
});

/** A user who may do everything but read Secret and write Log, and the trigger that he makes. */
async function triggerOwner(database: TestDatabase, trigger: string): Promise<Principal> {
  const who = await userOf(database, 'makers');
  const types = {...allButSecret.types, Log: {access: ['readRecord']}};
  await world.security.saveGroup(database.name, 'makers', {access: ['updateSchema'], types});
  const principal = world.security.principalOf(who.name);
  assert.ok(principal !== undefined);
  await database.run(trigger, {}, principal);
  return principal;
}

const watched = [...secrets, 'CREATE DOCUMENT TYPE Copy', 'CREATE DOCUMENT TYPE Log'];

function refusedOf(trigger: string, says: RegExp): (error: unknown) => boolean {
  return error =>
    error instanceof Refusal &&
    error.code === 'trigger.refused' &&
    error.message.includes(`'${trigger}'`) &&
    says.test(error.message);
}

test('M4: a trigger reads and writes what its owner may, whoever fires it', async () => {
  const database = await world.database(watched);
  const code = 'INSERT INTO Copy SET n = (SELECT name FROM Secret)';
  const made = `CREATE TRIGGER spy AFTER CREATE ON TYPE Doc EXECUTE SQL '${code}'`;
  const who = await triggerOwner(database, made);
  const refused = refusedOf('spy', /not allowed to read records of type 'Secret'/);
  await assert.rejects(database.run('INSERT INTO Doc SET n = 1'), refused);
  await assert.rejects(database.run('INSERT INTO Doc SET n = 1', {}, who), refused);
  assert.deepEqual(await database.run('SELECT FROM Doc'), []);
  assert.deepEqual(await database.run('SELECT FROM Copy'), []);
  const [listed] = await database.run('SELECT owner FROM schema:triggers');
  assert.deepEqual(listed, {owner: who.name});
});

test('M4: a trigger of root writes what only root may, whoever writes the rest', async () => {
  const database = await world.database(watched);
  const code = 'INSERT INTO Log SET n = $record.n';
  await database.run(`CREATE TRIGGER audit AFTER CREATE ON TYPE Doc EXECUTE SQL '${code}'`);
  const who = await triggerOwner(database, 'CREATE DOCUMENT TYPE Own');
  await database.run('INSERT INTO Doc SET n = 7', {}, who);
  await assert.rejects(
    database.run('INSERT INTO Log SET n = 8', {}, who),
    isRefused('security.denied'),
  );
  assert.deepEqual(await database.run('SELECT n FROM Log'), [{n: 7}]);
  const [listed] = await database.run('SELECT owner FROM schema:triggers');
  assert.deepEqual(listed, {owner: 'root'});
});

test('M4: a trigger is told of no type that became a subtype of what it watches', async () => {
  const database = await world.database(watched);
  const code = 'INSERT INTO Copy SET n = $record.name';
  await triggerOwner(database, `CREATE TRIGGER spy AFTER CREATE ON TYPE Doc EXECUTE SQL '${code}'`);
  await database.run("INSERT INTO Doc SET name = 'plain'");
  await database.run('ALTER TYPE Secret SUPERTYPE +Doc');
  await assert.rejects(
    database.run("INSERT INTO Secret SET name = 'another-secret'"),
    refusedOf('spy', /not allowed to read records of type 'Secret'/),
  );
  assert.deepEqual(await database.run('SELECT n FROM Copy'), [{n: 'plain'}]);
});

test('M4: a trigger has the rights of the moment, and none when its owner is gone', async () => {
  const database = await world.database(watched);
  const code = 'INSERT INTO Copy SET n = $record.n';
  const made = `CREATE TRIGGER copies AFTER CREATE ON TYPE Doc EXECUTE SQL '${code}'`;
  const who = await triggerOwner(database, made);
  await database.run('INSERT INTO Doc SET n = 1');
  const types = {Doc: everything};
  await world.security.saveGroup(database.name, 'makers', {access: ['updateSchema'], types});
  await assert.rejects(
    database.run('INSERT INTO Doc SET n = 2'),
    refusedOf('copies', /not allowed to create records of type 'Copy'/),
  );
  await world.security.dropUser(who.name);
  await assert.rejects(
    database.run('INSERT INTO Doc SET n = 3'),
    refusedOf('copies', new RegExp(`'${who.name}', in whose name it runs`)),
  );
  assert.deepEqual(await database.run('SELECT n FROM Copy'), [{n: 1}]);
  await database.run('DROP TRIGGER copies');
  await database.run('INSERT INTO Doc SET n = 4');
});

test("M4: a trigger in JavaScript asks with its owner's rights, beside one of root's", async () => {
  const database = await world.database(watched);
  const program = (statement: string): string =>
    `EXECUTE JAVASCRIPT 'database.command("sql", "${statement}")'`;
  const trusted = program('INSERT INTO Log SET n = (SELECT count(*) AS n FROM Secret)');
  await database.run(`CREATE TRIGGER trusted AFTER CREATE ON TYPE Doc ${trusted}`);
  await database.run('INSERT INTO Doc SET n = 1');
  assert.equal((await database.run('SELECT FROM Log')).length, 1);
  const who = await userOf(database, 'scripters');
  const group = {...allButSecret, access: ['updateSchema', 'updateSecurity']};
  await world.security.saveGroup(database.name, 'scripters', group);
  const principal = world.security.principalOf(who.name);
  const spying = program('INSERT INTO Copy SET n = (SELECT name FROM Secret)');
  const made = `CREATE TRIGGER spy BEFORE CREATE ON TYPE Doc ${spying}`;
  await database.run(made, {}, principal);
  await assert.rejects(database.run('INSERT INTO Doc SET n = 2'), refusedOf('spy', /'Secret'/));
});
