/** Statements that look after a database: what they answer, and what they leave as it is. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const schema = [
  'CREATE VERTEX TYPE Item',
  'CREATE VERTEX TYPE Toy EXTENDS Item',
  'CREATE PROPERTY Item.n INTEGER',
  'CREATE INDEX ON Item (n) UNIQUE',
  'INSERT INTO Item SET n = 1',
  'INSERT INTO Toy (n) VALUES (2), (3)',
];

test('REBUILD TYPE makes the indexes of the type anew and counts its records', async () => {
  const database = await world.database(schema);
  const row = {operation: 'rebuild type', typeName: 'Item', repartition: false};
  assert.deepEqual(await database.run('REBUILD TYPE Item'), [
    {...row, polymorphic: false, recordsRebuilt: 1},
  ]);
  assert.deepEqual(await database.run('REBUILD TYPE Item POLYMORPHIC WITH batchSize = 10'), [
    {...row, polymorphic: true, recordsRebuilt: 3},
  ]);
  assert.deepEqual(await database.run('SELECT n FROM Item WHERE n > 1 ORDER BY n'), [
    {n: 2},
    {n: 3},
  ]);
});

test('COMPACT INDEX and LOCK check the names and say that there was nothing to do', async () => {
  const database = await world.database(schema);
  assert.deepEqual(await database.run('COMPACT INDEX *'), [
    {operation: 'compact index', indexes: ['Item[n]'], compacted: false},
  ]);
  assert.deepEqual(await database.run('LOCK TYPE Item, Toy'), [{operation: 'lock'}]);
  const script = 'LOCK BUCKET Item_0; INSERT INTO Item SET n = 9; RETURN (SELECT n FROM Item)';
  assert.deepEqual(await database.run(script, {language: 'sqlscript'}), [
    {n: 1},
    {n: 9},
    {n: 2},
    {n: 3},
  ]);
});

test('ALIGN DATABASE finds nothing to do on a server alone, and is for root', async () => {
  const database = await world.database(schema);
  const [row, ...others] = await database.run('ALIGN DATABASE');
  assert.deepEqual(others, []);
  assert.deepEqual(row, {
    operation: 'align database',
    member: 'svc_0',
    found: 'CONSISTENT',
    differing: [],
    done: 'nothing',
    status: 'CONSISTENT',
  });
  await assert.rejects(database.run('ALIGN DATABASE', {readOnly: true}), {
    code: 'query.not-idempotent',
  });
  for (const inside of ['BEGIN; ALIGN DATABASE; COMMIT', 'LET a = 1; ALIGN DATABASE']) {
    await assert.rejects(database.run(inside, {language: 'sqlscript'}), {code: 'query.execution'});
  }
  await assert.rejects(database.run('EXPLAIN ALIGN DATABASE'), {code: 'query.execution'});
});

const refused = [
  // statement                                      code                     message
  ['REBUILD TYPE Nope', 'schema.unknown-type', /'Nope' was not found/],
  ['REBUILD TYPE Item WITH repartition = 1', 'sql.syntax', /repartition is true or false/],
  ['REBUILD TYPE Item WITH size = 1', 'sql.syntax', /batchSize, repartition/],
  ['REBUILD INDEX * WITH batchSize = 0', 'sql.syntax', /at least 1/],
  ['COMPACT INDEX nope', 'schema.unknown-index', /'nope' was not found/],
  ['LOCK TYPE Item, Nope', 'schema.unknown-type', /'Nope' was not found/],
  ['LOCK BUCKET nope', 'schema.unknown-bucket', /'nope' was not found/],
  ["CREATE INDEX ON Toy (n) UNIQUE METADATA {'a': 1}", 'sql.syntax', /takes no METADATA/],
  ["CREATE DOCUMENT TYPE Page PAGESIZE 'x'", 'query.semantic', /whole number/],
  ['CREATE DOCUMENT TYPE Page EXTENDS Nope', 'query.execution', /'Nope' was not found/],
  ['INSERT INTO BUCKET:nope SET n = 1', 'sql.syntax', /'nope' was not found/],
  ['ALTER DATABASE `svc.nosuch` 1', 'database.operation', /svc.nosuch/],
  ['IMPORT DATABASE file:///tmp/x', 'not-available', /writes no databases out and reads none/],
] as const;

for (const [statement, code, message] of refused) {
  test(`${statement} is refused with ${code}`, async () => {
    const database = await world.database(schema);
    await assert.rejects(database.run(statement), (error: unknown) => {
      assert.ok(error instanceof Refusal);
      assert.equal(error.code, code);
      assert.match(error.message, message);
      return true;
    });
  });
}

const graph = [
  'CREATE VERTEX TYPE Person',
  'CREATE PROPERTY Person.name STRING',
  'CREATE INDEX ON Person (name) UNIQUE',
  'CREATE EDGE TYPE Knows',
  'CREATE EDGE TYPE Light LIGHTWEIGHT',
  "INSERT INTO Person (name) VALUES ('ann'), ('bob')",
  'CREATE EDGE Knows FROM #1:0 TO #1:1 SET since = 1',
];

test('RESTORE gives a record its former id back, and what points at it finds it', async () => {
  const database = await world.database(graph);
  await database.run("DELETE VERTEX FROM Person WHERE name = 'bob'");
  const [vertex] = await database.run("RESTORE VERTEX Person RID #1:1 SET name = 'Bob'");
  assert.equal(vertex?.['operation'], 'restore vertex');
  assert.equal(vertex?.['record'], '#1:1');
  assert.deepEqual(await database.run("SELECT @rid FROM Person WHERE name = 'Bob'"), [
    {'@rid': '#1:1'},
  ]);
  const restore = 'RESTORE EDGE Knows RID #2:0 FROM #1:0 TO #1:1 CONTENT {"since": 2}';
  assert.deepEqual(await database.run(restore), [
    {operation: 'restore edge', record: '#2:0', out: '#1:0', in: '#1:1'},
  ]);
  assert.deepEqual(
    await database.run("SELECT out('Knows').name AS names FROM Person WHERE name = 'ann'"),
    [{names: ['Bob']}],
  );
  const [fresh] = await database.run("INSERT INTO Person SET name = 'cid'");
  assert.notEqual(fresh?.['@rid'], '#1:1');
});

test('of two that restore one id at once, one does', async () => {
  const database = await world.database(graph);
  await database.run('DELETE FROM #2:0');
  const restore = 'RESTORE EDGE Knows RID #2:0 FROM #1:0 TO #1:1';
  const both = await Promise.allSettled([database.run(restore), database.run(restore)]);
  assert.equal(both.filter(one => one.status === 'fulfilled').length, 1);
  assert.equal((await database.run('SELECT FROM Knows')).length, 1);
});

const unrestored = [
  // statement                                      message
  ["RESTORE VERTEX Person RID #1:0 SET name = 'x'", /#1:0 is the id of a record that is there/],
  ["RESTORE VERTEX Person RID #1:50 SET name = 'x'", /no record has had the id #1:50 yet/],
  ["RESTORE VERTEX Person RID #2:0 SET name = 'x'", /lies in no bucket of type 'Person'/],
  ["RESTORE DOCUMENT Person RID #1:0 SET name = 'x'", /no document type/],
  ['RESTORE EDGE Knows RID #2:0', /FROM and TO/],
  ['RESTORE EDGE Light RID #3:0 FROM #1:0 TO #1:1', /light edge type/],
  ["RESTORE VERTEX Person RID 'x'", /a record id, not the text x/],
] as const;

for (const [statement, message] of unrestored) {
  test(`${statement} is refused`, async () => {
    const database = await world.database(graph);
    await assert.rejects(database.run(statement), message);
  });
}
