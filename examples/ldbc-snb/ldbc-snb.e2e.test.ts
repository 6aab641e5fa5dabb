/**
 * The example from end to end: a server in a process of its own, the social network through the
 * bulk route, the queries of both languages against the answers computed from the tables, and the
 * commands of README.md.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {examplesOf, printsAs} from '#server/testing/documents/blocks.ts';
import {runShell} from '#server/testing/documents/shell.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {answers} from './answers.ts';
import {graphLines} from './convert.ts';
import {loadSocialNetwork} from './load.ts';
import {readNetwork} from './network.ts';
import {patternCounts} from './patterns/counts.ts';
import {patternQueries} from './patterns/queries.ts';
import {queries} from './queries.ts';
import {readAnswers} from './reads/answers.ts';
import {parametersOf, reads} from './reads/parameters.ts';
import {readSocial} from './social.ts';
import {dataSetOf} from './source.ts';
import {valuesOf} from './values.ts';

const shared = process.env['SVC_SHARED'];
const data = dataSetOf({SVC_SHARED: shared});
const network = readNetwork(data);
const social = readSocial(data);
const values = valuesOf(social);
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
    database: 'network',
    data,
    onProgress: ({verticesCreated, edgesCreated}) => progress.push(verticesCreated + edgesCreated),
  });
  const lines = [...graphLines(data)];
  const vertices = lines.filter(line => line.startsWith('{"@type":"vertex"')).length;
  assert.equal(vertices, shared ? 34_735 : 9_229);
  assert.equal(counts.verticesCreated, vertices);
  assert.equal(counts.edgesCreated, lines.length - vertices);
  assert.equal(counts.linesRead, lines.length);
  assert.deepEqual(
    progress,
    progress.toSorted((one, other) => one - other),
  );
  const {result} = await client.query('network', 'SELECT count(*) AS messages FROM Message');
  assert.deepEqual(result, [{messages: network.messages.size}]);
});

for (const {name, asks, statement, params} of queries) {
  test(`${name}: ${asks}`, async () => {
    const chosen = params(values);
    const {result} = await client.query('network', statement, {params: chosen});
    const expected = answers[name]?.(network, chosen);
    assert(expected !== undefined && expected.length > 0);
    assert.deepEqual(result, expected);
  });
}

test('the nine patterns are met as often as plain loops over the files meet them', async () => {
  const found: unknown[] = [];
  for (const {text} of patternQueries) {
    const {result} = await client.query('network', text, {language: 'cypher'});
    found.push(...result);
  }
  assert.deepEqual(
    found,
    patternCounts(graphLines(data)).map(n => ({n})),
  );
});

const setsMax = 4;

for (const read of reads) {
  test(`${read.name}: ${read.asks}`, async () => {
    let rows = 0;
    for (const params of parametersOf({data, values}, read, setsMax)) {
      const options = {params, language: 'cypher'};
      const {result} = await client.query('network', read.statement, options);
      const expected = readAnswers[read.name]?.(social, params);
      assert.deepEqual(result, expected, JSON.stringify(params));
      rows += result.length;
    }
    assert.ok(rows > 0, 'no set of values has an answer');
  });
}

const isOutside = shared ? 'it speaks of the generated network' : false;

test('every block of README.md runs and prints what it says', {skip: isOutside}, async () => {
  const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const examples = examplesOf(page, 'sh');
  assert.equal(examples.length, 3);
  const {ran, errors} = await runShell(examples, {
    port: 0,
    millisMax: 120_000,
    before: `unset SEED PERSONS; export SVC_URL=${server.url} SVC_PASSWORD=${rootPassword}`,
  });
  for (const {example, output, status} of ran) {
    const place = `README.md:${example.block.line}`;
    assert.equal(status, 0, `${place} ended with ${status}\n${output}\n${errors}`);
    const documented = example.output ?? '';
    assert.ok(printsAs(documented, output), `${place} says\n${documented}\nbut prints\n${output}`);
  }
});
