/** The server's own procedures: paths by filters, merging by data, the schema in numbers. */
import assert from 'node:assert/strict';
import {after, before, beforeEach, test} from 'node:test';
import {ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

let world: ServiceWorld;
let database: TestDatabase;
before(async () => {
  world = await ServiceWorld.open();
});
after(async () => world.close());

type Rows = Awaited<ReturnType<TestDatabase['run']>>;
const cypher = (text: string, readOnly = false): Promise<Rows> =>
  database.run(text, {language: 'cypher', readOnly});

/** 1 -K-> 2 -K-> 3, 1 -L-> 3; 3 is a Q, the others are P. */
beforeEach(async () => {
  database = await world.database([]);
  await cypher('CREATE (a:P {n: 1})-[:K]->(b:P {n: 2})-[:K]->(c:Q {n: 3}), (a)-[:L]->(c)');
});

const from = (call: string): string =>
  `MATCH (a:P {n: 1}) CALL ${call} YIELD path
   RETURN [x IN nodes(path) | x.n] AS p ORDER BY size(p), p`;

const paths: readonly (readonly [call: string, paths: readonly (readonly number[])[]])[] = [
  [
    "path.expand(a, 'K>|L>', '+P|+Q', 1, 2)",
    [
      [1, 2],
      [1, 3],
      [1, 2, 3],
    ],
  ],
  ["path.expand(a, '<K', '', 0, 2)", [[1]]],
  ["path.expand(a, 'NOPE', '', 0, -1)", [[1]]],
  [
    'path.expandConfig(a, {})',
    [[1], [1, 2], [1, 3], [1, 2, 3], [1, 3, 2], [1, 2, 3, 1], [1, 3, 2, 1]],
  ],
  ["path.expandConfig(a, {relationshipFilter: 'K>', minLevel: 2})", [[1, 2, 3]]],
  ["path.expandConfig(a, {labelFilter: '-Q'})", [[1], [1, 2]]],
  [
    "path.expandConfig(a, {labelFilter: '/Q'})",
    [
      [1, 3],
      [1, 2, 3],
    ],
  ],
  [
    "path.expandConfig(a, {labelFilter: '>Q|+P'})",
    [
      [1, 3],
      [1, 2, 3],
    ],
  ],
  ['path.expandConfig(a, {bfs: false, limit: 1, minLevel: 3})', [[1, 3, 2, 1]]],
  ['path.spanningTree(a, {})', [[1], [1, 2], [1, 3]]],
];

for (const [call, expected] of paths) {
  test(`CALL ${call}`, async () => {
    assert.deepEqual(
      await cypher(from(call), true),
      expected.map(p => ({p})),
    );
  });
}

test('a subgraph has the nodes within reach and what joins them', async () => {
  const call = 'MATCH (a:P {n: 1}) CALL path.';
  assert.deepEqual(
    await cypher(`${call}subgraphNodes(a, {labelFilter: '+P'}) YIELD node RETURN node.n AS n`),
    [{n: 1}, {n: 2}],
  );
  assert.deepEqual(
    await cypher(
      `${call}subgraphAll(a, {}) YIELD nodes, relationships
       RETURN size(nodes) AS n, [r IN relationships | type(r)] AS r`,
    ),
    [{n: 3, r: ['K', 'L', 'K']}],
  );
});

test('merge finds by labels and properties, or else makes', async () => {
  const merge =
    'CALL merge.node([$l, $m], {n: 9}, {x: 1}, {y: 2}) YIELD node RETURN node.x AS x, node.y AS y';
  const parameters = new Map([
    ['l', 'P'],
    ['m', 'Fresh'],
  ]);
  const run = (): Promise<Rows> => database.run(merge, {language: 'cypher', parameters});
  assert.deepEqual(await run(), [{x: 1, y: null}]);
  assert.deepEqual(await run(), [{x: 1, y: 2}]);
  const join = `MATCH (a:P {n: 1}), (b:Fresh {n: 9})
    CALL merge.relationship(a, 'NEW', {k: 1}, {x: 1}, b, {x: 2}) YIELD rel RETURN rel.x AS x`;
  assert.deepEqual(await cypher(join), [{x: 1}]);
  assert.deepEqual(await cypher(join), [{x: 2}]);
  assert.deepEqual(await cypher('MATCH ()-[r:NEW]->() RETURN count(*) AS n'), [{n: 1}]);
});

test('merged rows see the rows before them, and an index finds what is there', async () => {
  await cypher('CREATE INDEX FOR (p:P) ON (p.n)');
  await cypher("UNWIND [5, 5, 2, 5] AS n CALL merge.node(['P'], {n: n}) YIELD node RETURN node");
  assert.deepEqual(await cypher('MATCH (p:P) RETURN count(*) AS n'), [{n: 3}]);
});

test('nodes become one, with the relationships of all', async () => {
  const rows = await cypher(
    `MATCH (a:P {n: 1}), (b:P {n: 2}) SET b.extra = true WITH a, b
     CALL refactor.mergeNodes([a, b], {properties: 'combine'}) YIELD node
     RETURN node.n AS n, node.extra AS extra`,
  );
  assert.deepEqual(rows, [{n: [1, 2], extra: true}]);
  assert.deepEqual(
    await cypher('MATCH (a)-[r]->(b) RETURN type(r) AS t, b.n AS to ORDER BY t, to'),
    [
      {t: 'K', to: [1, 2]},
      {t: 'K', to: 3},
      {t: 'L', to: 3},
    ],
  );
});

test('a clone has relationships of its own to the same nodes', async () => {
  await cypher(
    `MATCH (b:P {n: 2}) CALL refactor.cloneNodesWithRelationships([b]) YIELD input, output
     SET output.n = 20`,
  );
  assert.deepEqual(
    await cypher('MATCH (a)-[:K]->(b)-[:K]->(c) RETURN a.n AS a, b.n AS b, c.n AS c ORDER BY b'),
    [
      {a: 1, b: 2, c: 3},
      {a: 1, b: 20, c: 3},
    ],
  );
});

test('a query that is a text runs in the statement that asks for it', async () => {
  assert.deepEqual(await cypher("CALL do.when(false, 'RETURN 1 AS x', 'RETURN $v AS x', {v: 5})"), [
    {value: {x: 5}},
  ]);
  await cypher("CALL do.when(true, 'CREATE (:Made {x: 1})', '')");
  assert.deepEqual(await cypher('MATCH (m:Made) RETURN m.x AS x'), [{x: 1}]);
  const deep = "CALL do.when(true, $q, '', {q: $q}) YIELD value RETURN value";
  const parameters = new Map([['q', deep]]);
  await assert.rejects(
    database.run(deep, {language: 'cypher', parameters}),
    /queries run 32 deep in each other at most/,
  );
  await assert.rejects(cypher("CALL do.when(true, 'RETRUN 1', '')"), /did you mean RETURN/);
});

test('the schema in numbers', async () => {
  const [row] = await cypher('CALL meta.stats()', true);
  assert.deepEqual(row, {
    value: {
      labelCount: 2,
      relTypeCount: 2,
      nodeCount: 3,
      relCount: 3,
      labels: {P: 2, Q: 1},
      relTypes: {K: 2, L: 1},
    },
  });
  await cypher('CREATE CONSTRAINT FOR (p:P) REQUIRE p.n IS :: INTEGER');
  assert.deepEqual(await cypher('CALL meta.nodeTypeProperties()', true), [
    {nodeType: 'P', propertyName: 'n', propertyTypes: ['LONG'], mandatory: false},
  ]);
  assert.deepEqual(await cypher('CALL db.schema() YIELD name, properties', true), [
    {name: 'P', properties: ['n']},
    {name: 'Q', properties: []},
    {name: 'K', properties: []},
    {name: 'L', properties: []},
  ]);
});

const refusals: readonly (readonly [text: string, message: RegExp])[] = [
  ['MATCH (a:P) CALL path.expandConfig(a, {foo: 1}) YIELD path RETURN path', /'foo' is no option/],
  [
    'MATCH (a:P) CALL path.expandConfig(a, {maxLevel: 1.5}) YIELD path RETURN path',
    /maxLevel is a whole/,
  ],
  ["CALL path.expandConfig('x', {})", /a node is needed here/],
  ["CALL merge.node(['P'])", /takes 2 to 4 arguments, not 1/],
  ["CALL vector.neighbors('i', [1], 2)", /Index with name 'i' was not found/],
  ['CALL path.expnd()', /did you mean path\.expand\?/],
];

for (const [text, message] of refusals) {
  test(`refused: ${text}`, async () => assert.rejects(cypher(text), {message}));
}

test('a procedure that writes is no read', async () => {
  await assert.rejects(cypher("CALL merge.node(['P'], {n: 1})", true), {
    code: 'query.not-idempotent',
  });
});
