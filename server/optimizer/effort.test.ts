/** What a plan is likely to be in all, in steps: how much, not exactly how much. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const records = 5_000;

let world: ServiceWorld;
let database: TestDatabase;

before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE V',
    'CREATE PROPERTY V.n LONG',
    'CREATE INDEX ON V (n) UNIQUE',
    'CREATE EDGE TYPE E',
  ]);
  const rows = Array.from({length: records}, (_, at) => `(${at}, 'text ${at}')`);
  await database.run(`INSERT INTO V (n, t) VALUES ${rows.join(',')}`);
  await database.run('CREATE EDGE E FROM (SELECT FROM V) TO (SELECT FROM V WHERE n < 3)');
});

after(() => world.close());

function effortOf(text: string, language: string): number {
  const prepared = world.service.databaseSession(root, database.name).prepare(language, text);
  assert.equal(prepared.kind, 'query');
  return prepared.kind === 'query' ? prepared.effort : 0;
}

const cases: readonly (readonly [language: string, text: string, least: number, most: number])[] = [
  ['sql', 'SELECT FROM V WHERE n = 7', 1, 100],
  ['sql', 'SELECT FROM V LIMIT 20', 1, 200],
  ['sql', 'SELECT FROM V WHERE t LIKE "%9%"', records, 10 * records],
  ['sql', 'SELECT FROM V ORDER BY t LIMIT 3', records, 10 * records],
  // What stands in expressions counts for each row.
  [
    'sql',
    'SELECT n, (SELECT count(*) FROM V WHERE t < $parent.$current.t) FROM V',
    records ** 2,
    1e9,
  ],
  ['sql', 'SELECT out().out().out() FROM V LIMIT 1000', 1e6, 1e9],
  ['sql', 'SELECT out() FROM V WHERE n = 7', 1, 1_000],
  // A walk without an end may come by every edge; a shortest path, too.
  ['cypher', 'MATCH (a:V {n: 7})-[*]->(b) RETURN count(b)', 3 * records, 1e9],
  ['cypher', 'MATCH (a:V {n: 7})-[:E]->(b) RETURN count(b)', 1, 1_000],
  ['cypher', 'MATCH p = shortestPath((a:V {n: 1})-[*]-(b:V {n: 2})) RETURN p', 3 * records, 1e9],
  ['cypher', 'MATCH (a:V), (b:V) RETURN count(*)', records ** 2 / 4, 1e9],
  // Writes run where they are.
  ['sql', 'UPDATE V SET t = 1', 0, 0],
];

for (const [language, text, least, most] of cases) {
  test(`${least} to ${most} steps: ${text}`, () => {
    const effort = effortOf(text, language);
    assert.ok(effort >= least && effort <= most, `${effort} steps`);
  });
}
