/** BATCH n of UPDATE, DELETE and MOVE VERTEX: transactions of so many records each. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

async function items(count: number): Promise<TestDatabase> {
  const database = await world.database([
    'CREATE VERTEX TYPE Item',
    'CREATE VERTEX TYPE Kept EXTENDS Item',
    'CREATE PROPERTY Item.n INTEGER (max 100)',
  ]);
  const values = Array.from({length: count}, (_, at) => `(${at})`).join(', ');
  await database.run(`INSERT INTO Item (n) VALUES ${values}`);
  return database;
}

const numbers = async (database: TestDatabase): Promise<unknown[]> =>
  (await database.run('SELECT n FROM Item ORDER BY n')).map(row => row['n']);

test('a batch counts what all of its transactions wrote', async () => {
  const database = await items(7);
  assert.deepEqual(await database.run('UPDATE Item SET n += 10 WHERE n > 1 BATCH 2'), [{count: 5}]);
  assert.deepEqual(await numbers(database), [0, 1, 12, 13, 14, 15, 16]);
  assert.deepEqual(await database.run('DELETE FROM Item WHERE n > 12 LIMIT 3 BATCH 2'), [
    {count: 3},
  ]);
  assert.deepEqual(await database.run('DELETE FROM Item WHERE n > 500 BATCH 2'), [{count: 0}]);
  assert.equal((await numbers(database)).length, 4);
});

test('what was committed before a failure stays', async () => {
  const database = await items(6);
  await assert.rejects(database.run('UPDATE Item SET n += 98 BATCH 2'), /max|greatest|100/);
  assert.deepEqual(await numbers(database), [2, 3, 4, 5, 98, 99]);
});

test('RETURN AFTER and a move answer the records of all transactions', async () => {
  const database = await items(3);
  const after = await database.run('UPDATE Item SET n += 1 RETURN AFTER n BATCH 1');
  assert.deepEqual(after, [{n: 1}, {n: 2}, {n: 3}]);
  const moved = await database.run('MOVE VERTEX (SELECT FROM Item) TO BUCKET:Kept_0 BATCH 2');
  assert.deepEqual(
    moved.map(row => row['@type']),
    ['Kept', 'Kept', 'Kept'],
  );
});

test('a batch with a request id is applied once', async () => {
  const database = await items(4);
  const more = {requestId: 'batch-1'};
  assert.deepEqual(await database.run('UPDATE Item SET n += 1 BATCH 1', more), [{count: 4}]);
  assert.deepEqual(await numbers(database), [1, 2, 3, 4]);
});

const refused = [
  // statement                                        because
  ['UPDATE Item SET n = 1 BATCH 0', /1 to 1000000 rows/],
  ["UPDATE Item SET n = 1 BATCH 'x'", /1 to 1000000 rows/],
  ['UPDATE Item SET n = 1 RETURN BEFORE BATCH 2', /RETURN BEFORE is of one transaction/],
  ['DELETE FROM Item RETURN BEFORE BATCH 2', /RETURN BEFORE is of one transaction/],
  ['UPDATE Item SET n = 1 UPSERT WHERE n = 1 BATCH 2', /UPSERT is of one transaction/],
  ['MOVE VERTEX (SELECT FROM Item) TO BUCKET:Nope', /'Nope' was not found/],
] as const;

for (const [statement, because] of refused) {
  test(`${statement} is refused`, async () => {
    const database = await items(1);
    await assert.rejects(database.run(statement), because);
  });
}

test('a script refuses a statement that commits by itself', async () => {
  const database = await items(1);
  await assert.rejects(
    database.run('UPDATE Item SET n = 1 BATCH 2; RETURN 1', {language: 'sqlscript'}),
    (error: unknown) => error instanceof Refusal && error.code === 'query.execution',
  );
});
