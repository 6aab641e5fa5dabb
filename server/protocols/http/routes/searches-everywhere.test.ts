/**
 * One table of searches for every surface: what SQL, Cypher, HTTP and the agents' tools are asked
 * they all answer alike, and what means nothing each of them refuses. Requests by name (HTTP and
 * tools) are refused with the same words, and so are calls of functions (SQL and Cypher).
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
  await world.agents.configure('{"enabled": true, "allowReads": true}');
  const records = [
    [0, 'Doc', 'red apple pie', [1, 0, 0], [1, 2], [1, 0.5]],
    [1, 'Doc', 'green apple tart', [0, 1, 0], [2, 3], [0.7, 0.2]],
    [2, 'Doc', 'blue berry jam', [0.7, 0.7, 0], [5], [2]],
    [3, 'Note', 'apple apple', [0.9, 0.2, 0.1], [2, 5], [0.4, 0.3]],
    [4, 'Note', 'plain bread', [0, 0, 1], [3, 7], [1, 1]],
  ] as const;
  for (const text of [
    'CREATE VERTEX TYPE Doc',
    'CREATE VERTEX TYPE Note EXTENDS Doc',
    'CREATE PROPERTY Doc.body STRING',
    'CREATE PROPERTY Doc.emb ARRAY_OF_FLOATS',
    'CREATE PROPERTY Doc.ids ARRAY_OF_INTEGERS',
    'CREATE PROPERTY Doc.weights ARRAY_OF_FLOATS',
    'CREATE INDEX ON Doc (body) FULL_TEXT',
    'CREATE INDEX ON Doc (emb) LSM_VECTOR METADATA {"dimensions": 3}',
    'CREATE INDEX ON Doc (ids, weights) LSM_SPARSE_VECTOR METADATA {"dimensions": 100}',
    ...records.map(([n, type, body, emb, ids, weights]) => {
      const record = {n, body, emb, ids, weights};
      return `INSERT INTO ${type} CONTENT ${JSON.stringify(record)}`;
    }),
  ]) {
    const {status, json} = await world.call('/command/db', {
      body: {language: 'sql', command: text},
    });
    assert.equal(status, 200, JSON.stringify(json));
  }
});
after(async () => world.server.close(0));

type Kind = 'search' | 'fulltext' | 'hybrid';
type Given = Readonly<Record<string, unknown>>;
/** Which records were found, by their number, and what each scores. */
type Found = readonly (readonly [n: number, value: number])[];
/** What was found, or the words of the refusal. */
type Outcome = {readonly found: Found} | {readonly refused: string};

interface Row {
  readonly n: number;
  readonly value?: number;
  readonly distance?: number;
  readonly score?: number;
  readonly fusedScore?: number;
}

const foundOf = (rows: readonly Row[]): Outcome => ({
  found: rows.map(row => [row.n, row.value ?? row.distance ?? row.score ?? row.fusedScore ?? 0]),
});

interface Hit extends Omit<Row, 'n'> {
  readonly properties: {readonly n: number};
}

const rowsOf = ({results}: {readonly results: readonly Hit[]}): readonly Row[] =>
  results.map(({properties, ...hit}) => ({...hit, n: properties.n}));

async function overHttp(kind: Kind, given: Given): Promise<Outcome> {
  const {status, json} = await world.call(`/vector/db/${kind}`, {body: given});
  if (status === 200) return foundOf(rowsOf(json as {readonly results: readonly Hit[]}));
  assert.ok(status >= 400 && status < 500, JSON.stringify(json));
  return {refused: (json as {readonly detail: string}).detail};
}

const tools = {search: 'vector_search', fulltext: 'full_text_search', hybrid: 'hybrid_search'};

async function asTool(kind: Kind, given: Given): Promise<Outcome> {
  const params = {name: tools[kind], arguments: {database: 'db', ...given}};
  const {json} = await world.call('/mcp', {
    body: {jsonrpc: '2.0', id: 1, method: 'tools/call', params},
  });
  const {result} = json as {
    readonly result: {
      readonly content: readonly [{readonly text: string}];
      readonly isError?: boolean;
    };
  };
  const [{text}] = result.content;
  if (result.isError === true) return {refused: text};
  return foundOf(rowsOf(JSON.parse(text) as {readonly results: readonly Hit[]}));
}

