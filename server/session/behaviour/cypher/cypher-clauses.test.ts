/** Clauses in the words of GQL, and queries that follow or choose one another. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([]);
});
after(async () => world.close());

const cypher = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher'});

const answers: readonly (readonly [query: string, rows: readonly object[]])[] = [
  ['FOR x IN [1, 2] RETURN x', [{x: 1}, {x: 2}]],
  ['LET a = 1, b = 2 RETURN a + b AS c', [{c: 3}]],
  [
    'FOR x IN [1, 2, 3] FILTER x > 1 LET y = x * 2 RETURN x, y',
    [
      {x: 2, y: 4},
      {x: 3, y: 6},
    ],
  ],
  ['FOR x IN [1, 2] FINISH', []],
  ['RETURN 1 AS x NEXT RETURN x + 1 AS y NEXT RETURN y * 10 AS z', [{z: 20}]],
  ['WHEN null THEN RETURN 1 AS x ELSE RETURN 2 AS x', [{x: 2}]],
  [
    `FOR a IN [0, 2, 5] RETURN a NEXT
     WHEN a > 3 THEN RETURN a, 'big' AS s WHEN a > 1 THEN {RETURN a, 'mid' AS s}
     ELSE RETURN a, 'small' AS s NEXT RETURN s ORDER BY a`,
    [{s: 'small'}, {s: 'mid'}, {s: 'big'}],
  ],
  ['INSERT (a:A&B {x: 1})-[:R]->(:C) RETURN labels(a) AS l', [{l: ['A', 'B']}]],
  ['CREATE (n:Z {x: 1}) RETURN n NEXT MATCH (m:Z) RETURN m.x AS x', [{x: 1}]],
  ['FOR i IN [1] OPTIONAL CALL show.indexes() YIELD name RETURN i, name', [{i: 1, name: null}]],
  ['USE db1 RETURN 1 AS x', [{x: 1}]],
];

for (const [query, rows] of answers) {
  test(query.replaceAll(/\s+/g, ' '), async () => assert.deepEqual(await cypher(query), rows));
}

const refusals: readonly (readonly [query: string, message: RegExp])[] = [
  ['USE other RETURN 1 AS x', /'other' is not the database that the query is sent to/],
  ['RETURN 1 AS x FINISH', /FINISH stands behind clauses, without a RETURN/],
  ['CREATE (n:W) FINISH RETURN 1', /found 'RETURN'/],
  ['WHEN true THEN RETURN 1 AS x ELSE RETURN 2 AS y', /have the same columns/],
  [
    'CREATE (n:W) RETURN n NEXT RETURN 1 AS x UNION RETURN 2 AS x',
    /what writes is followed by one query only/,
  ],
  ["FOR x IN ['a'] RETURN 1 + x * 2", /cannot be multiplied, in 'x \* 2'/],
];

for (const [query, message] of refusals) {
  test(`refused: ${query}`, async () => assert.rejects(cypher(query), {message}));
}
