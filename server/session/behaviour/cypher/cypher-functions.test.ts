/** Functions that a Cypher query brings along. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([
    'CREATE VERTEX TYPE Person',
    'CREATE EDGE TYPE Knows',
    "CREATE VERTEX Person SET name = 'Ada', age = 36",
    "CREATE VERTEX Person SET name = 'Bo', age = 20",
    `CREATE EDGE Knows FROM (SELECT FROM Person WHERE name = 'Ada')
     TO (SELECT FROM Person WHERE name = 'Bo')`,
  ]);
});
after(async () => world.close());

const cypher = (text: string): ReturnType<TestDatabase['run']> =>
  database.run(text, {language: 'cypher'});

const answers: readonly (readonly [query: string, rows: readonly object[]])[] = [
  ['DEFINE FUNCTION inc(x) = x + 1 RETURN inc(2) AS v', [{v: 3}]],
  ['DEFINE FUNCTION Inc(x) = x + 1 RETURN INC(iNc(2)) AS v', [{v: 4}]],
  ['DEFINE FUNCTION one() = 1 RETURN one() AS v', [{v: 1}]],
  ['DEFINE FUNCTION less(x, y) = x - y WITH 1 AS y, 5 AS x RETURN less(y, x) AS v', [{v: -4}]],
  [
    'DEFINE FUNCTION two(x) = x * 2 DEFINE FUNCTION four(x) = two(two(x)) RETURN four(3) AS v',
    [{v: 12}],
  ],
  [
    'DEFINE FUNCTION adult(p) = p.age >= 21 MATCH (p:Person) WHERE adult(p) RETURN p.name AS n',
    [{n: 'Ada'}],
  ],
  [
    'DEFINE FUNCTION sum2(x) = reduce(s = 0, i IN x | s + i) MATCH (p:Person) ' +
      'RETURN sum2(collect(p.age)) AS v',
    [{v: 56}],
  ],
  [
    `DEFINE FUNCTION friends(p) { MATCH (p)-[:Knows]->(f) RETURN count(f) }
     MATCH (p:Person) RETURN p.name AS n, friends(p) AS f ORDER BY n`,
    [
      {n: 'Ada', f: 1},
      {n: 'Bo', f: 0},
    ],
  ],
  ['DEFINE FUNCTION no(x) { UNWIND [] AS i RETURN i } RETURN no(1) AS v', [{v: null}]],
  ['DEFINE FUNCTION inc(x :: INTEGER) :: INTEGER = x + 1 RETURN inc(2) AS v', [{v: 3}]],
  ['DEFINE FUNCTION inc(x :: INTEGER) = x + 1 RETURN inc(null) AS v', [{v: null}]],
  [
    'DEFINE FUNCTION l(x TYPED LOCAL DATETIME) = x.year RETURN l(localdatetime("2020")) AS v',
    [{v: 2020}],
  ],
  // Each argument is evaluated once, however often the body names it.
  ['DEFINE FUNCTION same(x) = x = x RETURN same(rand()) AS v', [{v: true}]],
  ['DEFINE FUNCTION n() = 1 UNWIND [1, 2, 3] AS x RETURN x LIMIT n()', [{x: 1}]],
  [
    'DEFINE FUNCTION f(x) = x CALL { UNWIND [1, 2] AS i RETURN f(i) AS j } RETURN sum(j) AS s',
    [{s: 3}],
  ],
];

for (const [query, rows] of answers) {
  test(query.replaceAll(/\s+/g, ' '), async () => assert.deepEqual(await cypher(query), rows));
}

const doubling = Array.from(
  {length: 11},
  (_, i) => `DEFINE FUNCTION f${i + 1}(x) = f${i}(x) + f${i}(x)`,
).join(' ');
const nested = Array.from({length: 120}, (_, i) => `DEFINE FUNCTION f${i + 1}(x) = [f${i}(x)]`);
const refusals: readonly (readonly [query: string, message: RegExp])[] = [
  ['DEFINE FUNCTION f(x) = f(x) RETURN f(1)', /column 24: there is no function 'f'/],
  ['DEFINE FUNCTION inc(x) = x RETURN ins(1)', /no function 'ins'; did you mean inc\?/],
  ['DEFINE FUNCTION f(x) = y RETURN 1', /the variable 'y' is not defined/],
  ['WITH 1 AS y DEFINE FUNCTION f(x) = x RETURN 1', /found 'DEFINE'/],
  ['DEFINE FUNCTION f(x) = x DEFINE FUNCTION F(x) = x RETURN 1', /'F' is bound already/],
  ['DEFINE FUNCTION abs(x) = x RETURN 1', /'abs' is a function of the server/],
  ['DEFINE FUNCTION none(x) = x RETURN 1', /'none' is a function of the server/],
  ['DEFINE FUNCTION f(x, x) = x RETURN 1', /two parameters of f have one name/],
  ['DEFINE FUNCTION f(x) = x RETURN f()', /f takes 1 arguments, not 0/],
  ['DEFINE FUNCTION f(x) = count(x) RETURN f(1)', /an aggregate has no meaning here/],
  ['DEFINE FUNCTION f(x) { CREATE (n) RETURN n } RETURN f(1)', /a function cannot write/],
  ['DEFINE FUNCTION f(x) { RETURN x, 1 AS y } RETURN f(1)', /f has to RETURN one column/],
  ['DEFINE FUNCTION f(x :: INTERGER) = x RETURN f(1)', /'INTERGER' is none of the types/],
  ["DEFINE FUNCTION f(x :: INTEGER) = x RETURN f('1')", /of the type INTEGER is needed/],
  ['DEFINE FUNCTION f(x :: ANY NOT NULL) = x RETURN f(null)', /ANY NOT NULL is needed, not null/],
  ['DEFINE FUNCTION f(x) :: STRING = x RETURN f(1)', /of the type STRING is needed/],
  [`DEFINE FUNCTION f0(x) = x ${doubling} RETURN f11(1)`, /called 1000 times/],
  [`DEFINE FUNCTION f0(x) = x ${nested.join(' ')} RETURN f120(1)`, /nest 250 levels at most/],
];

for (const [query, message] of refusals) {
  test(`refused: ${query.slice(0, 80)}`, async () => assert.rejects(cypher(query), {message}));
}