async function inLanguage(
  language: 'sql' | 'cypher',
  command: string,
  params: Given,
): Promise<Outcome> {
  const {status, json} = await world.call('/query/db', {body: {language, command, params}});
  if (status === 200) return foundOf((json as {readonly result: readonly Row[]}).result);
  assert.ok(status >= 400 && status < 600, JSON.stringify(json));
  return {refused: (json as {readonly detail: string}).detail};
}

/** The call of a function that asks the same, and what a row of it scores. */
function callOf(given: Given): readonly [call: (mark: string) => string, value: string] {
  const names = (list: string) => (mark: string) =>
    list.replaceAll(/\w+/gu, name => `${mark}${name}`);
  if (given['sparse'] === true) {
    const args = names('indexName, queryIndices, queryVector, k');
    return [mark => `vector.sparseNeighbors(${args(mark)})`, 'score'];
  }
  const args = names(
    given['efSearch'] === undefined
      ? 'indexName, queryVector, k'
      : 'indexName, queryVector, k, efSearch',
  );
  return [mark => `vector.neighbors(${args(mark)})`, 'distance'];
}

async function inSql(kind: Kind, given: Given): Promise<Outcome> {
  if (kind === 'fulltext') {
    const {
      typeName = 'Doc',
      indexName = 'Doc[body]',
      limit = 10,
    } = given as {
      readonly typeName?: string;
      readonly indexName?: string;
      readonly limit?: number;
    };
    const text =
      `SELECT n, $score AS value FROM ${typeName} ` +
      `WHERE SEARCH_INDEX('${indexName}', :queryText) = true ORDER BY $score DESC LIMIT ${limit}`;
    return await inLanguage('sql', text, given);
  }
  const [call, value] = callOf(given);
  const text = `SELECT n, ${value} AS value FROM (SELECT expand(${call(':')}))`;
  return await inLanguage('sql', text, given);
}

async function inCypher(kind: Kind, given: Given): Promise<Outcome> {
  if (kind === 'fulltext') {
    const text =
      'CALL db.index.fulltext.queryNodes($indexName, $queryText, {limit: $limit}) ' +
      'YIELD node, score RETURN node.n AS n, score AS value';
    const {limit = 10, indexName = 'Doc[body]', queryText} = given;
    return await inLanguage('cypher', text, {limit, indexName, queryText});
  }
  const [call, value] = callOf(given);
  const text = `UNWIND ${call('$')} AS row RETURN row.n AS n, row.${value} AS value`;
  return await inLanguage('cypher', text, given);
}

const dense = {indexName: 'Doc[emb]', queryVector: [1, 0.1, 0], k: 3};
const sparse = {
  indexName: 'Doc[ids,weights]',
  queryIndices: [2, 5],
  queryVector: [1, 0.5],
  sparse: true,
  k: 3,
};
const text = {queryText: 'apple', indexName: 'Doc[body]'};

const asked: readonly (readonly [item: string, kind: Kind, given: Given, numbers: string])[] = [
  ['the nearest', 'search', dense, '0 3 2'],
  ['more than there are', 'search', {...dense, k: 50}, '0 3 2 1 4'],
  ['with a breadth', 'search', {...dense, efSearch: 40}, '0 3 2'],
  ['of a child type', 'search', {...dense, indexName: 'Note[emb]'}, '3 4'],
  ['the greatest products', 'search', sparse, '2 1 3'],
  ['products of a child type', 'search', {...sparse, indexName: 'Note[ids,weights]'}, '3'],
  ['one word', 'fulltext', text, '3 0 1'],
  ['no more than two', 'fulltext', {...text, limit: 2}, '3 0'],
  ['must and must not', 'fulltext', {...text, queryText: '+apple -pie'}, '3 1'],
  ['a prefix and a fuzzy word', 'fulltext', {...text, queryText: 'bre* taart~1'}, '4 1'],
  ['nothing', 'fulltext', {...text, queryText: 'zebra'}, ''],
];

