/**
 * A server that runs out of descriptors or of heap sheds load or ends, and a start finds every
 * acknowledged record.
 */
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {readdirSync} from 'node:fs';
import {connect, type Socket} from 'node:net';
import {after, test} from 'node:test';
import {setTimeout} from 'node:timers/promises';
import type {Client} from '#server/client/client.ts';
import {eventually} from '../time/eventually.ts';
import {freePort} from '../worlds/free-port.ts';
import {type ServerProcess, startServer, temporaryRoot} from '../worlds/server-process.ts';

/** The pause between two attempts where the first failed. */
const pauseMs = 20;

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

/** Inserts one record after another until it is ended. */
class Writer {
  /** Ids. */
  readonly acknowledged: number[] = [];
  /** Refused, cut or not known: not acknowledged in any case. */
  failed = 0;
  readonly #client: Client;
  readonly #ended: Promise<void>;
  #isOver = false;

  constructor(client: Client) {
    this.#client = client;
    this.#ended = this.#write();
  }

  get tried(): number {
    return this.acknowledged.length + this.failed;
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#ended;
  }

  async #write(): Promise<void> {
    for (let id = 0; !this.#isOver; id++) {
      const params = {id, text: 'x'.repeat(20_000)};
      try {
        await this.#client.command('d', 'INSERT INTO V SET id = :id, text = :text', {params});
        this.acknowledged.push(id);
      } catch {
        this.failed += 1;
        await setTimeout(pauseMs);
      }
    }
  }
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
  const writer = new Writer(client);
  const sockets: Socket[] = [];
  try {
    const open = readdirSync(`/proc/${server.pid}/fd`).length;
    execFileSync('prlimit', ['--pid', String(server.pid), `--nofile=${open + 4}`]);
    const port = Number(new URL(server.url).port);
    for (let at = 0; at < 50; at++) sockets.push(connect(port, '127.0.0.1'));
    for (const socket of sockets) socket.on('error', () => {});
    const before = writer.tried;
    const isExhausted = (): boolean => readdirSync(`/proc/${server.pid}/fd`).length >= open + 4;
    await eventually('a hundred writes are tried without a free descriptor, or it ends', () => {
      return server.hasEnded || (isExhausted() && writer.tried > before + 100);
    });
    for (const socket of sockets) socket.destroy();
    const {length} = writer.acknowledged;
    await eventually('it goes on, or has ended', () => {
      return server.hasEnded || writer.acknowledged.length > length + 20;
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    await writer.end();
    client.close();
  }
  t.diagnostic(`${writer.acknowledged.length} acknowledged, ${writer.failed} not`);
  await server.kill();
  await assertKept(root, writer.acknowledged);
});

test('a heap that is too small for the load costs no acknowledged record', async t => {
  const before = process.env['NODE_OPTIONS'];
  process.env['NODE_OPTIONS'] = `${before ?? ''} --max-old-space-size=48`;
  const {root, server} = await prepared('heap').finally(() => {
    if (before === undefined) delete process.env['NODE_OPTIONS'];
    else process.env['NODE_OPTIONS'] = before;
  });
  const client = server.client();
  const writer = new Writer(client);
  try {
    await eventually('it writes', () => writer.acknowledged.length > 0);
    const hungry = Array.from({length: 6}, async () => {
      const statement = 'UNWIND range(1, 3000000) AS r RETURN collect(r) AS all';
      await client.query('d', statement, {language: 'cypher'}).catch(() => undefined);
    });
    await Promise.all(hungry);
    const {length} = writer.acknowledged;
    await eventually('it goes on, or has ended', () => {
      return server.hasEnded || writer.acknowledged.length > length + 20;
    });
  } finally {
    await writer.end();
    client.close();
  }
  const exit = await server.kill();
  t.diagnostic(`${writer.acknowledged.length} acknowledged; the server ended with ${exit}`);
  assert.ok(writer.acknowledged.length > 0);
  await assertKept(root, writer.acknowledged);
});
