/** Transactions and the session of a client, said in Cypher. */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
let session: string;
before(async () => {
  world = await ServiceWorld.open();
});
after(async () => world.close());
beforeEach(async () => {
  database = await world.database(['CREATE VERTEX TYPE A']);
  session = await world.service.begin(root, database.name);
});

const inside = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher', transactionId: session});
const outside = async (): Promise<unknown> => {
  const [row] = await database.run('MATCH (a:A) RETURN count(*) AS n', {language: 'cypher'});
  return (row as {n: number}).n;
};

test('COMMIT keeps what was written; what follows is on its own until it begins anew', async () => {
  await inside('CREATE (:A)');
  assert.equal(await outside(), 0);
  assert.deepEqual(await inside('COMMIT'), [{operation: 'commit'}]);
  assert.equal(await outside(), 1);
  await inside('CREATE (:A)');
  assert.equal(await outside(), 2);
  assert.deepEqual(await inside('START TRANSACTION'), [{operation: 'begin'}]);
  await inside('CREATE (:A)');
  assert.equal(await outside(), 2);
  await world.service.commit(root, database.name, session, undefined);
  assert.equal(await outside(), 3);
});

test('ROLLBACK forgets what was written, and the session goes on', async () => {
  await inside('CREATE (:A)');
  assert.deepEqual(await inside('ROLLBACK'), [{operation: 'rollback'}]);
  assert.deepEqual(await inside('MATCH (a:A) RETURN count(*) AS n'), [{n: 0}]);
  await assert.rejects(inside('RETURN 1 / 0'));
  assert.deepEqual(await inside('RETURN 1 AS x'), [{x: 1}]);
  await world.service.rollback(root, database.name, session);
  await assert.rejects(inside('RETURN 1'), {code: 'transaction.gone'});
});

test('a transaction that is open is not begun again, one that is not is not ended', async () => {
  await assert.rejects(inside('START TRANSACTION'), {message: /open already/});
  await assert.rejects(inside('RETURN 1'), {code: 'transaction.failed'});
  session = await world.service.begin(root, database.name);
  await inside('COMMIT');
  await assert.rejects(inside('COMMIT'), {message: /no open transaction for COMMIT/});
  assert.equal(world.service.transactions(root).length, 0);
  await world.service.commit(root, database.name, session, undefined);
});

test('parameters of the session are read until they are reset', async () => {
  assert.deepEqual(await inside('SESSION SET $x = 2 + 3'), [
    {operation: 'set', name: 'x', value: 5},
  ]);
  assert.deepEqual(await inside('SESSION SET $y = [i IN range(1, $x) | i * $x]'), [
    {operation: 'set', name: 'y', value: [5, 10, 15, 20, 25]},
  ]);
  await inside('ROLLBACK');
  assert.deepEqual(await inside('RETURN $x + size($y) AS v'), [{v: 10}]);
  const given = {language: 'cypher', transactionId: session, parameters: new Map([['x', 1]])};
  assert.deepEqual(await database.run('RETURN $x AS x', given), [{x: 1}]);
  assert.deepEqual(await inside('SESSION RESET'), [{operation: 'reset'}]);
  await assert.rejects(inside('RETURN $x, $y'), {message: 'Expected parameter(s): x, y'});
});

test('a parameter of the session keeps the id of a record, not what it was', async () => {
  await inside('CREATE (:A {v: 1})');
  await inside('SESSION SET $n = head(COLLECT { MATCH (a:A) RETURN a })');
  await inside('MATCH (a:A) SET a.v = 2');
  assert.deepEqual(await inside('RETURN $n.v AS v'), [{v: 2}]);
});

test('SESSION CLOSE ends the session and rolls back', async () => {
  await inside('CREATE (:A)');
  assert.deepEqual(await inside('SESSION CLOSE'), [{operation: 'close'}]);
  await assert.rejects(inside('RETURN 1'), {code: 'transaction.gone'});
  assert.equal(await outside(), 0);
});

test('a commit that meets a conflict ends the session, which says so', async () => {
  await database.run('CREATE (:A {v: 1})', {language: 'cypher'});
  await inside('MATCH (a:A) SET a.v = 2');
  await database.run('MATCH (a:A) SET a.v = 3', {language: 'cypher'});
  await assert.rejects(inside('COMMIT'), {code: 'commit.conflict'});
  await assert.rejects(inside('RETURN 1'), {code: 'transaction.failed'});
});

for (const text of ['START TRANSACTION', 'COMMIT', 'ROLLBACK', 'SESSION SET $x = 1']) {
  test(`${text} without a session is refused`, async () => {
    const run = database.run(text, {language: 'cypher'});
    await assert.rejects(run, {code: 'query.execution', message: /it is sent in none/});
  });
}

test('a parameter that is not given is refused before anything runs', async () => {
  const run = database.run('CREATE (:A) RETURN\n $p + $q', {language: 'cypher'});
  await assert.rejects(run, {
    code: 'query.parameter-missing',
    message: 'Expected parameter(s): p, q',
    place: {line: 2, column: 2},
  });
  assert.equal(await outside(), 0);
  await database.run('EXPLAIN RETURN $p', {language: 'cypher'});
});
