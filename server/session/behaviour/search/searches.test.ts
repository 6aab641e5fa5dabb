/** Searches as every protocol offers them: answers, what is refused, rights, transactions. */
import assert from 'node:assert/strict';
import {after, test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {parseJsonText} from '#server/model/json-parser.ts';
import type {MapValue} from '#server/model/value.ts';
import type {Principal} from '#server/security/principal.ts';
import {root, ServiceWorld, type TestDatabase} from '#server/testing/worlds/service-world.ts';
import {runSearch, type SearchKind} from '../../searches.ts';

const world = await ServiceWorld.open();
after(() => world.close());

interface Result {
  readonly rid: string;
  readonly score?: number;
  readonly fusedScore?: number;
  readonly sources?: readonly string[];
  readonly depth?: number;
  readonly path?: readonly string[];
  readonly properties: Readonly<Record<string, unknown>>;
}

interface Answer extends Readonly<Record<string, unknown>> {
  readonly results: readonly Result[];
}

async function search(
  database: TestDatabase,
  kind: SearchKind,
  given: object,
  {who = root, transactionId}: {who?: Principal; transactionId?: string} = {},
): Promise<Answer> {
  const text = await runSearch(database.service, who, {
    kind,
    database: database.name,
    given: parseJsonText(JSON.stringify(given)) as MapValue,
    transactionId,
    tag: undefined,
    signal: undefined,
  });
  return JSON.parse(text) as Answer;
}

const documents = [
  'CREATE VERTEX TYPE Doc',
  'CREATE EDGE TYPE Cites',
  ...['title STRING', 'body STRING', 'toks ARRAY_OF_INTEGERS', 'wts ARRAY_OF_FLOATS'].map(
    property => `CREATE PROPERTY Doc.${property}`,
  ),
  'CREATE INDEX ON Doc (body) FULL_TEXT',
  'CREATE INDEX ON Doc (toks, wts) LSM_SPARSE_VECTOR METADATA {"dimensions": 100}',
  "INSERT INTO Doc SET title='d1', body='red apple pie', toks=[1,2], wts=[1.0,0.5]",
  "INSERT INTO Doc SET title='d2', body='green apple tart', toks=[2,3], wts=[0.7,0.2]",
  "INSERT INTO Doc SET title='d3', body='blue berry jam', toks=[5], wts=[2.0]",
  "INSERT INTO Doc SET title='d4', body='plain bread loaf'",
  "CREATE EDGE Cites FROM (SELECT FROM Doc WHERE title='d1') TO (SELECT FROM Doc WHERE title='d4')",
  "CREATE EDGE Cites FROM (SELECT FROM Doc WHERE title='d4') TO (SELECT FROM Doc WHERE title='d3')",
];

function titlesOf({results}: Answer): readonly unknown[] {
  return results.map(({properties}) => properties['title']);
}

test('full text, by the name of the index and by its type', async () => {
  const database = await world.database(documents);
  const asked = [
    {indexName: 'Doc[body]'},
    {typeName: 'Doc'},
    {typeName: 'Doc', properties: ['body']},
  ];
  for (const target of asked) {
    const answer = await search(database, 'fulltext', {queryText: 'apple', ...target});
    const {results, ...head} = answer;
    assert.deepEqual(head, {indexName: 'Doc[body]', similarity: 'BM25', count: 2});
    assert.deepEqual(
      results.map(({score}) => score),
      [0.6931472, 0.6931472],
    );
    assert.deepEqual(titlesOf(answer), ['d1', 'd2']);
    assert.equal(results[0]?.properties['@rid'], results[0]?.rid);
  }
  const one = await search(database, 'fulltext', {queryText: 'apple', typeName: 'Doc', limit: 1});
  assert.deepEqual([one['count'], titlesOf(one)], [1, ['d1']]);
  const none = await search(database, 'fulltext', {queryText: 'zebra', typeName: 'Doc'});
  assert.deepEqual(none, {indexName: 'Doc[body]', similarity: 'BM25', count: 0, results: []});
});

test('sparse vectors, with a condition and in a transaction', async () => {
  const database = await world.database(documents);
  const query = {
    indexName: 'Doc[toks,wts]',
    queryIndices: [2, 3],
    queryVector: [1, 1],
    sparse: true,
  };
  const {results, ...head} = await search(database, 'search', {...query, k: 2});
  assert.deepEqual(head, {
    indexName: 'Doc[toks,wts]',
    sparse: true,
    scoring: 'score_higher_is_better:dot_product',
    candidateLimit: 2,
    truncated: true,
    count: 2,
  });
  assert.deepEqual(
    results.map(({score, properties}) => [properties['title'], score]),
    [
      ['d2', 0.9],
      ['d1', 0.5],
    ],
  );
  const filtered = await search(database, 'search', {...query, k: 2, filter: "title <> 'd2'"});
  assert.deepEqual([filtered['candidateLimit'], titlesOf(filtered)], [16, ['d1']]);
  const transactionId = await world.service.begin(root, database.name);
  await database.run("DELETE FROM Doc WHERE title = 'd2'", {transactionId});
  assert.deepEqual(titlesOf(await search(database, 'search', query, {transactionId})), ['d1']);
  await world.service.rollback(root, database.name, transactionId);
  assert.deepEqual(titlesOf(await search(database, 'search', query)), ['d2', 'd1']);
});

test('legs are fused, and the expansion tells its way', async () => {
  const database = await world.database(documents);
  const answer = await search(database, 'hybrid', {
    vectorIndexName: 'Doc[toks,wts]',
    queryIndices: [1, 2],
    queryVector: [1, 1],
    sparse: true,
    k: 4,
    fulltextIndexName: 'Doc[body]',
    fulltextQuery: 'apple',
    expand: {edgeTypes: ['Cites'], maxDepth: 2},
  });
  const rids = new Map(answer.results.map(({rid, properties}) => [properties['title'], rid]));
  assert.deepEqual(answer['legs'], {
    vector: {count: 2},
    fulltext: {indexName: 'Doc[body]', similarity: 'BM25', count: 2},
    expand: {
      direction: 'out',
      edgeTypes: ['Cites'],
      maxDepth: 2,
      truncated: false,
      seedCount: 2,
      seedsTruncated: false,
      count: 2,
    },
  });
  assert.deepEqual(
    answer.results.map(({properties, sources, depth, path, fusedScore}) => {
      return [properties['title'], sources, depth, path, fusedScore?.toFixed(6)];
    }),
    [
      ['d1', ['vector', 'fulltext'], undefined, undefined, (2 / 61).toFixed(6)],
      ['d2', ['vector', 'fulltext'], undefined, undefined, (2 / 62).toFixed(6)],
      ['d4', ['expand'], 1, [rids.get('d1'), rids.get('d4')], (0.5 / 61).toFixed(6)],
      ['d3', ['expand'], 2, ['d1', 'd4', 'd3'].map(one => rids.get(one)), (0.5 / 62).toFixed(6)],
    ],
  );
  const {fused, fusionStrategy, truncated, count} = answer;
  assert.deepEqual([fused, fusionStrategy, truncated, count], [true, 'RRF', true, 4]);
});

test('what is met from a seed is no seed, and has the shortest way', async () => {
  const cites = (from: string, to: string): string =>
    `CREATE EDGE Cites FROM (SELECT FROM Doc WHERE title='${from}') ` +
    `TO (SELECT FROM Doc WHERE title='${to}')`;
  // From d1 to d3 by way of d4, by which d2 is nearer; and from each seed to the other.
  const more = [cites('d1', 'd2'), cites('d2', 'd1'), cites('d2', 'd3'), cites('d3', 'd4')];
  const database = await world.database([...documents, ...more]);
  const asked = {vectorIndexName: 'Doc[toks,wts]', queryVector: [0, 1, 1], sparse: true, k: 4};
  for (const maxDepth of [1, 2, 3]) {
    const {results, ...head} = await search(database, 'hybrid', {...asked, expand: {maxDepth}});
    const {expand} = head['legs'] as {readonly expand: Readonly<Record<string, unknown>>};
    assert.deepEqual([expand['seedCount'], expand['count'], expand['truncated']], [2, 2, false]);
    const met = results.filter(({path}) => path !== undefined);
    assert.deepEqual(
      met
        .map(({properties, depth, path}) => `${properties['title']} ${depth} ${path?.length}`)
        .sort(),
      ['d3 1 2', 'd4 1 2'],
    );
  }
});

test('one leg alone keeps its own scores', async () => {
  const database = await world.database(documents);
  const asked = {vectorIndexName: 'Doc[toks,wts]', queryVector: [0, 1, 1], sparse: true, k: 1};
  const answer = await search(database, 'hybrid', asked);
  assert.deepEqual([answer['fused'], answer['truncated'], answer['count']], [false, true, 1]);
  assert.deepEqual([answer.results[0]?.score, answer.results[0]?.sources], [1.5, ['vector']]);
  assert.equal('fusionStrategy' in answer, false);
});

/** Where the text finds nothing: weights and strategies that put its records in another order. */
for (const more of [
  {fusionStrategy: 'DBSF'},
  {fusionStrategy: 'LINEAR'},
  {weights: {vector: 0}},
  {fusionStrategy: 'LINEAR', weights: {vector: 0}},
]) {
  test(`a leg that alone finds something keeps its best: ${JSON.stringify(more)}`, async () => {
    // The two worst come first, and beyond three deviations.
    const inserts = Array.from({length: 40}, (_none, at) => {
      const weight = at < 2 ? at + 1 : 1_000;
      return `INSERT INTO Doc SET title = 'e${at}', body = 'pear', toks = [1], wts = [${weight}]`;
    });
    const database = await world.database([...documents.slice(0, 8), ...inserts]);
    const asked = {vectorIndexName: 'Doc[toks,wts]', queryVector: [1], queryIndices: [1], k: 39};
    const plain = {...asked, sparse: true};
    const texts = {fulltextIndexName: 'Doc[body]', fulltextQuery: 'nowhere'};
    const alone = await search(database, 'hybrid', plain);
    const answer = await search(database, 'hybrid', {...plain, ...texts, ...more});
    assert.deepEqual([answer['fused'], answer['count']], [false, 39]);
    assert.deepEqual(answer.results, alone.results);
  });
}

const sparse = {indexName: 'Doc[toks,wts]', queryVector: [1], queryIndices: [1], sparse: true};
const hybrid = {
  vectorIndexName: 'Doc[toks,wts]',
  queryVector: [1],
  queryIndices: [1],
  sparse: true,
};
const refused: readonly (readonly [SearchKind, object, RegExp])[] = [
  ['fulltext', {queryText: ' ', typeName: 'Doc'}, /'queryText' must not be blank/],
  ['fulltext', {queryText: 'a'}, /give 'indexName' or 'typeName'/],
  ['fulltext', {queryText: 'a', indexName: 'No[x]'}, /does not exist.*\[Doc\[body\]\]/],
  ['fulltext', {queryText: 'a', indexName: 'Doc[toks,wts]'}, /is LSM_SPARSE_VECTOR, not FULL_TEXT/],
  ['fulltext', {queryText: 'a', typeName: 'Doc', properties: ['x']}, /no full-text index on \[x\]/],
  ['fulltext', {queryText: 'a', typeName: 'Doc', limit: 0}, /'limit' must be between 1 and 1000/],
  ['search', {...sparse, k: 0}, /'k' must be between 1 and 1000/],
  ['search', {...sparse, k: 1001}, /'k' must be between 1 and 1000/],
  ['search', {...sparse, indexName: 'No[x]'}, /does not exist. Available LSM_SPARSE_VECTOR/],
  ['search', {...sparse, indexName: 'Doc[body]'}, /is FULL_TEXT, not LSM_SPARSE_VECTOR/],
  ['search', {...sparse, sparse: false}, /is LSM_SPARSE_VECTOR, not LSM_VECTOR/],
  ['search', {...sparse, efSearch: 10}, /'efSearch' applies to dense indexes only/],
  ['search', {...sparse, queryVector: [1, 2]}, /'queryIndices' has 1 entries/],
  ['search', {...sparse, queryVector: ['x']}, /must hold finite numbers/],
  ['search', {...sparse, queryIndices: [1000]}, /dimension 1000 is not from 0 to 99/],
  ['search', {...sparse, filter: 'title === '}, /Invalid vector search or filter expression/],
  ['search', {...sparse, filter: '1 = 1) OR (1 = 1'}, /Invalid vector search or filter/],
  ['hybrid', {...hybrid, fulltextQuery: 'a'}, /must be supplied together/],
  [
    'hybrid',
    {...hybrid, weights: {zzz: 1}},
    /Unknown weights key 'zzz'. Allowed: vector, fulltext/,
  ],
  ['hybrid', {...hybrid, weights: {fulltext: 1}}, /of a leg that is not requested/],
  ['hybrid', {...hybrid, weights: {vector: -1}}, /must be a number of 0 or more/],
  ['hybrid', {...hybrid, expand: {maxDepth: 4}}, /expand.maxDepth must be between 1 and 3, got 4/],
  [
    'hybrid',
    {...hybrid, expand: {edgeTypes: ['No']}},
    /Edge type 'No' does not exist. Available edge types: \[Cites\]/,
  ],
  ['hybrid', {...hybrid, expand: {edgeTypes: ["a'b"]}}, /is no name of a type/],
  ['hybrid', {...hybrid, expand: {}, fusionStrategy: 'DBSF'}, /use 'RRF' with 'expand'/],
  ['hybrid', {...hybrid, fusionStrategy: 'BEST'}, /Unknown fusionStrategy 'BEST'/],
];

test('what means nothing is refused by its name', async () => {
  const database = await world.database(documents);
  for (const [kind, given, says] of refused) {
    await assert.rejects(
      search(database, kind, given),
      (error: unknown) => error instanceof Refusal && says.test(error.message),
      JSON.stringify(given),
    );
  }
});

test('who may not read the type finds nothing of it', async () => {
  const database = await world.database(documents);
  const who: Principal = {name: 'eve', root: false, grants: new Map()};
  await assert.rejects(search(database, 'fulltext', {queryText: 'apple', typeName: 'Doc'}, {who}), {
    code: 'security.denied',
  });
});
