/** Searches over HTTP: dense, sparse, text and hybrid, and what GET /server says of the indexes. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import {type HttpWorld, httpWorld} from '#server/testing/worlds/http-world.ts';

let world: HttpWorld;
before(async () => {
  world = await httpWorld();
  for (const text of [
    'CREATE VERTEX TYPE Doc',
    'CREATE PROPERTY Doc.body STRING',
    'CREATE PROPERTY Doc.place ARRAY_OF_FLOATS',
    'CREATE PROPERTY Doc.ids ARRAY_OF_INTEGERS',
    'CREATE PROPERTY Doc.weights ARRAY_OF_FLOATS',
    'CREATE INDEX ON Doc (body) FULL_TEXT',
    'CREATE INDEX ON Doc (place) LSM_VECTOR METADATA {"dimensions": 2, "similarity": "EUCLIDEAN"}',
    'CREATE INDEX ON Doc (ids, weights) LSM_SPARSE_VECTOR',
    "INSERT INTO Doc SET body = 'red apple', place = [0, 0], ids = [1], weights = [1]",
    "INSERT INTO Doc SET body = 'green apple', place = [3, 4], ids = [1, 2], weights = [2, 1]",
    "INSERT INTO Doc SET body = 'blue whale', place = [9, 9], ids = [3], weights = [1]",
  ]) {
    await command(text);
  }
});
after(async () => world.server.close(0));

async function command(text: string): Promise<void> {
  const {status, json} = await world.call('/command/db', {body: {language: 'sql', command: text}});
  assert.equal(status, 200, JSON.stringify(json));
}

interface Found {
  readonly results: readonly Readonly<Record<string, unknown>>[];
  readonly [key: string]: unknown;
}

async function search(kind: string, body: object): Promise<Found> {
  const {status, json} = await world.call(`/vector/db/${kind}`, {body});
  assert.equal(status, 200, JSON.stringify(json));
  return json as Found;
}

const bodies = ({results}: Found): readonly unknown[] =>
  results.map(({properties}) => (properties as {readonly body: string}).body);

test('dense vectors: distances, a filter, a commit that the next request finds', async () => {
  const near = {indexName: 'Doc[place]', queryVector: [0, -1], k: 2};
  const found = await search('search', near);
  assert.deepEqual(bodies(found), ['red apple', 'green apple']);
  assert.equal(found['scoring'], 'distance_lower_is_better:EUCLIDEAN');
  assert.deepEqual(
    found.results.map(({distance}) => distance),
    [1, 34],
  );
  const filtered = await search('search', {...near, k: 3, filter: "body LIKE '%e%n%'"});
  assert.deepEqual(bodies(filtered), ['green apple']);
  await command("INSERT INTO Doc SET body = 'new', place = [0, -2]");
  assert.deepEqual(new Set(bodies(await search('search', near))), new Set(['new', 'red apple']));
  await command("DELETE FROM Doc WHERE body = 'new'");
  assert.deepEqual(bodies(await search('search', near)), ['red apple', 'green apple']);
});

test('a client says who it is, wherever it asks', async () => {
  await world.agents.configure('{"enabled": true, "allowReads": true}');
  const headers = {'X-Svc-Client-Name': 'nightly', 'X-Svc-Query-Tag': 'job-7'};
  const given = {queryText: 'apple', indexName: 'Doc[body]'};
  const tool = {name: 'full_text_search', arguments: {database: 'db', ...given}};
  const requests = {
    '/query/db': {language: 'sql', command: 'SELECT FROM Doc LIMIT 1'},
    '/vector/db/fulltext': given,
    '/vector/db/search': {indexName: 'Doc[place]', queryVector: [0, 1], k: 1},
    '/mcp': {jsonrpc: '2.0', id: 1, method: 'tools/call', params: tool},
  };
  for (const [path, body] of Object.entries(requests)) {
    world.service.requests.length = 0;
    const {status, text} = await world.call(path, {body, headers});
    assert.equal(status, 200, text);
    const [asked] = world.service.requests;
    assert.deepEqual([asked?.clientName, asked?.tag], ['nightly', 'job-7'], `${path}: ${text}`);
    assert.equal(asked?.protocol, path === '/mcp' ? 'mcp' : undefined);
    assert.ok(asked?.connection !== undefined && asked.signal !== undefined);
  }
});

test('what cannot be compared is refused', async () => {
  const refused = [
    [{queryVector: [0], k: 2}, /1 dimensions.*requires 2/],
    [{queryVector: [0, null], k: 2}, /queryVector/],
    [{queryVector: [0, 1], k: 0}, /'?k'?/],
    [{queryVector: [0, 1], k: 1001}, /1000/],
    [{queryVector: [0, 1], k: 2, queryIndices: [1, 2]}, /'sparse'/],
    [{queryVector: [0, 1], k: 2, efSearch: 0}, /efSearch/],
    [{queryVector: [0, 1], k: 2, filter: '(DELETE FROM Doc)'}, /./],
  ] as const;
  for (const [body, message] of refused) {
    const asked = {body: {indexName: 'Doc[place]', ...body}};
    const {status, text} = await world.call('/vector/db/search', asked);
    assert.equal(status, 400, text);
    assert.match(text, message);
  }
});

test('all legs at once', async () => {
  const found = await search('hybrid', {
    vectorIndexName: 'Doc[place]',
    queryVector: [9, 8],
    k: 3,
    fulltextIndexName: 'Doc[body]',
    fulltextQuery: 'green',
  });
  assert.equal(found['fused'], true);
  assert.equal(bodies(found)[0], 'green apple');
  assert.deepEqual(found.results[0]?.['sources'], ['vector', 'fulltext']);
});

test('GET /server knows each index, how often it was searched and what it holds', async () => {
  for (let asked = 0; asked < 3; asked++) {
    await search('search', {indexName: 'Doc[ids,weights]', sparse: true, queryVector: [1], k: 1});
  }
  await search('fulltext', {indexName: 'Doc[body]', queryText: 'apple'});
  type Figures = Record<string, Record<string, unknown>>;
  const metricsFor = async (as?: string): Promise<Record<string, Figures>> => {
    const {json} = await world.call('/server', as === undefined ? {} : {as});
    return (json as {readonly metrics: Record<string, Figures>}).metrics;
  };
  const {searchIndexes = {}, sparseVectorIndexes = {}} = await metricsFor();
  assert.deepEqual(Object.keys(searchIndexes).toSorted(), [
    'db.Doc[body]',
    'db.Doc[ids,weights]',
    'db.Doc[place]',
  ]);
  const {memoryBytes, ...sparse} = searchIndexes['db.Doc[ids,weights]'] ?? {};
  assert.deepEqual(sparse, {
    type: 'LSM_SPARSE_VECTOR',
    ready: true,
    searches: 3,
    parts: 0,
    lists: 1,
    vectors: 0,
    waiting: 0,
  });
  assert.ok(Number(memoryBytes) > 0);
  assert.deepEqual(Object.keys(sparseVectorIndexes), ['db.Doc[ids,weights]']);
  assert.ok(Number(searchIndexes['db.Doc[body]']?.['searches']) >= 1);
  await world.security.createUser({
    name: 'bobby',
    password: 'bob-pass',
    databases: {other: ['admin']},
  });
  assert.deepEqual((await metricsFor('bobby:bob-pass'))['searchIndexes'], {});
});