for (const [item, kind, given, numbers] of asked) {
  test(`every surface answers alike: ${item}`, async () => {
    const first = await overHttp(kind, given);
    assert.ok('found' in first, JSON.stringify(first));
    assert.equal(first.found.map(([n]) => n).join(' '), numbers);
    for (const surface of [asTool, inSql, inCypher]) {
      assert.deepEqual(await surface(kind, given), first, surface.name);
    }
  });
}

/** Refused everywhere. */
const refused: readonly (readonly [item: string, kind: Kind, given: Given])[] = [
  ['another dimension', 'search', {...dense, queryVector: [1, 0]}],
  ['a vector without direction', 'search', {...dense, queryVector: [0, 0, 0]}],
  ['beyond 32 bits', 'search', {...dense, queryVector: [1e300, 0, 0]}],
  ['words in a vector', 'search', {...dense, queryVector: ['a', 'b', 'c']}],
  ['no such index', 'search', {...dense, indexName: 'Nope[emb]'}],
  ['no such property', 'search', {...dense, indexName: 'Doc[nope]'}],
  ['an index of another kind', 'search', {...dense, indexName: 'Doc[body]'}],
  ['k of 0', 'search', {...dense, k: 0}],
  ['k of one and a half', 'search', {...dense, k: 1.5}],
  ['k beyond every bound', 'search', {...dense, k: 1_000_000}],
  ['a breadth of 0', 'search', {...dense, efSearch: 0}],
  ['a dimension twice', 'search', {...sparse, queryIndices: [2, 2]}],
  ['a dimension out of range', 'search', {...sparse, queryIndices: [2, 1_000]}],
  ['a dimension below 0', 'search', {...sparse, queryIndices: [2, -1]}],
  ['more weights than dimensions', 'search', {...sparse, queryVector: [1, 2, 3]}],
  ['a sparse search of a dense index', 'search', {...sparse, indexName: 'Doc[emb]'}],
  ['a query that cannot be read', 'fulltext', {...text, queryText: 'apple AND ('}],
  ['a wildcard in front', 'fulltext', {...text, queryText: '*ple'}],
  ['a word of 100,000 letters', 'fulltext', {...text, queryText: `${'a'.repeat(100_000)}~2`}],
  ['no such text index', 'fulltext', {...text, indexName: 'Nope[body]'}],
];

for (const [item, kind, given] of refused) {
  test(`every surface refuses: ${item}`, async () => {
    const words: string[] = [];
    for (const surface of [overHttp, asTool, inSql, inCypher]) {
      const outcome = await surface(kind, given);
      assert.ok('refused' in outcome, `${surface.name}: ${JSON.stringify(outcome)}`);
      assert.ok(outcome.refused.length < 1_000, 'what was given is not repeated whole');
      words.push(outcome.refused);
    }
    const [http, tool, sql, cypher] = words;
    assert.equal(tool, http);
    assert.equal(cypher, sql);
  });
}

const hybrid = {vectorIndexName: 'Doc[emb]', queryVector: [1, 0.1, 0], k: 3};
const legs = {...hybrid, fulltextIndexName: 'Doc[body]', fulltextQuery: 'apple'};

test('requests by name are fused alike', async () => {
  for (const given of [
    legs,
    hybrid,
    {...legs, fusionStrategy: 'dbsf'},
    {...legs, fusionStrategy: 'LINEAR', weights: {vector: 0.3}},
    {...legs, filter: 'n > 0', expand: {maxDepth: 2}},
    {...legs, vectorIndexName: 'Note[emb]'},
  ]) {
    const first = await overHttp('hybrid', given);
    assert.ok('found' in first && first.found.length > 1, JSON.stringify(first));
    assert.deepEqual(await asTool('hybrid', given), first);
  }
});

