/**
 * Records whose type was changed: found, counted, indexed and deleted under the type they have.
 *
 * Held against a plain map of ids and labels after every step of a random history.
 * Holds invariant X2.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {createSeededRandom} from '#server/simulation/seeded-random.ts';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
before(async () => {
  world = await ServiceWorld.open();
});
after(() => world.close());

const labels = ['A', 'B', 'C'] as const;

function cypher(database: TestDatabase, text: string): ReturnType<TestDatabase['run']> {
  return database.run(text, {language: 'cypher'});
}

async function assertFound(
  database: TestDatabase,
  expected: ReadonlyMap<number, ReadonlySet<string>>,
): Promise<void> {
  for (const label of labels) {
    const wanted = [...expected].filter(([, own]) => own.has(label)).map(([key]) => key);
    const found = await cypher(database, `MATCH (n:${label}) RETURN n.key AS key ORDER BY key`);
    assert.deepEqual(
      found.map(row => row['key']),
      wanted.sort((left, right) => left - right),
      label,
    );
    const [counted] = await database.run(`SELECT count(*) AS n FROM ${label}`);
    assert.equal(counted?.['n'], wanted.length, `count of ${label}`);
    const indexed = await cypher(
      database,
      `MATCH (n:${label}) WHERE n.key >= 0 AND n.twin >= 0 RETURN count(n) AS n`,
    );
    assert.equal(indexed[0]?.['n'], wanted.length, `by index of ${label}`);
  }
  const all = await cypher(database, 'MATCH (n) RETURN count(n) AS n');
  assert.equal(all[0]?.['n'], expected.size);
}

test('a random history of label changes leaves each record under just its labels', async () => {
  const random = createSeededRandom(20_261_121);
  const database = await world.database([
    ...labels.map(label => `CREATE VERTEX TYPE ${label}`),
    'CREATE PROPERTY A.key LONG',
    'CREATE INDEX ON A (key) UNIQUE',
  ]);
  const expected = new Map<number, Set<string>>();
  for (let step = 0; step < 120; step += 1) {
    const keys = [...expected.keys()];
    const label = random.pick(labels);
    const key = keys.length === 0 ? -1 : random.pick(keys);
    const action = random.below(10);
    if (action < 3 || key < 0) {
      await cypher(database, `CREATE (:${label} {key: ${step}, twin: ${step}})`);
      expected.set(step, new Set([label]));
    } else if (action < 6) {
      await cypher(database, `MATCH (n {key: ${key}}) SET n:${label}`);
      expected.get(key)?.add(label);
    } else if (action < 9) {
      await cypher(database, `MATCH (n {key: ${key}}) REMOVE n:${label}`);
      expected.get(key)?.delete(label);
    } else {
      await cypher(database, `MATCH (n {key: ${key}}) DELETE n`);
      expected.delete(key);
    }
    if (step === 60) {
      // Built when records of B already lie among those of other types.
      await database.run('CREATE PROPERTY B.twin LONG');
      await database.run('CREATE INDEX ON B (twin) UNIQUE');
    }
    if (step % 10 === 9) await assertFound(database, expected);
  }
  await assertFound(database, expected);
});

test('a unique index holds for records that come to its type, not for others', async () => {
  const database = await world.database([
    'CREATE VERTEX TYPE A',
    'CREATE VERTEX TYPE B',
    'CREATE PROPERTY B.key LONG',
    'CREATE INDEX ON B (key) UNIQUE',
  ]);
  await cypher(database, 'CREATE (:A {key: 1}), (:B {key: 1})');
  await assert.rejects(
    cypher(database, 'MATCH (n:A) SET n:B'),
    (error: unknown) => error instanceof Refusal && error.code === 'commit.duplicate-key',
  );
  await cypher(database, 'MATCH (n:B) REMOVE n:B');
  await cypher(database, 'MATCH (n:A) SET n:B');
  assert.deepEqual(await cypher(database, 'MATCH (n:B {key: 1}) RETURN labels(n) AS l'), [
    {l: ['A', 'B']},
  ]);
});

test('edges stay, and a type is not dropped while it hosts records of another', async () => {
  const database = await world.database([]);
  await cypher(database, 'CREATE (:A {key: 1})-[:R]->(:A {key: 2})');
  await cypher(database, 'MATCH (n:A {key: 1}) REMOVE n:A SET n:B');
  assert.deepEqual(
    await cypher(database, 'MATCH (b:B)-[:R]->(a:A) RETURN b.key AS b, a.key AS a'),
    [{b: 1, a: 2}],
  );
  for (const text of ['TRUNCATE TYPE A UNSAFE', 'DROP TYPE A UNSAFE', 'DROP TYPE B UNSAFE']) {
    await assert.rejects(
      database.run(text),
      (error: unknown) => error instanceof Refusal && error.code === 'schema.conflict',
      text,
    );
  }
  await cypher(database, 'MATCH (b:B) DETACH DELETE b');
  await database.run('TRUNCATE TYPE A UNSAFE');
  assert.deepEqual(await cypher(database, 'MATCH (n) RETURN count(n) AS n'), [{n: 0}]);
});
