/** Indexes that are filled by hand. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {assertIntegrity} from '#server/simulation/integrity.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const people = [
  'CREATE VERTEX TYPE Person',
  ...['Ann', 'Bob', 'Cid'].map(name => `CREATE VERTEX Person SET name = '${name}'`),
];

/** Keys and ids that a statement answers, as text. */
async function entries(database: TestDatabase, text: string): Promise<string[]> {
  const rows = await database.run(text);
  return rows.map(({key, rid}) => `${JSON.stringify(key)} ${String(rid)}`);
}

test('entries are put, found by key and range, in order, and taken out', async () => {
  const database = await world.database([...people, 'CREATE INDEX nick NOTUNIQUE KEY STRING']);
  await database.run("INSERT INTO INDEX:nick SET key = 'b', rid = #1:1");
  await database.run(
    "INSERT INTO INDEX:nick (key, rid) VALUES ('a', #1:0), ('b', #1:2), (7, #1:0)",
  );
  await database.run("INSERT INTO INDEX:nick CONTENT {'key': 'c', 'rid': '#1:2'}");
  for (const [where, expected] of [
    ['', ['["7"] #1:0', '["a"] #1:0', '["b"] #1:1', '["b"] #1:2', '["c"] #1:2']],
    [" WHERE key = 'b'", ['["b"] #1:1', '["b"] #1:2']],
    [" WHERE key = 'b' AND rid = #1:2", ['["b"] #1:2']],
    [" WHERE key > 'a'", ['["b"] #1:1', '["b"] #1:2', '["c"] #1:2']],
    [" WHERE key BETWEEN 'a' AND 'b' ORDER BY key DESC, rid LIMIT 1", ['["b"] #1:1']],
    [" WHERE key = 'z'", []],
  ] as const) {
    const found = await entries(database, `SELECT FROM INDEX:nick${where}`);
    assert.deepEqual(where.includes('ORDER') ? found : found.sort(), expected, where);
  }
  const names = await database.run("SELECT expand(rid) FROM index:nick WHERE key = 'c'");
  assert.deepEqual(
    names.map(({name}) => name),
    ['Cid'],
  );
  const deleted = await database.run("DELETE FROM INDEX:nick WHERE key = 'b' AND rid = #1:1");
  assert.deepEqual(deleted, [{count: 1}]);
  assert.deepEqual(await entries(database, "SELECT FROM index:nick WHERE key = 'b'"), [
    '["b"] #1:2',
  ]);
  const {database: opened, schema} = world.service.databaseSession(root, database.name);
  const reader = opened.read();
  assertIntegrity(reader, schema.context);
  reader.close();
});

test('keys of several parts are lists, converted to their types', async () => {
  const database = await world.database([...people, 'CREATE INDEX at UNIQUE STRING, INTEGER']);
  await database.run("INSERT INTO INDEX:at SET key = ['x', '1'], rid = #1:0");
  await database.run("INSERT INTO INDEX:at (key, rid) VALUES (['x', 2], #1:1), (['a', 9], #1:2)");
  await database.run('INSERT INTO INDEX:at SET key = :k, rid = #1:2', {
    parameters: new Map([['k', ['y', 1]]]),
  });
  assert.deepEqual(await entries(database, 'SELECT FROM index:at'), [
    '["a",9] #1:2',
    '["x",1] #1:0',
    '["x",2] #1:1',
    '["y",1] #1:2',
  ]);
  assert.deepEqual(await entries(database, "SELECT FROM index:at WHERE key = ['x', 2]"), [
    '["x",2] #1:1',
  ]);
  const explain = database.request("EXPLAIN SELECT FROM index:at WHERE key = ['x', 2]");
  const cursor = await world.service.run(root, explain);
  while ((await cursor.next()) !== undefined);
  assert.match(cursor.summary.explain ?? '', /index at /);
  cursor.close();
  await assert.rejects(database.run("INSERT INTO INDEX:at SET key = ['x', 2], rid = #1:2"), {
    code: 'commit.duplicate-key',
    message: /\[x,2\] found on index 'at'/,
  });
  await database.run("DELETE FROM index:at WHERE key = ['x', 2]");
  assert.equal((await database.run('SELECT FROM index:at')).length, 3);
  for (const [statement, message] of [
    ["INSERT INTO INDEX:at SET key = ['x'], rid = #1:2", /list of 2 values/],
    ["INSERT INTO INDEX:at CONTENT {'key': ['x', 5], 'rid': #1:0}", /by SET or VALUES/],
    ["INSERT INTO INDEX:at SET key = ['x', 'y'], rid = #1:2", /does not fit/],
    ["INSERT INTO INDEX:at SET key = ['x', 5]", /'at.rid' is mandatory/],
  ] as const) {
    await assert.rejects(database.run(statement), {message}, statement);
  }
});

test('it belongs to transactions, and goes with its entries', async () => {
  const database = await world.database([...people, 'CREATE INDEX m UNIQUE_HASH LONG']);
  const transactionId = await world.service.begin(root, database.name);
  await database.run('INSERT INTO INDEX:m SET key = 1, rid = #1:0', {transactionId});
  assert.equal(
    (await database.run('SELECT FROM INDEX:m WHERE key = 1', {transactionId})).length,
    1,
  );
  assert.equal((await database.run('SELECT FROM INDEX:m')).length, 0);
  await world.service.rollback(root, database.name, transactionId);
  assert.equal((await database.run('SELECT FROM INDEX:m')).length, 0);

  const [shown] = await database.run('SELECT FROM schema:index:m');
  assert.deepEqual([shown?.['automatic'], shown?.['keyTypes']], [false, ['LONG']]);
  const [again] = await database.run('CREATE INDEX m IF NOT EXISTS UNIQUE_HASH LONG');
  assert.equal(again?.['created'], false);
  for (const [statement, message] of [
    ['CREATE INDEX m UNIQUE_HASH LONG', /'m' already exists/],
    ['CREATE INDEX m IF NOT EXISTS UNIQUE STRING', /exists and is another one/],
    ['CREATE INDEX Person UNIQUE STRING', /Type 'Person' already exists/],
    ['CREATE INDEX n UNIQUE', /has a name and the data types/],
    ['CREATE INDEX n UNIQUE NOTHING', /no data type 'NOTHING'/],
    ['DROP TYPE m', /DROP INDEX drops both/],
    ['ALTER TYPE m NAME k', /DROP INDEX drops both/],
    ['SELECT FROM indexvalues:m', /is filled by hand/],
  ] as const) {
    await assert.rejects(database.run(statement), {message}, statement);
  }
  await database.run('INSERT INTO INDEX:m SET key = 1, rid = #1:0');
  await database.run('REBUILD INDEX m');
  assert.equal((await database.run('SELECT FROM INDEX:m WHERE key = 1')).length, 1);
  await database.run('DROP INDEX m');
  await assert.rejects(database.run('SELECT FROM INDEX:m'), {code: 'schema.unknown-index'});
  assert.deepEqual(await database.run("SELECT FROM schema:types WHERE name = 'm'"), []);
});