/** What only requests by name have. */
const refusedByName: readonly (readonly [Kind, Given])[] = [
  ['search', {...dense, k: 1_001}],
  ['search', {...dense, k: 'x'}],
  ['search', {...dense, queryVector: 'x'}],
  ['search', {...dense, queryVector: undefined}],
  ['search', {...dense, indexName: ''}],
  ['search', {...dense, indexName: 5}],
  ['search', {...dense, sparse: 'yes'}],
  ['search', {...dense, queryIndices: [1]}],
  ['search', {...dense, efSearch: 10_001}],
  ['search', {...sparse, efSearch: 10}],
  ['search', {...dense, filter: 5}],
  ['search', {...dense, filter: 'a'.repeat(4_097)}],
  ['search', {...dense, filter: 'n === === '}],
  ['search', {...dense, filter: '1 = 1) OR (1 = 1'}],
  ['search', {...dense, filter: '(DELETE FROM Doc) = 1'}],
  ['search', {...dense, filter: '(INSERT INTO Doc SET n = 9) = 1'}],
  ['fulltext', {...text, queryText: ' '}],
  ['fulltext', {...text, queryText: undefined}],
  ['fulltext', {...text, limit: 0}],
  ['fulltext', {...text, limit: 1_001}],
  ['fulltext', {queryText: 'apple'}],
  ['fulltext', {...text, indexName: 'Doc[emb]'}],
  ['fulltext', {queryText: 'apple', typeName: 'Nope'}],
  ['fulltext', {queryText: 'apple', typeName: 'Doc', properties: 'body'}],
  ['fulltext', {queryText: 'apple', typeName: 'Doc', properties: ['nope']}],
  ['hybrid', {...hybrid, fulltextQuery: 'apple'}],
  ['hybrid', {...hybrid, fulltextIndexName: 'Doc[body]'}],
  ['hybrid', {...legs, fulltextQuery: ' '}],
  ['hybrid', {...legs, fusionStrategy: 'BEST'}],
  ['hybrid', {...legs, fusionStrategy: 'DBSF', expand: {}}],
  ['hybrid', {...legs, weights: {nope: 1}}],
  ['hybrid', {...hybrid, weights: {fulltext: 1}}],
  ['hybrid', {...legs, weights: {vector: -1}}],
  ['hybrid', {...legs, weights: {vector: 'much'}}],
  ['hybrid', {...legs, weights: 5}],
  ['hybrid', {...legs, expand: 'all'}],
  ['hybrid', {...legs, expand: {maxDepth: 4}}],
  ['hybrid', {...legs, expand: {direction: 'up'}}],
  ['hybrid', {...legs, expand: {edgeTypes: ['Nope']}}],
];

test('requests by name are refused with the same words', async () => {
  for (const [kind, given] of refusedByName) {
    const first = await overHttp(kind, given);
    assert.ok('refused' in first, JSON.stringify([given, first]));
    assert.deepEqual(await asTool(kind, given), first, JSON.stringify(given).slice(0, 200));
  }
});

test('a procedure of Cypher finds what the function finds, in its order', async () => {
  const procedure =
    'CALL db.index.vector.queryNodes($indexName, $k, $queryVector) YIELD node, score';
  for (const given of [dense, {...dense, indexName: 'Note[emb]'}]) {
    const {json} = await world.call('/query/db', {
      body: {language: 'cypher', command: `${procedure} RETURN node.n AS n`, params: given},
    });
    const {result} = json as {readonly result: readonly Row[]};
    const first = await overHttp('search', given);
    assert.ok('found' in first);
    assert.deepEqual(
      result.map(({n}) => n),
      first.found.map(([n]) => n),
    );
  }
});

test('a session sees what it has written, on every route of it', async () => {
  const begun = await world.call('/begin/db', {method: 'POST'});
  const headers = {'svc-session-id': begun.headers.get('svc-session-id') ?? ''};
  const record = {n: 9, body: 'zebra apple', emb: [1, 0.1, 0], ids: [2], weights: [9]};
  const command = `INSERT INTO Doc CONTENT ${JSON.stringify(record)}`;
  const written = await world.call('/command/db', {body: {language: 'sql', command}, headers});
  assert.equal(written.status, 200, written.text);
  const first = async (kind: Kind, given: Given, as: object): Promise<unknown> => {
    const {json} = await world.call(`/vector/db/${kind}`, {body: given, ...as});
    return (json as {readonly results: readonly Hit[]}).results[0]?.properties.n;
  };
  const rows = [
    ['search', dense],
    ['search', sparse],
    ['fulltext', {...text, queryText: 'zebra'}],
    ['hybrid', legs],
  ] as const;
  for (const [kind, given] of rows) {
    assert.equal(await first(kind, given, {headers}), 9, kind);
    assert.notEqual(await first(kind, given, {}), 9, kind);
  }
  await world.call('/rollback/db', {method: 'POST', headers});
});
