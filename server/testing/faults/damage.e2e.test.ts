/**
 * Flipped bits in the files of a stopped server, a part at a time: the start is refused by name, or
 * what needs the damaged bytes is refused by name while everything else goes on.
 */
import assert from 'node:assert/strict';
import {cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {ServerError} from '#server/client/server-error.ts';
import {freePort} from '../worlds/free-port.ts';
import {startServer, temporaryRoot} from '../worlds/server-process.ts';

const records = 400;
const base = temporaryRoot('damage');
after(() => rmSync(base, {recursive: true, force: true}));

/** A root with two databases, of a server that was stopped. */
const sound = (async () => {
  const root = join(base, 'sound');
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  for (const name of ['hurt', 'other']) {
    await client.createDatabase(name);
    await client.command(name, 'CREATE VERTEX TYPE V');
    const rows = Array.from({length: records}, (_, id) => `(${id}, '${'x'.repeat(500)}')`);
    await client.command(name, `INSERT INTO V (id, text) VALUES ${rows.join()}`);
  }
  client.close();
  assert.equal(await server.stop(), 0);
  return root;
})();

async function copyOf(name: string): Promise<string> {
  const root = join(base, name);
  cpSync(await sound, root, {recursive: true});
  return root;
}

/** Flips a bit in the middle of a file, or at a place of it. */
function flip(path: string, at = Math.floor(statSync(path).size / 2)): void {
  const bytes = readFileSync(path);
  bytes[at] = (bytes[at] ?? 0) ^ 4;
  writeFileSync(path, bytes);
}

function largest(directory: string, pattern: RegExp): string {
  const [path = ''] = readdirSync(directory)
    .filter(name => pattern.test(name))
    .map(name => join(directory, name))
    .sort((one, other) => statSync(other).size - statSync(one).size);
  return path;
}

test('a flipped bit in a sorted file fails the reads that need it, and no others', async () => {
  const root = await copyOf('sorted-file');
  flip(largest(join(root, 'databases/hurt'), /\.sst$/));
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  try {
    await assert.rejects(client.query('hurt', 'SELECT sum(id) AS n FROM V'), error => {
      assert.ok(error instanceof ServerError);
      assert.equal(error.status, 503);
      assert.equal(error.exceptionName, 'DatabaseNotAvailableException');
      assert.match(error.message, /checksum .*hurt.*\.sst.*CHECK DATABASE/s);
      return true;
    });
    const [report] = (await client.command('hurt', 'CHECK DATABASE')).result;
    const findings = JSON.stringify(report?.['findings']);
    assert.match(findings, /store-unreadable/);
    const {result} = await client.query('other', 'SELECT sum(id) AS n FROM V');
    assert.equal(result[0]?.['n'], (records * (records - 1)) / 2);
    await client.command('other', 'INSERT INTO V SET id = 1');
  } finally {
    client.close();
    assert.equal(await server.stop(), 0, 'it stops cleanly all the same');
  }
});

const refused: readonly [string, (root: string) => void, RegExp][] = [
  [
    'the store of the server',
    root => flip(join(root, 'raft-storage-svc_0/server/state')),
    /the server store .* is damaged/,
  ],
  [
    'the log: the header of a segment',
    root => flip(largest(join(root, 'raft-storage-svc_0/log'), /^segment/), 20),
    /the header of the log segment .* is damaged/,
  ],
];

for (const [what, damage, says] of refused) {
  test(`a flipped bit in ${what} refuses the start by name`, async () => {
    const root = await copyOf(what.replaceAll(/\W/g, '-'));
    damage(root);
    await assert.rejects(startServer({root, port: await freePort()}), says);
  });
}

test('a flipped bit in a manifest fences its database, and no other', async () => {
  const root = await copyOf('manifest');
  flip(largest(join(root, 'databases/hurt'), /^MANIFEST/));
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  try {
    await assert.rejects(client.query('hurt', 'SELECT FROM V'), error => {
      assert.ok(error instanceof ServerError);
      assert.equal(error.status, 503);
      assert.match(error.message, /hurt.*checksum.*restore it from a copy/s);
      return true;
    });
    await client.command('other', 'INSERT INTO V SET id = 1');
    // What is lost may be let go: then the name is free again.
    await client.dropDatabase('hurt');
    await client.createDatabase('hurt');
  } finally {
    client.close();
    assert.equal(await server.stop(), 0);
  }
});

test('the figures of the stores are in the answer of the server', async () => {
  const root = await copyOf('figures');
  const server = await startServer({root, port: await freePort()});
  const client = server.client();
  try {
    const {metrics} = (await client.serverInfo('default')) as {
      metrics: {profiler: Record<string, {space?: number; count?: number}>};
    };
    const {storageFiles, storageUncompacted, databasesMigrating, diskFreeSpace} = metrics.profiler;
    assert.ok((storageFiles?.space ?? 0) > records * 500, 'two databases of so many records');
    assert.equal(storageUncompacted?.space, 0);
    assert.equal(databasesMigrating?.count, 0);
    assert.ok((diskFreeSpace?.space ?? 0) > 0);
  } finally {
    client.close();
    await server.stop();
  }
});

test('a lock file that holds something is refused in words, an old one is not', async () => {
  const root = await copyOf('lock');
  writeFileSync(join(root, 'svc.lock'), '99999999\n');
  writeFileSync(join(root, '.server.lock'), 'nonsense');
  const port = await freePort();
  await assert.rejects(
    startServer({root, port}),
    /cannot be locked: .*it has to be an empty file/s,
  );
  writeFileSync(join(root, '.server.lock'), '');
  const server = await startServer({root, port});
  assert.equal(await server.stop(), 0);
});
