/** Dense vector indexes from SQL and Cypher: recorded answers, filters, own writes, refusals. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';

const world = await ServiceWorld.open();
const forgetful = world.another({'svc.vectorIndexMemoryMax': '0'});
after(async () => {
  await forgetful.close();
  await world.close();
});

/** The fixture of the inventory, for what is recorded. */
const documents = [
  'CREATE VERTEX TYPE Doc',
  'CREATE PROPERTY Doc.id STRING',
  'CREATE PROPERTY Doc.emb ARRAY_OF_FLOATS',
  'CREATE PROPERTY Doc.grp STRING',
  'CREATE VERTEX TYPE Note EXTENDS Doc',
  'CREATE INDEX ON Doc (emb) LSM_VECTOR METADATA {"dimensions":3,"similarity":"COSINE"}',
  "INSERT INTO Doc SET id='d1', emb=[1.0,0.0,0.0], grp='a'",
  "INSERT INTO Doc SET id='d2', emb=[0.9,0.1,0.0], grp='a'",
  "INSERT INTO Doc SET id='d3', emb=[0.0,1.0,0.0], grp='b'",
  "INSERT INTO Doc SET id='d4', emb=[0.0,0.0,1.0], grp='b'",
  "INSERT INTO Doc SET id='d5', emb=[0.5,0.5,0.5], grp='c'",
  "INSERT INTO Doc SET id='d6'",
];

async function ids(database: TestDatabase, call: string): Promise<unknown[]> {
  const rows = await database.run(`SELECT id FROM (SELECT expand(${call}))`);
  return rows.map(({id}) => id);
}

const near = (rest: string): string => `vector.neighbors('Doc[emb]', [1.0,0.0,0.0], ${rest})`;

const recorded: readonly (readonly [call: string, ids: readonly string[]])[] = [
  [near('3'), ['d1', 'd2', 'd5']],
  ["vectorNeighbors('Doc[emb]', [0.0,1.0,0.0], 1)", ['d3']],
  ["vector.neighbors('Doc[emb]', [0.0,0.0,1.0], 2, {'efSearch': 50})", ['d4', 'd5']],
  ["vector.neighbors('Doc[emb]', [0.0,0.0,1.0], 2, 50)", ['d4', 'd5']],
  [near("5, {'groupBy':'grp','groupSize':1}"), ['d1', 'd5', 'd3']],
  [near("1, {'groupBy':'grp','groupSize':2}"), ['d1', 'd2']],
  [near("5, {'maxDistance':0.1}"), ['d1', 'd2']],
  [near("2, {filter: (SELECT @rid FROM Doc WHERE grp = 'b')}"), ['d3', 'd4']],
  ["vector.neighbors('Doc[emb]', 'd4', 2)", ['d4', 'd5']],
  [
    "vector.recommend('Doc[emb]', (SELECT FROM Doc WHERE id = 'd1'), " +
      "(SELECT FROM Doc WHERE id = 'd3'), 2)",
    ['d2', 'd4'],
  ],
  [
    "vector.discover('Doc[emb]', [[(SELECT FROM Doc WHERE id = 'd1'), " +
      "(SELECT FROM Doc WHERE id = 'd3')]], 2)",
    ['d2', 'd4'],
  ],
];

test('what is nearest, with a graph and without', async () => {
  const database = await world.database(documents);
  for (const [call, expected] of recorded) {
    for (const one of [database, database.over(forgetful)]) {
      assert.deepEqual(await ids(one, call), expected, call);
    }
  }
  const [first, second] = await database.run(`SELECT expand(${near('2')})`);
  assert.equal(first?.['distance'], 0);
  assert.ok(Math.abs(Number(second?.['distance']) - 0.006116271) < 1e-9);
  assert.deepEqual(Object.keys(second ?? {}), [
    'record',
    'id',
    'emb',
    'grp',
    '@rid',
    '@type',
    'distance',
  ]);
});

test('a child type restricts the search, the type itself shows its children', async () => {
  const database = await world.database([
    ...documents,
    "INSERT INTO Note SET id='n1', emb=[0.8,0.2,0.0]",
  ]);
  assert.deepEqual(await ids(database, near('3')), ['d1', 'd2', 'n1']);
  assert.deepEqual(await ids(database, near('3').replace('Doc[emb]', 'Note[emb]')), ['n1']);
});

