/**
 * A real server on a small file system of its own (tmpfs with a limit) that others fill up: writes
 * are refused for the time being, reads go on, and when there is room again it writes by itself.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {ServerError} from '#server/client/server-error.ts';
import {eventually} from '../time/eventually.ts';
import {freePort} from '../worlds/free-port.ts';
import {type ServerProcess, startServer} from '../worlds/server-process.ts';
import {SmallDisk} from './small-disk.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-full-disk-'));
after(() => {
  disk?.unmount();
  rmSync(base, {recursive: true, force: true});
});

const MB = 1 << 20;
const reserveBytes = 24 * MB;
const settings = {
  'svc.storage.freeSpaceMin': `${reserveBytes / MB}MB`,
  'svc.ha.logSegmentSize': '4MB',
  'svc.storage.writeBufferSize': '2MB',
};

async function startOn(root: string, types: readonly string[]): Promise<ServerProcess> {
  const server = await startServer({root, port: await freePort(), settings});
  const client = server.client();
  await client.createDatabase('d');
  for (const type of types) await client.command('d', type);
  client.close();
  return server;
}

function isRefusedForNow(error: unknown): boolean {
  if (!(error instanceof ServerError)) throw error;
  assert.equal(error.status, 503, error.message);
  assert.equal(error.exceptionName, 'NeedRetryException');
  return true;
}

async function insert(client: Client, id: number, bytes = 100): Promise<boolean> {
  const params = {id, filler: 'x'.repeat(bytes)};
  try {
    await client.command('d', 'INSERT INTO V SET id = :id, filler = :filler', {params});
    return true;
  } catch (error) {
    return !isRefusedForNow(error);
  }
}

async function count(client: Client): Promise<number> {
  const {result} = await client.query('d', 'SELECT count(*) AS n FROM V');
  return Number(result[0]?.['n']);
}

const disk = SmallDisk.mount(join(base, 'disk'), 200 * MB);
const skip = disk === undefined ? 'needs the right to mount a tmpfs' : false;

test('below the least free space writes are refused with 503, until there is more', {
  skip,
}, async () => {
  assert.ok(disk !== undefined);
  const {path} = disk;
  const server = await startOn(join(path, 'root'), ['CREATE VERTEX TYPE V']);
  const client = server.client();
  try {
    assert.ok(await insert(client, 1));
    disk.fill(16 * MB);
    await eventually('a write is refused', async () => !(await insert(client, 2)));
    const before = await count(client);
    await assert.rejects(client.createDatabase('other'), isRefusedForNow);
    await assert.rejects(client.command('d', 'CREATE VERTEX TYPE W'), isRefusedForNow);
    const line = `${JSON.stringify({'@type': 'v', '@class': 'V', '@id': 'a', id: 9})}\n`;
    await assert.rejects(client.batch('d', line), isRefusedForNow);
    assert.equal(await count(client), before, 'reads go on');
    disk.empty();
    await eventually('writes go on', () => insert(client, 3));
    await client.batch('d', line);
    assert.equal(await count(client), before + 2);
  } finally {
    client.close();
    await server.stop();
    rmSync(join(path, 'root'), {recursive: true});
  }
});

test('a disk that is full at once, in the middle of writes, loses nothing', {skip}, async t => {
  assert.ok(disk !== undefined);
  const {path} = disk;
  const root = join(path, 'root');
  const index = 'CREATE INDEX ON V (id) UNIQUE';
  let server = await startOn(root, ['CREATE VERTEX TYPE V', 'CREATE PROPERTY V.id LONG', index]);
  let client = server.client();
  const acknowledged = new Set<number>();
  let refused = 0;
  let next = 0;
  let running = true;
  const once = async () => {
    const id = next++;
    if (await insert(client, id, 20_000)) acknowledged.add(id);
    else refused++;
  };
  const write = async () => {
    while (running) await once();
  };
  try {
    const writers = Promise.all(Array.from({length: 8}, write));
    // Their failure is told where they are awaited, and hides none before.
    writers.catch(() => undefined);
    const told = (): string => `${acknowledged.size} acknowledged\n${server.log}`;
    await eventually('writers have begun', () => acknowledged.size > 200);
    disk.fill(0);
    // Commits under way wait for room; others are refused.
    const probes: Promise<void>[] = [];
    const probe = (): Promise<boolean> => {
      const probing = once();
      probing.catch(() => undefined);
      probes.push(probing);
      return Promise.resolve(refused > 0);
    };
    // The disk is looked at once a second: those before it hang, each in a connection of its own,
    // and the client has 64.
    await eventually('a write is refused', probe, {told, pollMillis: 50});
    assert.ok((await count(client)) > 0, 'reads go on');
    disk.empty();
    const before = acknowledged.size;
    await eventually('writes go on', () => acknowledged.size > before + 100, {told});
    running = false;
    await Promise.all([writers, ...probes]);
    t.diagnostic(`${acknowledged.size} acknowledged, ${refused} refused`);
    client.close();
    await server.kill();
    server = await startServer({root, port: await freePort(), settings});
    client = server.client();
    const stored = new Set<number>();
    for await (const row of client.queryStream('d', 'SELECT id FROM V', {limit: -1})) {
      stored.add(Number(row['id']));
    }
    const lost = [...acknowledged].filter(id => !stored.has(id));
    assert.deepEqual(lost, []);
    const [report] = (await client.command('d', 'CHECK DATABASE')).result;
    assert.equal(report?.['totalErrors'], 0);
  } finally {
    running = false;
    disk.empty();
    client.close();
    await server.stop();
  }
});
