/** What a script answers: the rows of its last statement, or the value of its RETURN. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/service-world.ts';

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
