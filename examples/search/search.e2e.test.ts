/**
 * The example from end to end: a server in a process of its own, the documents through the bulk
 * route, ten questions, a restart that finds everything as it was, and the commands of README.md.
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, before, test} from 'node:test';
import {examplesOf, printsAs} from '#server/testing/documents/blocks.ts';
import {runShell} from '#server/testing/documents/shell.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';
import {readDocuments} from './documents.ts';
import {loadDocuments} from './load.ts';
import {answerOf} from './main.ts';
import {questions} from './questions.ts';

const options = {root: temporaryRoot('search-example'), port: await freePort()};
const documents = readDocuments();
let server: ServerProcess;

before(async () => {
  server = await startServer(options);
});
after(async () => server.dispose());

async function answers(): Promise<ReadonlyMap<string, readonly string[]>> {
  const client = server.client();
  const found = new Map<string, readonly string[]>();
  try {
    for (const question of questions) {
      found.set(question.name, await answerOf(client, 'docs', question));
    }
    return found;
  } finally {
    client.close();
  }
}

function requireExpected(found: ReadonlyMap<string, readonly string[]>): void {
  assert.equal(questions.length, 10);
  for (const {name, expected} of questions) {
    assert.ok(expected(documents).length > 0, name);
    assert.deepEqual(found.get(name), expected(documents), name);
  }
}

test('all documents are loaded by the bulk route, and found by words and vectors', async () => {
  const client = server.client();
  try {
    const counts = await loadDocuments(client, 'docs');
    assert.equal(counts.verticesCreated, documents.length);
    assert.ok(documents.length > 2_000);
  } finally {
    client.close();
  }
  requireExpected(await answers());
});

test('a restart keeps the indexes: nothing is built, the answers are the same', async t => {
  const catalog = async (): Promise<unknown> => {
    const client = server.client();
    try {
      const {result} = await client.query('docs', 'SELECT FROM schema:indexes ORDER BY name');
      return result;
    } finally {
      client.close();
    }
  };
  const before = await catalog();
  await server.stop();
  server = await startServer(options);
  t.diagnostic(`ready ${server.readyMillis} ms after the start`);
  // What is being built is not ready, and an index that is built anew has another number.
  assert.deepEqual(await catalog(), before);
  requireExpected(await answers());
  await server.kill();
  server = await startServer(options);
  assert.deepEqual(await catalog(), before);
  requireExpected(await answers());
});

test('the commands of README.md run and print what it says', async () => {
  const page = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8');
  const before = `export SVC_URL='${server.url}' SVC_PASSWORD='${rootPassword}'`;
  const {ran, errors} = await runShell(examplesOf(page, 'sh'), {
    port: 0,
    millisMax: 120_000,
    before,
  });
  assert.ok(ran.length >= 2);
  for (const {example, output, status} of ran) {
    assert.equal(status, 0, `${output}\n${errors}`);
    assert.ok(printsAs(example.output ?? '...', output), `${example.output}\nbut\n${output}`);
  }
});
