/**
 * A server that runs out of descriptors or of heap sheds load or ends, and a start finds every
 * acknowledged record.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readdirSync} from 'node:fs';
import {connect, type Socket} from 'node:net';
import {after, test} from 'node:test';
import type {Client} from '#server/client/client.ts';
import {
  freePort,
  type ServerProcess,
  startServer,
  temporaryRoot,
} from '../worlds/server-process.ts';

const roots: ServerProcess[] = [];
after(async () => {
  for (const server of roots) await server.dispose();
});

async function start(root: string): Promise<ServerProcess> {
  const settings = {'svc.ha.logSegmentSize': '1MB', 'svc.storage.writeBufferSize': '1MB'};
  const server = await startServer({root, port: await freePort(), settings});
  roots.push(server);
  return server;
}

/** Inserts until told to stop; the ids that were acknowledged. */
async function writeAll(client: Client, isOver: () => boolean): Promise<number[]> {
  const acknowledged: number[] = [];
  for (let id = 0; !isOver(); id++) {
    const params = {id, text: 'x'.repeat(20_000)};
    try {
      await client.command('d', 'INSERT INTO V SET id = :id, text = :text', {params});
      acknowledged.push(id);
    } catch {
      // Refused, cut or not known: not acknowledged in any case.
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  }
  return acknowledged;
}

async function assertKept(root: string, acknowledged: readonly number[]): Promise<void> {
  const server = await start(root);
  const client = server.client();
  const stored = new Set<number>();
  for await (const row of client.queryStream('d', 'SELECT id FROM V', {limit: -1})) {
    stored.add(Number(row['id']));
  }
  client.close();
  assert.deepEqual(
    acknowledged.filter(id => !stored.has(id)),
    [],
  );
}

async function prepared(name: string): Promise<{root: string; server: ServerProcess}> {
  const root = temporaryRoot(name);
  const server = await start(root);
  const client = server.client();
  await client.createDatabase('d');
  await client.command('d', 'CREATE VERTEX TYPE V');
  client.close();
  return {root, server};
}

test('without free descriptors nothing acknowledged is lost', async t => {
  const {root, server} = await prepared('descriptors');
  const client = server.client();
  let isOver = false;
  const writing = writeAll(client, () => isOver);
  const open = readdirSync(`/proc/${server.pid}/fd`).length;
  execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${open + 4}`]);
  const port = Number(new URL(server.url).port);
  const sockets: Socket[] = Array.from({length: 50}, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => {});
  await new Promise(resolve => setTimeout(resolve, 3_000));
  for (const socket of sockets) socket.destroy();
  await new Promise(resolve => setTimeout(resolve, 1_000));
  isOver = true;
  const acknowledged = await writing;
  client.close();
  t.diagnostic(`${acknowledged.length} acknowledged`);
  assert.ok(acknowledged.length > 0);
  await server.kill();
  await assertKept(root, acknowledged);
});

test('a heap that is too small for the load costs no acknowledged record', async t => {
  const before = process.env['NODE_OPTIONS'];
  process.env['NODE_OPTIONS'] = `${before ?? ''} --max-old-space-size=48`;
  const {root, server} = await prepared('heap').finally(() => {
    if (before === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = before;
  });
  const client = server.client();
  let isOver = false;
  const writing = writeAll(client, () => isOver);
  const hungry = Array.from({length: 6}, async () => {
    const statement = 'SELECT list(r) AS all FROM (SELECT expand(range(1, 3000000)) AS r)';
    await client.query('d', statement).catch(() => undefined);
  });
  await Promise.all(hungry);
  await new Promise(resolve => setTimeout(resolve, 1_000));
  isOver = true;
  const acknowledged = await writing;
  client.close();
  const exit = await server.kill();
  t.diagnostic(`${acknowledged.length} acknowledged; the server ended with ${exit}`);
  assert.ok(acknowledged.length > 0);
  await assertKept(root, acknowledged);
});