test('what was committed is found by the next search, and what is gone is not', async () => {
  const database = await world.database(documents);
  await ids(database, near('1'));
  await database.run("INSERT INTO Doc SET id='d7', emb=[0.99,0.01,0.0]");
  assert.deepEqual(await ids(database, near('2')), ['d1', 'd7']);
  await database.run("UPDATE Doc SET emb=[0.0,0.0,-1.0] WHERE id='d1'");
  assert.deepEqual(await ids(database, near('2')), ['d7', 'd2']);
  await database.run("DELETE FROM Doc WHERE id='d7'");
  assert.deepEqual(await ids(database, near('2')), ['d2', 'd5']);
  await database.run("UPDATE Doc SET emb=null WHERE id='d2'");
  assert.deepEqual(await ids(database, near('1')), ['d5']);
  const [checked] = await database.run('CHECK DATABASE');
  assert.equal(checked?.['totalErrors'], 0);
});

test('a transaction finds its own writes, and others do not', async () => {
  const database = await world.database(documents);
  await ids(database, near('1'));
  const answer = await database.run(
    "BEGIN; INSERT INTO Doc SET id='own', emb=[1.0,0.0,0.001]; " +
      `LET found = SELECT id FROM (SELECT expand(${near('2')})); ROLLBACK; RETURN $found`,
    {language: 'sqlscript'},
  );
  assert.deepEqual(
    answer.map(({id}) => id),
    ['d1', 'own'],
  );
  assert.deepEqual(await ids(database, near('2')), ['d1', 'd2']);
});

test('every option of the reference is taken, a graph is begun when that is asked', async () => {
  const options = {
    dimensions: 3,
    similarity: 'euclidean',
    quantization: 'PRODUCT',
    encoding: 'FLOAT32',
    maxConnections: 16,
    beamWidth: 50,
    efSearch: 30,
    neighborOverflowFactor: 1.5,
    alphaDiversityRelaxation: 1.1,
    idPropertyName: 'name',
    storeVectorsInGraph: false,
    addHierarchy: false,
    locationCacheSize: -1,
    graphBuildCacheSize: -1,
    mutationsBeforeRebuild: -1,
    inactivityRebuildTimeoutMs: -1,
    pqSubspaces: 3,
    pqClusters: 16,
    pqCenterGlobally: true,
    pqTrainingLimit: 256,
  };
  for (const buildGraphNow of [true, false]) {
    const metadata = JSON.stringify({...options, buildGraphNow});
    const database = await world.database([
      'CREATE DOCUMENT TYPE Place',
      'CREATE PROPERTY Place.v ARRAY_OF_FLOATS',
      "INSERT INTO Place SET name = 'a', v = [1.0, 2.0, 3.0]",
      `CREATE INDEX ON Place (v) LSM_VECTOR METADATA ${metadata}`,
    ]);
    const vectors = (): number =>
      world.service.searchFigures(root).get(database.name)?.[0]?.vectors ?? 0;
    if (buildGraphNow) await eventually('the graph is made', () => vectors() === 1);
    else assert.equal(vectors(), 0);
  }
});

test('an index over records that are there, in every similarity and quantization', async () => {
  const database = await world.database([
    'CREATE DOCUMENT TYPE P',
    'CREATE PROPERTY P.v LIST',
    'CREATE PROPERTY P.n INTEGER',
  ]);
  await database.run(
    'LET i = 0; WHILE ($i < 60) { INSERT INTO P SET n = $i, v = [$i, 60 - $i, 1]; LET i = $i + 1 }',
    {language: 'sqlscript'},
  );
  for (const similarity of ['COSINE', 'EUCLIDEAN', 'DOT_PRODUCT']) {
    for (const quantization of ['NONE', 'INT8', 'BINARY']) {
      const metadata = JSON.stringify({dimensions: 3, similarity, quantization});
      await database.run(`CREATE INDEX pv ON P (v) LSM_VECTOR METADATA ${metadata}`);
      const call = "vector.neighbors('pv', [30, 30, 1], 60)";
      const rows = await database.run(`SELECT n, distance FROM (SELECT expand(${call}))`);
      const over = await database
        .over(forgetful)
        .run(`SELECT n, distance FROM (SELECT expand(${call}))`);
      assert.deepEqual(rows, over, `${similarity} ${quantization}`);
      assert.equal(rows.length, 60);
      if (similarity !== 'DOT_PRODUCT') assert.equal(rows[0]?.['n'], 30);
      await database.run('DROP INDEX pv');
    }
  }
});

test('Cypher: nodes and scores, nodes and distances', async () => {
  const database = await world.database(documents);
  const nodes = await database.run(
    "CALL db.index.vector.queryNodes('Doc[emb]', 2, [1.0, 0.0, 0.0]) YIELD node, score " +
      'RETURN node.id AS id, score',
    {language: 'cypher'},
  );
  assert.deepEqual(nodes[0], {id: 'd1', score: 1});
  const distances = await database.run(
    "CALL vector.neighbors('Doc[emb]', [1.0, 0.0, 0.0], 2) YIELD node, distance " +
      'RETURN node.id AS id, distance',
    {language: 'cypher'},
  );
  assert.deepEqual(
    distances.map(({id}) => id),
    ['d1', 'd2'],
  );
  const [list] = await database.run(
    "RETURN size(vector.neighbors('Doc[emb]', [1.0, 0.0, 0.0], 2)) AS n",
    {language: 'cypher'},
  );
  assert.deepEqual(list, {n: 2});
});

