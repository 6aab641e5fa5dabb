/** Cypher through the session service: what a user of any protocol sees. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Value} from '#server/model/value.ts';
import {Refusal} from '#server/base/errors.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

type Rows = Awaited<ReturnType<TestDatabase['run']>>;

function cypher(
  database: TestDatabase,
  text: string,
  parameters: Readonly<Record<string, Value>> = {},
): Promise<Rows> {
  const values = new Map(Object.entries(parameters));
  return database.run(text, {language: 'cypher', parameters: values});
}

function refused(reason: string): (error: unknown) => boolean {
  return error => error instanceof Refusal && error.detail?.['reason'] === reason;
}

const people = `CREATE (ada:Person {name: 'Ada', born: 1815}),
  (bob:Person {name: 'Bob', born: 1990}), (cleo:Person:Admin {name: 'Cleo', born: 2001}),
  (ada)-[:KNOWS {since: 1}]->(bob), (bob)-[:KNOWS {since: 2}]->(cleo), (cleo)-[:LIKES]->(ada)`;

test('what SQL stores, Cypher reads, and the other way round', async () => {
  const database = await world.database(['CREATE VERTEX TYPE Person', 'CREATE EDGE TYPE KNOWS']);
  await database.run("CREATE VERTEX Person SET name = 'Ada'");
  await cypher(database, "MATCH (a:Person) CREATE (a)-[:KNOWS]->(:Person {name: 'Bob'})");
  assert.deepEqual(
    await database.run("SELECT out('KNOWS').name AS names FROM Person WHERE name = 'Ada'"),
    [{names: ['Bob']}],
  );
  assert.deepEqual(await cypher(database, 'MATCH (:Person)-[:KNOWS]->(b) RETURN b.name AS name'), [
    {name: 'Bob'},
  ]);
});

test('a record that is the only column of a row is the row, of any other row a value', async () => {
  const database = await world.database([]);
  await cypher(database, "CREATE (:Person {name: 'Ada'}), (:Person)");
  const rows = await cypher(database, 'MATCH (n:Person) UNWIND [n, 1] AS x RETURN x LIMIT 2');
  const [ada, one] = rows;
  assert.deepEqual([ada?.['name'], ada?.['@cat'], one], ['Ada', 'v', {x: 1}]);
  const pairs = await cypher(database, 'MATCH (n:Person) RETURN n, n.name AS name LIMIT 1');
  assert.deepEqual(Object.keys(pairs[0] ?? {}), ['n', 'name']);
  assert.deepEqual(await cypher(database, 'OPTIONAL MATCH (n:Nobody) RETURN n'), [{n: null}]);
  assert.equal(
    (await database.run('SELECT @this AS n FROM Person LIMIT 1'))[0]?.['name'],
    undefined,
  );
});

test('a vertex has the labels under which it is found', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE VERTEX TYPE Worker EXTENDS Person',
  ]);
  await cypher(database, 'CREATE (:Worker), (:Worker:Old)');
  assert.deepEqual(await cypher(database, 'MATCH (n:Person) RETURN labels(n) AS labels'), [
    {labels: ['Person', 'Worker']},
    {labels: ['Old', 'Person', 'Worker']},
  ]);
});

test('labels are types: made on first need, several of them as one, found under each', async () => {
  const database = await world.database([]);
  await cypher(database, people);
  const names = async (pattern: string): Promise<unknown[]> => {
    const rows = await cypher(database, `MATCH ${pattern} RETURN n.name AS name ORDER BY name`);
    return rows.map(row => row['name']);
  };
  assert.deepEqual(await names('(n:Person)'), ['Ada', 'Bob', 'Cleo']);
  assert.deepEqual(await names('(n:Admin)'), ['Cleo']);
  assert.deepEqual(await names('(n:Admin&Person)'), ['Cleo']);
  assert.deepEqual(await names('(n:Person&!Admin)'), ['Ada', 'Bob']);
  assert.deepEqual(await names('(n:Unknown)'), []);
  assert.deepEqual(await names('(n)'), ['Ada', 'Bob', 'Cleo']);
});

test('a query that may only read refuses every clause that writes before it runs', async () => {
  const database = await world.database([]);
  await cypher(database, people);
  for (const text of [
    'CREATE (:New)',
    'MERGE (:New)',
    'MATCH (n) SET n.x = 1',
    'MATCH (n) REMOVE n.name',
    'MATCH (n) DETACH DELETE n',
    'FOREACH (x IN [1] | CREATE (:New))',
    'CALL { CREATE (:New) }',
  ]) {
    await assert.rejects(
      database.run(text, {language: 'cypher', readOnly: true}),
      (error: unknown) => error instanceof Refusal && error.code === 'query.not-idempotent',
      text,
    );
  }
  assert.deepEqual(await cypher(database, 'MATCH (n) RETURN count(n.name) AS n'), [{n: 3}]);
});

test('MERGE finds, or makes once, row by row', async () => {
  const database = await world.database([]);
  const merge = `UNWIND ['a', 'b', 'a'] AS key MERGE (n:Key {key: key})
    ON CREATE SET n.made = 1 ON MATCH SET n.met = coalesce(n.met, 0) + 1
    RETURN n.key AS key, n.made AS made, n.met AS met ORDER BY key`;
  await cypher(database, merge);
  assert.deepEqual(
    await cypher(database, 'MATCH (n:Key) RETURN n.key AS k, n.met AS met ORDER BY k'),
    [
      {k: 'a', met: 1},
      {k: 'b', met: null},
    ],
  );
});

test('a vertex with edges is deleted with them or not at all', async () => {
  const database = await world.database([]);
  await cypher(database, people);
  await assert.rejects(
    cypher(database, "MATCH (n {name: 'Ada'}) DELETE n"),
    refused('DeleteConnectedNode'),
  );
  assert.deepEqual(await cypher(database, 'MATCH ()-[r]->() RETURN count(r) AS n'), [{n: 3}]);
  await cypher(database, "MATCH (n {name: 'Ada'}) DETACH DELETE n");
  assert.deepEqual(await cypher(database, 'MATCH ()-[r]->() RETURN count(r) AS n'), [{n: 1}]);
});

test('an index of the schema serves a pattern with parameters', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE Item',
    'CREATE PROPERTY Item.key LONG',
    'CREATE INDEX ON Item (key) UNIQUE',
  ]);
  await cypher(database, 'UNWIND range(1, 50) AS key CREATE (:Item {key: key})');
  const text = 'MATCH (i:Item {key: $key}) RETURN i.key AS key';
  const explained = await database.service.run(root, {
    ...database.request(`EXPLAIN ${text}`),
    language: 'cypher',
  });
  assert.match(explained.summary.explain ?? '', /index Item\[key\]/);
  explained.close();
  assert.deepEqual(await cypher(database, text, {key: 7}), [{key: 7}]);
  assert.deepEqual(await cypher(database, text, {key: '7'}), []);
  assert.deepEqual(await cypher(database, text, {key: null}), []);
});

test('times are stored with what they were made of and compared as such', async () => {
  const database = await world.database([]);
  const made = `CREATE (:T {day: date('2024-W09-4'), at: datetime('2024-02-29T12:30+01:00'),
    span: duration('P1Y2M3DT4H')})`;
  await cypher(database, made);
  const [row] = await cypher(
    database,
    `MATCH (t:T) RETURN toString(t.day) AS day, toString(t.at + t.span) AS later,
      t.at.offset AS offset, t.day = date({year: 2024, month: 2, day: 29}) AS same,
      toString(duration.between(t.day, date('2024-04-01'))) AS till`,
  );
  assert.deepEqual(row, {
    day: '2024-02-29',
    later: '2025-05-02T16:30+01:00',
    offset: '+01:00',
    same: true,
    till: 'P1M3D',
  });
});

test('a mistake is refused before anything runs, with its place', async () => {
  const database = await world.database([]);
  await assert.rejects(
    cypher(database, 'CREATE (:Never)\nRETURN missing'),
    (error: unknown) =>
      refused('UndefinedVariable')(error) && /line 2, column 8/.test(String(error)),
  );
  await assert.rejects(
    cypher(database, 'RETURN tointegr(1)'),
    (error: unknown) => refused('UnknownFunction')(error) && /did you mean/.test(String(error)),
  );
  assert.deepEqual(await cypher(database, 'MATCH (n) RETURN count(*) AS n'), [{n: 0}]);
});

for (const isolation of ['READ_COMMITTED', 'REPEATABLE_READ'] as const) {
  test(`in a transaction that is ${isolation} new labels come after writes too`, async () => {
    const database = await world.database(['CREATE VERTEX TYPE Seen', 'CREATE VERTEX Seen']);
    const {service, name} = database;
    const id = await service.begin(root, name, {isolation});
    const inside = (text: string): Promise<Rows> =>
      database.run(text, {language: 'cypher', transactionId: id});
    assert.deepEqual(await inside('MATCH (n:Seen) RETURN count(*) AS n'), [{n: 1}]);
    await database.run('CREATE VERTEX Seen');
    await inside('CREATE (:First {a: 1})');
    const created = await inside('MATCH (f:First) CREATE (f)-[:NEW]->(:Second {b: f.a})');
    assert.deepEqual(created, []);
    const seen = isolation === 'READ_COMMITTED' ? 2 : 1;
    assert.deepEqual(await inside('MATCH (n:Seen) RETURN count(*) AS n'), [{n: seen}]);
    await service.commit(root, name, id, undefined);
    const found = await cypher(database, 'MATCH (f:First)-[:NEW]->(s:Second) RETURN f.a, s.b');
    assert.deepEqual(found, [{'f.a': 1, 's.b': 1}]);
  });
}

test('a transaction that needs a new label conflicts with another change of schema', async () => {
  const database = await world.database([]);
  const {service, name} = database;
  const id = await service.begin(root, name, {isolation: 'REPEATABLE_READ'});
  const inside = (text: string): Promise<Rows> =>
    database.run(text, {language: 'cypher', transactionId: id});
  await inside('CREATE (:First {a: 1})');
  await database.run('CREATE PROPERTY First.b STRING (mandatory true)');
  await assert.rejects(inside('CREATE (:Second)'), {code: 'commit.conflict'});
  assert.deepEqual(await cypher(database, 'MATCH (n:First) RETURN n'), []);
});

test('a label that only the data asks for is refused in a transaction', async () => {
  const database = await world.database(['CREATE VERTEX TYPE A', 'CREATE VERTEX TYPE B']);
  const {service, name} = database;
  const id = await service.begin(root, name);
  const inside = (text: string): Promise<Rows> =>
    database.run(text, {language: 'cypher', transactionId: id});
  await inside('CREATE (:A)');
  await assert.rejects(inside('MATCH (a) SET a:B'), /making a type is an entry of its own/);
});

test('a typed property carries an index or what is unique, each dropped by its name', async () => {
  const database = await world.database([]);
  await cypher(database, 'CREATE CONSTRAINT FOR (n:Item) REQUIRE n.key IS :: INTEGER');
  await cypher(database, 'CREATE CONSTRAINT one FOR (n:Item) REQUIRE n.key IS UNIQUE');
  await cypher(database, 'CREATE (:Item {key: 1}), (:Other {key: 1})');
  await assert.rejects(
    cypher(database, 'CREATE (:Item {key: 1})'),
    (error: unknown) => error instanceof Refusal && error.code === 'commit.duplicate-key',
  );
  await cypher(database, 'DROP CONSTRAINT one');
  await cypher(database, 'CREATE (:Item {key: 1})');
  await cypher(database, 'CREATE INDEX many FOR (n:Item) ON (n.key)');
  assert.deepEqual(await cypher(database, 'MATCH (n:Item {key: 1}) RETURN count(*) AS n'), [
    {n: 2},
  ]);
  await assert.rejects(cypher(database, 'DROP CONSTRAINT many'), /use DROP INDEX/);
  await cypher(database, 'DROP INDEX many');
  await cypher(database, 'DROP INDEX many IF EXISTS');
});
