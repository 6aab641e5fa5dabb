/** Repeated parts of paths, what may be met again on them, and which of them are selected. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;

/** 1 -> 2 -> 3 -> 4 -> 1, and the short way 1 -> 3. */
before(async () => {
  world = await ServiceWorld.open();
  database = await world.database([]);
  await database.run(
    `CREATE (a:P {n: 1})-[:K {w: 1}]->(b:P {n: 2})-[:K {w: 2}]->(c:P {n: 3}),
       (c)-[:K {w: 3}]->(d:P {n: 4}),
       (a)-[:K {w: 9}]->(c), (d)-[:K {w: 4}]->(a)`,
    {language: 'cypher'},
  );
});

after(async () => world.close());

const nodes = 'RETURN [n IN nodes(p) | n.n] AS n';

const answers: readonly (readonly [query: string, rows: readonly (readonly unknown[])[]])[] = [
  // Names inside a repeated part are lists outside, an item a round.
  [
    `MATCH (:P {n: 1}) ((a)-[r:K]->(b)){1,2} (y)
     RETURN [i IN a | i.n] AS a, [i IN r | i.w] AS r, [i IN b | i.n] AS b, y.n AS y`,
    [
      [[1], [1], [2], 2],
      [[1, 2], [1, 2], [2, 3], 3],
      [[1], [9], [3], 3],
      [[1, 3], [9, 3], [3, 4], 4],
    ],
  ],
  // From the better known end backwards, in the order of the pattern all the same.
  [
    'MATCH () ((a)-[r:K]->(b)){2} (:P {n: 4}) RETURN [i IN a | i.n] AS a, [i IN r | i.w] AS r',
    [
      [
        [1, 3],
        [9, 3],
      ],
      [
        [2, 3],
        [2, 3],
      ],
    ],
  ],
  // The condition is asked of each round.
  [
    'MATCH (:P {n: 1}) ((a)-[:K]->(b) WHERE a.n < b.n)+ (y) RETURN y.n AS y',
    [[2], [3], [4], [3], [4]],
  ],
  ['MATCH (:P {n: 1}) ((a)-->()-->(c)){2} (y) RETURN [i IN c | i.n] AS c', [[[3, 1]], [[4, 2]]]],
  ['MATCH (x:P {n: 1}) ((a)-[:K]->(a))* (y) RETURN y.n AS y', [[1]]],
  [
    'MATCH (:P {n: 1})-[r:K WHERE r.w < 3]->+(y) RETURN y.n AS y, size(r) AS s',
    [
      [2, 1],
      [3, 2],
    ],
  ],
  [`MATCH p = ACYCLIC (:P {n: 1})-[:K]->+(:P {n: 4}) ${nodes}`, [[[1, 2, 3, 4]], [[1, 3, 4]]]],
  // A relationship is not met twice, unless that is asked for.
  [`MATCH p = (:P {n: 1})-->{6}() ${nodes}`, []],
  [`MATCH p = WALK (:P {n: 1})-->{6}(:P {n: 1}) ${nodes}`, [[[1, 3, 4, 1, 3, 4, 1]]]],
  ['MATCH (:P {n: 1})-->(y)<--(z) RETURN z.n AS z', [[2]]],
  ['MATCH REPEATABLE ELEMENTS (:P {n: 1})-->(y)<--(z) RETURN z.n AS z', [[1], [2], [1]]],
  [`MATCH p = ANY SHORTEST (:P {n: 1})-[:K]->+(y) ${nodes}`, [[[1, 2]], [[1, 3]], [[1, 3, 4]]]],
  [`MATCH p = ALL SHORTEST (:P {n: 2})-[:K]-+(:P {n: 4}) ${nodes}`, [[[2, 1, 4]], [[2, 3, 4]]]],
  [`MATCH p = SHORTEST 2 (:P {n: 1})-[:K]-+(:P {n: 3}) ${nodes}`, [[[1, 3]], [[1, 2, 3]]]],
  [
    `MATCH p = SHORTEST 2 PATH GROUPS (:P {n: 1})-[:K]->+(:P {n: 4}) ${nodes}`,
    [[[1, 3, 4]], [[1, 2, 3, 4]]],
  ],
  [
    `MATCH p = SHORTEST 1 ((:P {n: 1})-[r:K]->+(:P {n: 4}) WHERE all(e IN r WHERE e.w < 9))
     ${nodes}`,
    [[[1, 2, 3, 4]]],
  ],
  [`MATCH p = shortestPath((:P {n: 1})-[r:K* WHERE r.w < 9]->(:P {n: 3})) ${nodes}`, [[[1, 2, 3]]]],
  ['MATCH ANY 2 (:P {n: 1})-[:K]-{1,4}(:P {n: 3}) RETURN count(*) AS c', [[2]]],
];

for (const [query, expected] of answers) {
  test(query.replaceAll(/\s+/g, ' '), async () => {
    const rows = await database.run(query, {language: 'cypher'});
    const found = rows.map(row => Object.values(row as object));
    const sorted = (list: readonly unknown[]): readonly string[] =>
      list.map(row => JSON.stringify(row)).sort();
    assert.deepEqual(sorted(found), sorted(expected));
  });
}

const refusals: readonly (readonly [query: string, message: RegExp])[] = [
  ['MATCH WALK (:P)-->+(y) RETURN y', /column 16: .* a path needs a greatest length/],
  ['MATCH (x:P) ((x)-->(b))* (y) RETURN y', /column 15: 'x' is bound already/],
  ['MATCH (x) ((a)-[*1..2]->(b))* (y) RETURN y', /made of single relationships/],
  ['MATCH (x) ((a)-->(b)){3,1} (y) RETURN y', /at most 1 rounds cannot be at least 3/],
  ['MATCH (a), p = SHORTEST 1 (a)-->+(b) RETURN p', /stands alone in its MATCH/],
  ['CREATE (n:P WHERE n.x = 1)', /what is made has no condition/],
  ['CREATE ((a)-[:K]->(b)){2}', /no variable length/],
];

for (const [query, message] of refusals) {
  test(`refused: ${query}`, async () => {
    await assert.rejects(database.run(query, {language: 'cypher'}), {message});
  });
}

test('a path in an answer tells its nodes and its relationships apart', async () => {
  const query = 'MATCH p = (:P {n: 1})-[:K]->(:P {n: 2})-[:K]->(:P {n: 3}) RETURN p';
  const [row] = await database.run(query, {language: 'cypher'});
  const {p} = row as {
    readonly p: {
      readonly _type: string;
      readonly nodes: readonly {readonly n: number}[];
      readonly relationships: readonly {readonly w: number}[];
      readonly length: number;
    };
  };
  assert.deepEqual([p._type, p.length], ['path', 2]);
  assert.deepEqual(
    p.nodes.map(({n}) => n),
    [1, 2, 3],
  );
  assert.deepEqual(
    p.relationships.map(({w}) => w),
    [1, 2],
  );
});
