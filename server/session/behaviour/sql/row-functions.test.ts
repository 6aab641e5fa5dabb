/** Functions of a row and of a group; unidirectional edge types seen from their end. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE P',
    'CREATE EDGE TYPE Uni UNIDIRECTIONAL',
    "INSERT INTO P (n, g) VALUES ('a', 1), ('b', 1), ('c', 2)",
    "CREATE EDGE Uni FROM (SELECT FROM P WHERE n = 'a') TO (SELECT FROM P WHERE n = 'b') SET w = 1",
    "CREATE EDGE Uni FROM (SELECT FROM P WHERE n = 'b') TO (SELECT FROM P WHERE n = 'c') SET w = 1",
  ]);
});
after(() => world.close());

const rows: readonly (readonly [statement: string, rows: readonly object[]])[] = [
  [
    'SELECT first(n) AS f, g FROM P WHERE g = 1',
    [
      {f: 'a', g: 1},
      {f: 'b', g: 1},
    ],
  ],
  ["SELECT n FROM P WHERE first([n]) = 'a' OR last({x: n}) = 'c'", [{n: 'a'}, {n: 'c'}]],
  ['SELECT first(out().n) AS f FROM P ORDER BY n', [{f: 'b'}, {f: 'c'}, {f: null}]],
  ['SELECT map(n, g) AS m FROM P WHERE g = 2', [{m: {c: 2}}]],
  ['SELECT first(n) AS f, count(*) AS c FROM P', [{f: 'a', c: 3}]],
  [
    'SELECT g, last(n) AS l FROM P GROUP BY g ORDER BY g',
    [
      {g: 1, l: 'b'},
      {g: 2, l: 'c'},
    ],
  ],
  ['SELECT max(first([g, 9])) AS m FROM P', [{m: 2}]],
  [
    "SELECT lightweight, bidirectional AS b, `unique` FROM schema:types WHERE type = 'edge'",
    [{lightweight: false, b: false, unique: false}],
  ],
];

for (const [statement, expected] of rows) {
  test(statement, async () => assert.deepEqual(await database.run(statement), expected));
}

const [from, to] = ["(SELECT FROM P WHERE n = 'c')", "(SELECT FROM P WHERE n = 'a')"];
const incoming: readonly (readonly [statement: string, rows: readonly object[]])[] = [
  ["SELECT in('Uni').n AS i, inE('Uni').size() AS e FROM P WHERE n = 'c'", [{i: ['b'], e: 1}]],
  [`SELECT shortestPath(${from}, ${to}, 'IN', 'Uni').size() AS s`, [{s: 3}]],
  [`SELECT dijkstra(${from}, ${to}, 'w', 'IN').size() AS s`, [{s: 3}]],
  ["SELECT count(*) AS c FROM (TRAVERSE in('Uni') FROM (SELECT FROM P WHERE n = 'c'))", [{c: 3}]],
];

for (const [statement, expected] of incoming) {
  test(statement, async () => assert.deepEqual(await database.run(statement), expected));
}

test('Cypher follows them against their direction, too', async () => {
  const run = (text: string) => database.run(text, {language: 'cypher'});
  assert.deepEqual(await run('MATCH (a:P)<-[:Uni]-(b) RETURN a.n AS a, b.n AS b ORDER BY a'), [
    {a: 'b', b: 'a'},
    {a: 'c', b: 'b'},
  ]);
  assert.deepEqual(
    await run("MATCH p = shortestPath((:P {n: 'c'})<-[:Uni*]-(:P {n: 'a'})) RETURN length(p) AS l"),
    [{l: 2}],
  );
});

test('a statement that says so again changes nothing', async () => {
  const [end, start] = [from, to];
  const other = await world.database([
    'CREATE VERTEX TYPE P',
    'CREATE EDGE TYPE Uni UNIDIRECTIONAL',
    'CREATE EDGE TYPE Both',
    "INSERT INTO P (n) VALUES ('a'), ('c')",
    `CREATE EDGE Uni FROM ${start} TO ${end} UNIDIRECTIONAL`,
    `CREATE EDGE Both FROM ${start} TO ${end} UNIDIRECTIONAL`,
  ]);
  assert.deepEqual(
    await other.run("SELECT in('Uni').n AS uni, in('Both').n AS both FROM P WHERE n = 'c'"),
    [{uni: ['a'], both: []}],
  );
});

test('parts of durations are exact', async () => {
  const text =
    "RETURN toString(duration('P1M') / 3) AS a, toString(duration('P1Y') / 12) AS b, " +
    "toString(duration('PT1S') * 0.1) AS c, toString(duration('P1M') * -0.5) AS d";
  assert.deepEqual(await database.run(text, {language: 'cypher'}), [
    {a: 'P10DT3H29M42S', b: 'P1M', c: 'PT0.1S', d: 'P-15DT-5H-14M-33S'},
  ]);
});
