/**
 * The engine on a real disk with RocksDB, inline: what is committed is read, survives a stop of
 * any kind, and conflicts are found. Holds invariant T5.
 */
import assert from 'node:assert/strict';
import {cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {openDiskEngine} from '#server/simulation/disk-engine.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {closing} from '#server/testing/closing.ts';
import type {Engine} from './engine.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-engine-'));
after(() => rmSync(base, {recursive: true}));
let roots = 0;

function newRoot(): string {
  return join(base, `root${++roots}`);
}

async function open(rootPath: string, nodeName = 'one'): Promise<Engine> {
  return closing(await openDiskEngine({rootPath, nodeName}));
}

const bytes = (text: string) => Buffer.from(text, 'latin1');

async function put(engine: Engine, key: string, value: string): Promise<CommitOutcome> {
  const transaction = engine.database('db')?.begin('READ_COMMITTED');
  assert(transaction !== undefined);
  transaction.put(bytes(key), bytes(value));
  return transaction.commit();
}

function read(engine: Engine, key: string): string | undefined {
  const session = engine.database('db')?.read();
  const value = session?.get(bytes(key))?.toString('latin1');
  session?.close();
  return value;
}

test('commits are read at once and after a clean stop, with positions and documents', async () => {
  const root = newRoot();
  const engine = await open(root);
  await engine.createDatabase('db');
  const first = await put(engine, 'a', '1');
  assert.equal(first.kind, 'committed');
  assert.equal(read(engine, 'a'), '1');
  const transaction = engine.database('db')?.begin('READ_COMMITTED');
  assert.equal(transaction?.nextPosition(7), 0);
  assert.equal(transaction?.nextPosition(7), 1);
  transaction?.put(bytes('r'), bytes('x'));
  transaction?.count(7, 2);
  assert.equal((await transaction?.commit())?.kind, 'committed');
  await engine.putServerDocument('server-users.jsonl', bytes('{"name":"root"}\n'));
  await engine.close();

  const again = await open(root);
  assert.deepEqual(again.databases(), ['db']);
  assert.equal(read(again, 'a'), '1');
  assert.equal(again.database('db')?.recordCount(7), 2);
  assert.equal(again.database('db')?.nextPosition(7), 2);
  assert.equal(again.serverDocument('server-users.jsonl')?.version, 1);
  assert.equal(
    readFileSync(join(root, 'config/server-users.jsonl'), 'latin1'),
    '{"name":"root"}\n',
  );
  assert.ok(again.appliedIndex >= 3);
  await again.close();
});

test('a document that was refused gives back its own version and no other', async () => {
  const engine = await open(newRoot());
  const put = (text: Uint8Array) => engine.putServerDocument('users', text);
  // It is too large for the ring: beside it there is no room for another of that kind.
  const first = put(new Uint8Array(1 << 20));
  await assert.rejects(put(new Uint8Array(1 << 26)));
  const third = put(bytes('three'));
  assert.deepEqual([(await first).version, (await third).version], [1, 2]);
  assert.equal(engine.serverDocument('users')?.bytes.toString(), 'three');
  await engine.close();
});

test('a directory in the place of a document is refused by name and stops no member', async () => {
  const root = newRoot();
  const engine = await open(root);
  for (const name of ['backup.json', 'mcp-config.json', 'server-users.jsonl']) {
    const path = join(root, 'config', name);
    mkdirSync(path, {recursive: true});
    const put = (text: string) => engine.putServerDocument(name, bytes(text));
    await assert.rejects(put('{}'), new RegExp(`keeps ${name} in a file.*${path}.*move it away`));
    rmSync(path, {recursive: true});
    // One that comes while the entry is under way, as on a follower.
    const underWay = put('{"a":1}');
    mkdirSync(path);
    await underWay;
    assert.equal(engine.serverDocument(name)?.bytes.toString(), '{"a":1}');
    rmSync(path, {recursive: true});
  }
  await engine.close();
  const again = await open(root);
  assert.equal(readFileSync(join(root, 'config/backup.json'), 'latin1'), '{"a":1}');
  await again.close();
});

test('a copy taken while running opens with every acknowledged commit', async () => {
  const root = newRoot();
  const engine = await open(root);
  await engine.createDatabase('db');
  const outcomes = [];
  for (let number = 0; number < 200; number++)
    outcomes.push(put(engine, `k${number}`, `${number}`));
  await Promise.all(outcomes);
  const copy = newRoot();
  cpSync(root, copy, {recursive: true});
  await engine.close();

  const reopened = await open(copy);
  for (let number = 0; number < 200; number++)
    assert.equal(read(reopened, `k${number}`), `${number}`);
  await reopened.close();
});

test('databases/ alone is adopted by a new root, above the old positions', async () => {
  const root = newRoot();
  const engine = await open(root);
  await engine.createDatabase('db');
  await put(engine, 'a', '1');
  const {appliedIndex} = engine;
  await engine.close();
  rmSync(join(root, 'raft-storage-one'), {recursive: true});

  const adopted = await open(root, 'two');
  assert.equal(read(adopted, 'a'), '1');
  assert.ok(adopted.appliedIndex > appliedIndex);
  assert.equal((await put(adopted, 'b', '2')).kind, 'committed');
  await adopted.close();
});

test('a log of another node name with entries of its own refuses the start by name', async () => {
  const root = newRoot();
  const engine = await open(root);
  await engine.createDatabase('db');
  await put(engine, 'a', '1');
  const copy = newRoot();
  cpSync(root, copy, {recursive: true});
  await engine.close();
  await assert.rejects(open(copy, 'two'), /'one'/);
  const clean = await open(root, 'two');
  assert.equal(read(clean, 'a'), '1');
  await clean.close();
});

test('a dropped database is gone, and its name may be used again', async () => {
  const root = newRoot();
  const engine = await open(root);
  await engine.createDatabase('db');
  await put(engine, 'a', '1');
  await engine.dropDatabase('db');
  assert.deepEqual(engine.databases(), []);
  assert.ok(!existsSync(join(root, 'databases/db')));
  await engine.createDatabase('db');
  assert.equal(read(engine, 'a'), undefined);
  await engine.close();
});

test('the second of two transactions that saw the same version is a conflict', async () => {
  const engine = await open(newRoot());
  const database = await engine.createDatabase('db');
  await put(engine, 'a', '1');
  const [left, right] = [database.begin('REPEATABLE_READ'), database.begin('REPEATABLE_READ')];
  for (const transaction of [left, right]) {
    transaction.require({kind: 'unchanged', key: bytes('a')});
    transaction.put(bytes('a'), bytes('2'));
  }
  const [first, second] = await Promise.all([left.commit(), right.commit()]);
  assert.equal(first.kind, 'committed');
  assert.equal(second.kind, 'conflict');
  await engine.close();
});

test('a request id applies once, also after a restart', async () => {
  const root = newRoot();
  const engine = await open(root);
  const database = await engine.createDatabase('db');
  const send = (target: Engine) => {
    const transaction = target.database('db')?.begin('READ_COMMITTED');
    transaction?.put(bytes(`p${transaction.nextPosition(1)}`), bytes('x'));
    return transaction?.commit('request-1');
  };
  const [first, second] = await Promise.all([send(engine), send(engine)]);
  assert.equal(first?.kind, 'committed');
  const repeated = {...first, repeated: true};
  assert.deepEqual(second, repeated);
  await engine.close();
  assert.ok(database.fence !== undefined);
  const again = await open(root);
  assert.deepEqual(await send(again), repeated);
  await again.close();
});
