/** What a script answers: the rows of its last statement, or the value of its RETURN. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database(['CREATE DOCUMENT TYPE T']);
});
after(() => world.close());

const cases: readonly (readonly [script: string, rows: readonly unknown[]])[] = [
  ['SELECT 1 AS a; SELECT 2 AS b', [{b: 2}]],
  ['SELECT 1 AS a; LET $x = 5', []],
  ['SELECT 1 AS a; IF (1 = 2) { SELECT 2 AS b; }', []],
  ['SELECT 1 AS a; IF (1 = 1) { SELECT 2 AS b; }', [{b: 2}]],
  ['SELECT 1 AS a; FOREACH ($x IN [1, 2]) { SELECT $x AS b; }', []],
  ['SELECT 1 AS a; WHILE (1 = 2) { SELECT 2 AS b; }', []],
  ['BEGIN; INSERT INTO T SET n = 1; COMMIT', [{operation: 'commit'}]],
  ['BEGIN; INSERT INTO T SET n = 2; ROLLBACK', [{operation: 'rollback'}]],
  ['SELECT count(*) AS c FROM T', [{c: 1}]],
  ['SLEEP 1', [{operation: 'sleep', result: 'OK', millis: 1}]],
  ["CONSOLE.log 'x'", [{operation: 'console', level: 'log', message: 'x'}]],
  ['CONSOLE.warn [1, 2]', [{operation: 'console', level: 'warn', message: '[1,2]'}]],
  ['FOREACH ($x IN [1, 2]) { IF ($x = 2) { RETURN $x; } } RETURN 0', [{value: 2}]],
  ["RETURN {'a': 1}", [{value: {a: 1}}]],
  ['RETURN [1, 2]', [{value: 1}, {value: 2}]],
  ['RETURN (SELECT 1 AS a)', [{a: 1}]],
  ['RETURN', [{value: null}]],
];

for (const [script, rows] of cases) {
  test(script, async () => {
    assert.deepEqual(await database.run(script, {language: 'sqlscript'}), rows);
  });
}

test('a global variable is there for later statements of its database alone', async () => {
  const [mine, other] = [await world.database(['CREATE VERTEX TYPE P']), database];
  await mine.run('CREATE VERTEX P SET n = 1');
  await mine.run('SET GLOBAL $few = (SELECT FROM P)');
  await mine.run('SET GLOBAL $many = [1, 2, 3]; ROLLBACK', {language: 'sqlscript'});
  await mine.run('UPDATE P SET n = 2');
  assert.deepEqual(await mine.run('SELECT $many.size() AS n, $few[0].n AS now'), [{n: 3, now: 2}]);
  const [local] = await mine.run('LET $many = 5; RETURN $many', {language: 'sqlscript'});
  assert.deepEqual(local, {value: 5});
  assert.deepEqual(await other.run('RETURN $many'), [{value: null}]);
  await mine.run('SET GLOBAL $many = null');
  assert.deepEqual(await mine.run('RETURN $many'), [{value: null}]);
  await assert.rejects(mine.run(`SET GLOBAL $long = '${'x'.repeat(1_100_000)}'`), /longer than/);
  await assert.rejects(
    mine.run('SET GLOBAL $x = 1', {readOnly: true}),
    (error: unknown) => error instanceof Refusal && error.code === 'query.not-idempotent',
  );
});

test('a statement of scripts may be sent alone', async () => {
  assert.deepEqual(await database.run('RETURN 5'), [{value: 5}]);
  assert.deepEqual(await database.run('COMMIT'), [{operation: 'commit'}]);
});

test('EXPLAIN answers its plan as a row, PROFILE runs it', async () => {
  const [explained] = await database.run('EXPLAIN DELETE FROM T', {language: 'sqlscript'});
  assert.match(String(explained?.['executionPlanAsString']), /scan T/);
  assert.deepEqual(await database.run('SELECT count(*) AS c FROM T'), [{c: 1}]);
  await database.run('PROFILE DELETE FROM T', {language: 'sqlscript'});
  assert.deepEqual(await database.run('SELECT count(*) AS c FROM T'), [{c: 0}]);
});

test('BEGIN alone, in no session, is refused: it would end with the request', async () => {
  for (const language of ['sql', 'sqlscript']) {
    await assert.rejects(database.run('BEGIN', {language}), {message: /it is sent in none/});
  }
});
