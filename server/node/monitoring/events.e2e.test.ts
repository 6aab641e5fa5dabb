/** Events of a real server: told by route and command, and found again after a restart. */
import assert from 'node:assert/strict';
import {statSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {ServerEvent} from '#server/monitoring/server-event.ts';
import {freePort} from '#server/testing/worlds/free-port.ts';
import {
  rootPassword,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '#server/testing/worlds/server-process.ts';

const options = {root: temporaryRoot('events'), port: await freePort()};
let server: ServerProcess = await startServer(options);
after(() => server.dispose());

interface Told {
  readonly events: readonly ServerEvent[];
  readonly files: readonly string[];
}

async function route(query = ''): Promise<{readonly status: number; readonly result: Told}> {
  const headers = {authorization: `Basic ${btoa(`root:${rootPassword}`)}`};
  const answer = await fetch(`${server.url}/api/v1/server/events${query}`, {headers});
  const {result} = (await answer.json()) as {readonly result: Told};
  return {status: answer.status, result};
}

async function command(words: string): Promise<Told> {
  const client = server.client();
  try {
    const {result} = await client.serverCommand(words);
    return result as Told;
  } finally {
    client.close();
  }
}

const started = ({component, type, message}: ServerEvent): boolean =>
  component === 'Server' && type === 'INFO' && message.includes(' started in ');

test('the events of a start are told by the route and the command, and lie in a file', async () => {
  const {result} = await route();
  assert.equal(result.events.filter(started).length, 1);
  assert.match(result.files[0] ?? '', /^server-event-log-\d{8}-\d{6}\.0\.jsonl$/);
  assert.deepEqual(await command('get server events'), result);
  const path = join(options.root, 'log', result.files[0] ?? '');
  assert.equal(statSync(path).mode & 0o077, 0);
});

test('a restart begins a file; the former one is still there, its end too', async () => {
  const before = await route();
  const [former = ''] = before.result.files;
  assert.equal(await server.stop(), 0);
  server = await startServer(options);
  const {result} = await route();
  assert.equal(result.files.length, 2);
  assert.equal(result.files[1], former);
  assert.equal(result.events.filter(started).length, 1);
  const read = await route(`?file=${former}`);
  assert.equal(read.result.events.at(-1)?.message, 'Server shut down');
  assert.deepEqual(await command(`get server events ${former}`), read.result);
  assert.deepEqual((await route('?file=nope.jsonl')).result.events, []);
  assert.equal((await route('?file=../x')).status, 400);
  await assert.rejects(command('get server events ../x'), /Invalid file name/);
});
