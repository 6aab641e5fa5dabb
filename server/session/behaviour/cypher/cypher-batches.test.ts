/** `CALL {...} IN TRANSACTIONS`: what is committed, what fails, and what is told of it. */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
});
after(async () => world.close());
beforeEach(async () => {
  database = await world.database([]);
});

const cypher = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher'});
const values = async (): Promise<unknown[]> =>
  (await cypher('MATCH (t:T) RETURN t.i AS i ORDER BY i')).map(({i}) => i);

/** The third row cannot be divided; two rows are a transaction. */
const divided = (rest: string): string =>
  `UNWIND range(1, 6) AS i CALL (i) { CREATE (t:T {i: 6 / (i - 3)}) RETURN t.i AS v }
   IN TRANSACTIONS OF 2 ROWS ${rest}`;

test('every so many rows are a transaction, and all of them are counted', async () => {
  const cursor = await database.service.run(root, {
    ...database.request(
      'UNWIND range(1, 5) AS i CALL (i) { CREATE (:T {i: i}) } IN TRANSACTIONS OF 2 ROWS',
    ),
    language: 'cypher',
  });
  assert.equal(await cursor.next(), undefined);
  const stats = JSON.parse(cursor.summary.stats ?? '{}') as Record<string, unknown>;
  assert.equal(stats['nodesCreated'], 5);
  assert.deepEqual(await values(), [1, 2, 3, 4, 5]);
});

test('a value that is worked out before the batches reaches them', async () => {
  await cypher(
    'UNWIND [1, 2] AS n WITH n, n * 10 AS x CALL { WITH x CREATE (:Made {x: x}) } ' +
      'IN TRANSACTIONS OF 1 ROWS',
  );
  assert.deepEqual(await cypher('MATCH (m:Made) RETURN m.x AS x ORDER BY x'), [{x: 10}, {x: 20}]);
});

test('a failure ends the statement; what was committed before stays', async () => {
  await assert.rejects(cypher(divided('')), /division by zero|divided by/i);
  assert.deepEqual(await values(), [-6, -3]);
});

test('with CONTINUE the rest is done, and the failed rows have nulls', async () => {
  assert.deepEqual(
    await cypher(
      divided(
        'ON ERROR CONTINUE REPORT STATUS AS s RETURN i, v, s.committed AS ok, s.started AS s',
      ),
    ),
    [
      [1, -3, true],
      [2, -6, true],
      [3, null, false],
      [4, null, false],
      [5, 3, true],
      [6, 2, true],
    ].map(([i, v, ok]) => ({i, v, ok, s: true})),
  );
  assert.deepEqual(await values(), [-6, -3, 2, 3]);
});

test('with BREAK nothing more is begun', async () => {
  assert.deepEqual(
    await cypher(
      divided(
        `ON ERROR BREAK REPORT STATUS AS s
         RETURN s.started AS started, s.committed AS ok, count(*) AS rows,
           head(collect(s.errorMessage)) IS NOT NULL AS told ORDER BY started, ok`,
      ),
    ),
    [
      {started: false, ok: false, rows: 2, told: false},
      {started: true, ok: false, rows: 2, told: true},
      {started: true, ok: true, rows: 2, told: false},
    ],
  );
});

test('records are read as each transaction finds them, and may be deleted', async () => {
  await cypher('UNWIND range(1, 7) AS i CREATE (:T {i: i})-[:R]->(:U)');
  assert.deepEqual(
    await cypher(
      `MATCH (t:T) CALL (t) { WITH t MATCH (t)-[:R]->(u) DETACH DELETE t, u }
       IN TRANSACTIONS OF 3 ROWS RETURN count(*) AS rows`,
    ),
    [{rows: 7}],
  );
  assert.deepEqual(await cypher('MATCH (n) RETURN count(*) AS left'), [{left: 0}]);
});

test('no rows at all are no transaction, and what follows still answers', async () => {
  assert.deepEqual(
    await cypher('MATCH (n:None) CALL (n) { CREATE (:T) } IN TRANSACTIONS RETURN count(*) AS rows'),
    [{rows: 0}],
  );
});

const refusals: readonly (readonly [text: string, message: RegExp])[] = [
  ['CREATE (a:A) WITH a CALL (a) { CREATE (:B) } IN TRANSACTIONS', /nothing is written/],
  ['CALL { CALL { CREATE (:B) } IN TRANSACTIONS }', /outermost query/],
  ['CALL { CREATE (:B) } IN TRANSACTIONS OF 0 ROWS', /1 to 1000000 rows/],
];

for (const [text, message] of refusals) {
  test(`refused: ${text}`, async () => assert.rejects(cypher(text), {message}));
}

test('it stands in no transaction and is no read', async () => {
  const text = 'CALL { CREATE (:B) } IN TRANSACTIONS';
  await assert.rejects(database.run(text, {language: 'cypher', readOnly: true}), {
    code: 'query.not-idempotent',
  });
  const transactionId = await database.service.begin(root, database.name);
  await assert.rejects(
    database.run(text, {language: 'cypher', transactionId}),
    /stands in no transaction/,
  );
  await database.service.rollback(root, database.name, transactionId);
});
