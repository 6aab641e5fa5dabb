/** The profiler of a real server: what a statement and its steps took, and what it never shows. */
import assert from 'node:assert/strict';
import {readFileSync, statSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {startServer, temporaryRoot} from '#server/testing/worlds/server-process.ts';

const server = await startServer({root: temporaryRoot('profiler'), port: await freePort()});
const client = server.client();
after(async () => {
  client.close();
  await server.dispose();
});
await client.serverCommand('create database d');

interface Profiled {
  readonly queryText: string;
  readonly executionCount: number;
  readonly totalTimeMs: number;
  readonly clientNames: readonly string[];
  readonly deserializationTotalTimeMs: number;
  readonly steps: readonly {readonly name: string; readonly totalCostMs: number}[];
}

async function queriesOf(command: string): Promise<readonly Profiled[]> {
  const {queries} = await client.serverCommand(command);
  return queries as readonly Profiled[];
}

test('what was asked while it recorded, with the steps of its plan', async () => {
  await client.command('d', 'CREATE DOCUMENT TYPE P');
  await client.query('d', 'SELECT FROM P');
  const started = await client.serverCommand('profiler start 30');
  assert.deepEqual(started, {result: 'ok', recording: true, timeoutSeconds: 30});
  for (let at = 0; at < 3; at++) await client.command('d', 'INSERT INTO P SET n = 1');
  for (let at = 0; at < 5; at++) {
    const {result} = await client.query('d', 'SELECT sum(n) AS s FROM P WHERE n > 0');
    assert.deepEqual(result, [{s: 3}]);
  }
  await client.command('d', "CREATE USER eva IDENTIFIED BY 'correct-horse'").catch(() => {});
  const during = await queriesOf('profiler results');
  assert.equal(during.length, 3);
  const document = await client.serverCommand('profiler stop');
  assert.equal(document['recording'], false);
  assert.deepEqual(document['profiledDatabases'], ['d']);
  const queries = document['queries'] as readonly Profiled[];
  const read = queries.find(({queryText}) => queryText.startsWith('SELECT sum'));
  const write = queries.find(({queryText}) => queryText.startsWith('INSERT'));
  assert.deepEqual([read?.executionCount, write?.executionCount], [5, 3]);
  assert.ok((read?.totalTimeMs ?? 0) >= (read?.deserializationTotalTimeMs ?? 1));
  assert.ok((read?.steps.length ?? 0) >= 2, JSON.stringify(read));
  assert.ok((write?.steps.length ?? 0) >= 1, JSON.stringify(write));
  assert.ok(!queries.some(({queryText}) => queryText.includes('SELECT FROM P')));
});

test('a run lies on disk, for the owner alone, without passwords', async () => {
  const {result} = await client.serverCommand('profiler list');
  const [{fileName = ''} = {}] = result as readonly {fileName?: string}[];
  const path = join(server.root, 'profiler', fileName);
  assert.equal(statSync(path).mode & 0o077, 0);
  assert.doesNotMatch(readFileSync(path, 'utf8'), /correct-horse/);
  const loaded = await client.serverCommand(`profiler load ${fileName}`);
  assert.equal(loaded['totalQueries'], 9);
  assert.deepEqual(await client.serverCommand('profiler reset'), {result: 'ok'});
  assert.equal((await client.serverCommand('profiler results'))['totalQueries'], 0);
});

test('the answer of a statement is the same while it records', async () => {
  const ask = async (): Promise<unknown> => {
    const {result, ...rest} = await client.query('d', 'SELECT n FROM P ORDER BY n');
    return {result, keys: Object.keys(rest).toSorted()};
  };
  const before = await ask();
  await client.serverCommand('profiler start');
  assert.deepEqual(await ask(), before);
  await client.serverCommand('profiler stop');
});

test('what the clients call themselves that asked', async () => {
  const text = 'SELECT FROM P WHERE n = 1 LIMIT 1';
  await client.serverCommand('profiler start 30');
  for (const name of ['nightly', 'daily']) {
    const headers = {'Content-Type': 'application/json', 'X-Svc-Client-Name': name};
    const body = JSON.stringify({language: 'sql', command: text});
    const asked = {method: 'POST', path: '/api/v1/query/d', headers, body, again: false} as const;
    assert.equal((await client.send(asked)).status, 200);
  }
  await client.query('d', text);
  const {queries} = await client.serverCommand('profiler stop');
  const [asked] = queries as readonly Profiled[];
  assert.equal(asked?.executionCount, 3);
  assert.deepEqual(asked?.clientNames, ['daily', 'nightly']);
});
