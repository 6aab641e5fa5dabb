/**
 * The example from end to end: a server in a process of its own, the social network through the
 * bulk route, and the queries of both languages against the answers computed from the files.
 */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {
  freePort,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {answers} from './answers.ts';
import {graphLines} from './convert.ts';
import {dataFolder} from './files.ts';
import {loadSocialNetwork} from './load.ts';
import {readNetwork} from './network.ts';
import {patternCounts} from './patterns/counts.ts';
import {patternQueries} from './patterns/queries.ts';
import {queries} from './queries.ts';
import {readAnswers} from './reads/answers.ts';
import {parametersOf, reads} from './reads/parameters.ts';
import {readSocial} from './reads/social.ts';

const folder = dataFolder(process.env);
const network = readNetwork(folder);
const social = readSocial(folder);
let server: ServerProcess;
let client: Client;

before(async () => {
  server = await startServer({root: temporaryRoot('ldbc'), port: await freePort()});
  client = server.client();
});

after(async () => {
  client.close();
  await server.dispose();
});

test('every vertex and every edge is loaded and counted', async () => {
  const progress: number[] = [];
  const counts = await loadSocialNetwork(client, {
    database: 'ldbc',
    folder,
    onProgress: ({verticesCreated, edgesCreated}) => progress.push(verticesCreated + edgesCreated),
  });
  const lines = [...graphLines(folder)];
  const vertices = lines.filter(line => line.startsWith('{"@type":"vertex"')).length;
  assert.equal(vertices, 34_735);
  assert.equal(counts.verticesCreated, vertices);
  assert.equal(counts.edgesCreated, lines.length - vertices);
  assert.equal(counts.linesRead, lines.length);
  assert.deepEqual(
    progress,
    progress.toSorted((one, other) => one - other),
  );
  const {result} = await client.query('ldbc', 'SELECT count(*) AS messages FROM Message');
  assert.deepEqual(result, [{messages: network.messages.size}]);
});

for (const {name, asks, statement, params} of queries) {
  test(`${name}: ${asks}`, async () => {
    const {result} = await client.query('ldbc', statement, {params});
    const expected = answers[name]?.(network, params);
    assert(expected !== undefined && expected.length > 0);
    assert.deepEqual(result, expected);
  });
}

test('the nine patterns are met as often as plain loops over the files meet them', async () => {
  const found: unknown[] = [];
  for (const {text} of patternQueries) {
    const {result} = await client.query('ldbc', text, {language: 'cypher'});
    found.push(...result);
  }
  assert.deepEqual(
    found,
    patternCounts(graphLines(folder)).map(n => ({n})),
  );
});

const setsMax = 4;

for (const read of reads) {
  test(`${read.name}: ${read.asks}`, async () => {
    let rows = 0;
    for (const params of parametersOf(folder, read, setsMax)) {
      const options = {params, language: 'cypher'};
      const {result} = await client.query('ldbc', read.statement, options);
      const expected = readAnswers[read.name]?.(social, params);
      assert.deepEqual(result, expected, JSON.stringify(params));
      rows += result.length;
    }
    assert.ok(rows > 0, 'no set of values has an answer');
  });
}
