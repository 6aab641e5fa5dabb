/**
 * M4 on every way that leads to a trigger: it fires with the rights of its owner through the tools
 * of agents and under PROFILE, not at all under EXPLAIN, belongs to whoever imports it, and asks
 * with the rights of whoever fires it where an earlier release kept no owner.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {indexFamilies} from '#server/caches/index-families.ts';
import {Catalog} from '#server/catalog/catalog.ts';
import {CatalogEncoder, decodeCatalog} from '#server/catalog/encode.ts';
import {schemaBehind} from '#server/exchange/schema-statements.ts';
import type {Principal} from '#server/security/principal.ts';
import {ToolWorld} from '#server/testing/worlds/tool-world.ts';
import type {TestDatabase} from '#server/testing/worlds/service-world.ts';
import {catalogKey} from '#server/transactions/system-keys.ts';

let tools: ToolWorld;
before(async () => {
  tools = await ToolWorld.open({'svc.server.saltIterations': '1000'});
});
after(() => tools[Symbol.asyncDispose]());

const everything = {access: ['createRecord', 'readRecord', 'updateRecord', 'deleteRecord']};
const schema = [
  'CREATE DOCUMENT TYPE Secret',
  'CREATE DOCUMENT TYPE Doc',
  'CREATE DOCUMENT TYPE Copy',
  "INSERT INTO Secret SET name = 'top-secret'",
];
const spying =
  'CREATE TRIGGER spy AFTER CREATE ON TYPE Doc EXECUTE SQL ' +
  "'INSERT INTO Copy SET n = (SELECT name FROM Secret)'";
const denied = /trigger 'spy'.*not allowed to read records of type 'Secret'/;
let users = 0;

/** A user who may make triggers and everything but read Secret. */
async function makerIn({name: database}: TestDatabase): Promise<Principal> {
  const {security} = tools.world;
  const name = `maker${++users}`;
  const group = {access: ['updateSchema'], types: {'*': everything, Secret: {access: []}}};
  await security.saveGroup(database, 'makers', group);
  await security.createUser({name, password: `${name}-pass`, databases: {[database]: ['makers']}});
  const who = security.principalOf(name);
  assert.ok(who !== undefined);
  return who;
}

function catalogOf(database: TestDatabase): Catalog {
  const bytes = tools.world.stored(database).store.get(catalogKey);
  assert.ok(bytes !== undefined);
  return decodeCatalog(bytes, indexFamilies);
}

test('M4: through the tools of agents it has the rights of its owner', async () => {
  const database = await tools.world.database(schema);
  await database.run(spying, {}, await makerIn(database));
  const call = {
    database: database.name,
    language: 'sql',
    command: "INSERT INTO Doc SET name = 'a'",
  };
  const {refusal = ''} = await tools.call('execute_command', call);
  assert.match(refusal, denied);
  assert.deepEqual(await database.run('SELECT FROM Copy'), []);
});

test('M4: EXPLAIN fires nothing, and PROFILE with the rights of its owner', async () => {
  const database = await tools.world.database(schema);
  await database.run(spying, {}, await makerIn(database));
  await database.run("EXPLAIN INSERT INTO Doc SET name = 'a'");
  await assert.rejects(database.run("PROFILE INSERT INTO Doc SET name = 'a'"), denied);
  assert.deepEqual(await database.run('SELECT FROM Doc'), []);
  assert.deepEqual(await database.run('SELECT FROM Copy'), []);
});

test('M4: what an export tells of it belongs to whoever imports it', async () => {
  const database = await tools.world.database(schema);
  await database.run(spying);
  await database.run("INSERT INTO Doc SET name = 'a'");
  assert.equal((await database.run('SELECT FROM Copy')).length, 1, 'root reads what it likes');
  const told = schemaBehind(catalogOf(database));
  assert.equal(told.length, 1);
  const other = await tools.world.database(schema);
  const who = await makerIn(other);
  for (const statement of told) await other.run(statement, {}, who);
  const [listed] = await other.run('SELECT owner FROM schema:triggers');
  assert.deepEqual(listed, {owner: who.name});
  await assert.rejects(other.run("INSERT INTO Doc SET name = 'a'"), denied);
});

test('M4: one without an owner asks with the rights of whoever fires it', async () => {
  const database = await tools.world.database(schema);
  await database.run(spying);
  const stored = tools.world.stored(database);
  const {data} = catalogOf(database);
  // As a release wrote it that kept no owner.
  const triggers = data.triggers.map(({owner: _, ...trigger}) => trigger);
  const version = data.version + 1;
  const catalog = new Catalog({...data, version, triggers}, indexFamilies);
  const transaction = stored.begin('READ_COMMITTED');
  transaction.put(catalogKey, new CatalogEncoder().encode(catalog));
  transaction.newSchemaVersion = version;
  assert.equal((await transaction.commit()).kind, 'committed');
  const [listed] = await database.run('SELECT owner FROM schema:triggers');
  assert.deepEqual(listed, {owner: null});
  const who = await makerIn(database);
  await assert.rejects(database.run("INSERT INTO Doc SET name = 'a'", {}, who), {
    message: `User '${who.name}' is not allowed to read records of type 'Secret'`,
  });
  await database.run("INSERT INTO Doc SET name = 'b'");
  assert.equal((await database.run('SELECT FROM Copy')).length, 1);
});