const refused: readonly (readonly [statement: string, code: string, says: RegExp])[] = [
  [
    `SELECT ${near("5, {'nosuch':1}")}`,
    'query.option',
    /Unknown option 'nosuch' .*efSearch, filter/,
  ],
  [
    "SELECT vector.neighbors('Doc[emb]', [1.0,0.0], 2)",
    'argument',
    /2 does not match index dim.* 3/,
  ],
  ["SELECT vector.neighbors('Doc[emb]', [0,0,0], 2)", 'argument', /non-zero/],
  ["SELECT vector.neighbors('Doc[emb]', [1,sqrt(-1),0], 2)", 'argument', /finite/],
  ["SELECT vector.neighbors('Nosuch[x]', [1,0,0], 2)", 'schema.unknown-type', /Nosuch/],
  ["SELECT vector.neighbors('Doc[id]', [1,0,0], 2)", 'query.option', /No vector index/],
  ["SELECT vector.neighbors('nosuch', [1,0,0], 2)", 'schema.unknown-index', /nosuch/],
  [`SELECT ${near('0')}`, 'query.option', /k of 1 to/],
  [`SELECT ${near('2000000')}`, 'query.option', /k of 1 to/],
  [`SELECT ${near('2, {efSearch: 0}')}`, 'query.option', /efSearch/],
  ["SELECT vector.neighbors('Doc[emb]', 'nobody', 2)", 'query.option', /Could not find/],
  ['INSERT INTO Doc SET emb=[1.0]', 'value.validation', /1 dimensions, not 3/],
  ['INSERT INTO Doc SET emb=[1.0, 2.0, 1e300]', 'value.type', /ARRAY_OF_FLOATS/],
  ['CREATE INDEX ON Doc (grp) LSM_VECTOR METADATA {"dimensions":3}', 'schema.conflict', /vectors/],
  ['CREATE INDEX x ON Note (emb) LSM_VECTOR', 'argument', /needs METADATA 'dimensions'/],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA {"dimensions":3, "simliarity":"COSINE"}',
    'argument',
    /Unknown METADATA key 'simliarity'.*similarity/,
  ],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA {"dimensions":3, "pqClusters":16}',
    'argument',
    /'pqClusters' is of quantization PRODUCT alone/,
  ],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA ' +
      '{"dimensions":3, "quantization":"PRODUCT", "pqSubspaces":4}',
    'argument',
    /'pqSubspaces' is at least 1 and at most the dimensions, not 4/,
  ],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA {"dimensions":3, "storeVectorsInGraph":true}',
    'argument',
    /'storeVectorsInGraph' is false/,
  ],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA {"dimensions":3, "locationCacheSize":100}',
    'argument',
    /'locationCacheSize' is a whole number from -1 to -1/,
  ],
  [
    'CREATE INDEX x ON Note (emb) LSM_VECTOR METADATA {"dimensions":0}',
    'argument',
    /'dimensions' is a whole number from 1/,
  ],
];

test('what cannot be is refused by name', async () => {
  const database = await world.database(documents);
  for (const [statement, code, says] of refused) {
    await assert.rejects(database.run(statement), (error: unknown) => {
      const {code: found, message} = error as {code?: string; message: string};
      assert.equal(found, code, `${statement}: ${message}`);
      assert.match(message, says, statement);
      return true;
    });
  }
});

test('schema:types tells dimensions and meaning of scores of each vector index', async () => {
  const database = await world.database([
    ...documents,
    'CREATE PROPERTY Doc.tokens ARRAY_OF_INTEGERS',
    'CREATE PROPERTY Doc.weights ARRAY_OF_FLOATS',
    'CREATE INDEX ON Doc (tokens, weights) LSM_SPARSE_VECTOR METADATA ' +
      '{"dimensions": 100, "modifier": "IDF"}',
    'CREATE INDEX ON Doc (grp) NOTUNIQUE',
  ]);
  const [row] = await database.run("SELECT indexes FROM schema:types WHERE name = 'Doc'");
  const indexes = row?.['indexes'] as readonly Readonly<Record<string, unknown>>[];
  assert.deepEqual(
    indexes.map(({name, dimensions, scoring}) => [name, dimensions, scoring]),
    [
      ['Doc[emb]', 3, 'distance_lower_is_better:COSINE'],
      ['Doc[grp]', undefined, undefined],
      ['Doc[tokens,weights]', 100, 'score_higher_is_better:idf_weighted_dot_product'],
    ],
  );
});
