/** A text that takes long to read is prepared in several turns, and means what it means. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database(['CREATE VERTEX TYPE T', 'INSERT INTO T SET n = 7']);
});
after(() => world.close());

const numbers = Array.from({length: 28_000}, (_, n) => n).join(', ');
const long = `SELECT n FROM T WHERE n IN [${numbers}]`;

test('others are answered between the turns, in whatever language', async () => {
  for (const [text, language] of [
    [long, 'sql'],
    [`MATCH (t:T) WHERE t.n IN [${numbers}] RETURN t.n AS n`, 'cypher'],
  ] as const) {
    const order: string[] = [];
    const answered = (what: string) => (rows: unknown) => {
      order.push(what);
      return rows;
    };
    const [rows] = await Promise.all([
      database.run(text, {language}).then(answered('long')),
      database.run('SELECT n FROM T').then(answered('short')),
    ]);
    assert.deepEqual(rows, [{n: 7}]);
    assert.deepEqual(order, ['short', 'long']);
  }
});

test('it can be terminated before it begins', async () => {
  const refused = assert.rejects(database.run(long, {tag: 'long'}), {code: 'query.terminated'});
  assert.equal(world.service.terminateTagged(root, 'long'), 1);
  await refused;
});

test('it runs under the schema as it is when it begins', async () => {
  const running = database.run(`${long} OR bonus = 'b'`);
  await database.run('CREATE PROPERTY T.bonus STRING (default "b")');
  await database.run('INSERT INTO T SET n = -1');
  const rows = await running;
  assert.ok(rows.some(({n}) => n === 7));
  await database.run('DELETE FROM T WHERE n = -1');
});

test('in a transaction it reads what was written there, and a wrong one ends it', async () => {
  const transactionId = await world.service.begin(root, database.name, {
    isolation: 'REPEATABLE_READ',
  });
  await database.run('INSERT INTO T SET n = 8', {transactionId});
  assert.equal((await database.run(long, {transactionId})).length, 2);
  await assert.rejects(database.run(`${long} AND`, {transactionId}), {code: 'sql.syntax'});
  assert.equal(world.service.transactionIsLive(root, database.name, transactionId), false);
  await assert.rejects(database.run(`${long} AND`), {code: 'sql.syntax'});
  assert.deepEqual(await database.run(`EXPLAIN ${long}`), []);
});
