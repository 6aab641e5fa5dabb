/** What EXPLAIN and PROFILE show of a plan, and that plans follow the data they are made for. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE PROPERTY Person.age INTEGER',
    'CREATE INDEX ON Person (age) NOTUNIQUE',
    'CREATE VERTEX TYPE City',
    'CREATE EDGE TYPE LivesIn',
  ]);
});

after(() => world.close());

interface Step {
  readonly name: string;
  readonly cost: number;
  readonly totalCost: number;
  readonly estimatedRows: number;
  readonly rows?: number;
  readonly memoryBytes?: number;
  readonly subSteps: readonly Step[];
}

async function explained(
  text: string,
  language = 'sql',
): Promise<{readonly text: string; readonly top: Step}> {
  const cursor = await database.service.run(root, {...database.request(text), language});
  while ((await cursor.next()) !== undefined);
  cursor.close();
  const {explain = '', explainPlan = ''} = cursor.summary;
  const {steps} = JSON.parse(explainPlan) as {readonly steps: readonly Step[]};
  const [top] = steps;
  assert.ok(top);
  return {text: explain, top};
}

function stepsOf(step: Step): readonly Step[] {
  return [step, ...step.subSteps.flatMap(stepsOf)];
}

const people = (from: number, to: number): Promise<unknown> =>
  database.run(
    `UNWIND range(${from}, ${to}) AS i CREATE (p:Person {age: i % 100, number: i, town: i % 4})`,
    {language: 'cypher'},
  );

test('a plan that was made for few records is made anew for many', async () => {
  const text = 'EXPLAIN SELECT FROM Person WHERE age > 2';
  assert.match((await explained(text)).text, /index Person\[age\] from 2/);
  for (let at = 0; at < 70; at += 1) await people(at * 100, at * 100 + 99);
  const {text: grown, top} = await explained(text);
  assert.match(
    grown,
    /scan Person as \$0 where/,
    'nearly all records fit: they are read as they lie',
  );
  const [, scan] = stepsOf(top);
  assert.ok(Math.abs((scan?.estimatedRows ?? 0) - 6790) < 300, `estimated ${scan?.estimatedRows}`);
});

test('an estimate follows the values: equality, ranges, frequent ones', async () => {
  const estimates = [
    ['age = 7', 70],
    ['age BETWEEN 10 AND 19', 700],
    ['town = 1', 1_750],
    ['number < 700', 700],
    ['town = 1 AND age < 50', 875],
    ['number IS NULL', 0],
  ] as const;
  for (const [condition, rows] of estimates) {
    const {top} = await explained(`EXPLAIN SELECT FROM Person WHERE ${condition}`);
    const within = Math.max(20, rows / 3);
    assert.ok(Math.abs(top.estimatedRows - rows) < within, `${condition}: ${top.estimatedRows}`);
  }
});

test('PROFILE runs the statement and shows rows, time and memory of each node', async () => {
  const {text, top} = await explained('PROFILE SELECT FROM Person WHERE town = 2 ORDER BY number');
  assert.match(text, /estimated +rows +ms +memory/);
  const [project, sort, scan] = stepsOf(top);
  assert.deepEqual([project?.rows, sort?.rows, scan?.rows], [1_750, 1_750, 1_750]);
  assert.ok((sort?.memoryBytes ?? 0) > 0 && scan?.memoryBytes === 0);
  assert.ok((sort?.cost ?? 0) > 0 && (project?.totalCost ?? 0) >= (sort?.totalCost ?? 0));
});

test('PROFILE of Cypher answers the rows of a query that only reads', async () => {
  const answer = async (text: string): Promise<readonly [string, boolean]> => {
    const request = {...database.request(text), language: 'cypher'};
    const cursor = await database.service.run(root, request);
    let rows = '';
    for (let piece = await cursor.next(); piece !== undefined; piece = await cursor.next()) {
      rows += String(piece);
    }
    cursor.close();
    return [rows, /estimated +rows +ms +memory/.test(cursor.summary.explain ?? '')];
  };
  const match = 'MATCH (p:Person) WHERE p.age = 1 RETURN count(p) AS n';
  const [rows] = await answer(match);
  assert.match(rows, /^\{"n":\d+\}$/);
  assert.deepEqual(await answer(`PROFILE ${match}`), [rows, true]);
  assert.deepEqual(await answer(`EXPLAIN ${match}`), ['', false]);
  assert.deepEqual(await answer('PROFILE CREATE (v:Village {name: 2}) RETURN v'), ['', true]);
});

test('values that come from the keys of an index are those of the records', async () => {
  const statements = [
    'CREATE DOCUMENT TYPE Big',
    'CREATE PROPERTY Big.kind STRING',
    'CREATE PROPERTY Big.size LONG',
    'CREATE INDEX ON Big (kind, size) NOTUNIQUE',
    "INSERT INTO Big (kind, size) VALUES ('a', 9007199254740993), ('a', -1), ('a', 0), ('b', 5)",
    "INSERT INTO Big SET kind = 'a'",
  ];
  for (const statement of statements) await database.run(statement);
  const text = "SELECT kind, size FROM Big WHERE kind >= 'a' AND kind < 'b'";
  assert.match((await explained(`EXPLAIN ${text}`)).text, /with parts/);
  const fromKeys = await database.run(text);
  const fromRecords = await database.run(text.replace('size', 'size, @type AS type'));
  const plain = fromRecords.map(({kind, size}) => JSON.stringify({kind, size: size ?? null}));
  assert.deepEqual(
    fromKeys.map(({kind, size}) => JSON.stringify({kind, size: size ?? null})).toSorted(),
    plain.toSorted(),
  );
  assert.equal(fromKeys.length, 4);
});

test('EXPLAIN runs nothing', async () => {
  const {top} = await explained('EXPLAIN DELETE FROM Person');
  assert.deepEqual([top.cost, top.rows], [-1, undefined]);
  const [counted] = await database.run('SELECT count(*) AS n FROM Person');
  assert.equal(counted?.['n'], 7_000);
});

test('PROFILE of a write does it, once', async () => {
  const {top} = await explained('PROFILE INSERT INTO City SET name = 1');
  assert.equal(top.rows, 1);
  const [counted] = await database.run('SELECT count(*) AS n FROM City');
  assert.equal(counted?.['n'], 1);
});

test('a pattern begins where the fewest records are, in every language', async () => {
  await database.run(
    'MATCH (c:City) MATCH (p:Person) WHERE p.number < 500 CREATE (p)-[:LivesIn]->(c)',
    {language: 'cypher'},
  );
  const cypher = 'EXPLAIN MATCH (p:Person)-[:LivesIn]->(c:City) RETURN count(p)';
  const sql = "EXPLAIN MATCH {type: Person, as: p}.out('LivesIn'){type: City, as: c} RETURN p.age";
  for (const [language, statement] of [
    ['cypher', cypher],
    ['sql', sql],
  ] as const) {
    const {text} = await explained(statement, language);
    assert.match(text, /scan City/, language);
    assert.match(text, /<-\[:LivesIn\]-/, language);
  }
});

test('a command of the schema is explained and not carried out', async () => {
  const {text, top} = await explained('EXPLAIN CREATE VERTEX TYPE Harbour');
  assert.equal(text, 'create type');
  assert.equal(top.name, 'CreateType');
  await assert.rejects(database.run('SELECT FROM Harbour'), {code: 'schema.unknown-type'});
  const [row] = await database.run('EXPLAIN DROP TYPE City;', {language: 'sqlscript'});
  assert.equal((row as {executionPlanAsString: string}).executionPlanAsString, 'drop type');
  await database.run('SELECT FROM City');
  await assert.rejects(explained('PROFILE CREATE VERTEX TYPE Harbour'), {
    message: /PROFILE measures queries and single writes/,
  });
});
