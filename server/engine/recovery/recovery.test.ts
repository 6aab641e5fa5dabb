/**
 * Starts that must not go on, or only without one database: copies, lost logs, edits by hand,
 * relaxed durability. Real disk and RocksDB. Holds invariant T7.
 */
import assert from 'node:assert/strict';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {openDiskEngine} from '#server/simulation/disk-engine.ts';
import type {CommitOutcome} from '#server/transactions/commit.ts';
import {closing} from '#server/testing/closing.ts';
import type {Engine} from '../engine.ts';

const base = mkdtempSync(join(tmpdir(), 'svc-recovery-'));
after(() => rmSync(base, {recursive: true}));
let roots = 0;

function newRoot(): string {
  return join(base, `root${++roots}`);
}

async function put(engine: Engine, name: string, key: string, bytes = 10): Promise<CommitOutcome> {
  const transaction = engine.database(name)?.begin('READ_COMMITTED');
  assert.ok(transaction !== undefined);
  transaction.put(Buffer.from(key), Buffer.alloc(bytes, 1));
  return await transaction.commit();
}

function has(engine: Engine, name: string, key: string): boolean {
  const session = engine.database(name)?.read();
  const found = session?.get(Buffer.from(key)) !== undefined;
  session?.close();
  return found;
}

function copy(from: string, to: string): void {
  rmSync(to, {recursive: true, force: true});
  cpSync(from, to, {recursive: true});
}

test('an older copy of one database catches up while the log holds what it lacks', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await put(engine, 'a', 'k1');
  await engine.close();
  copy(join(rootPath, 'databases/a'), join(base, 'old-a'));
  const second = closing(await openDiskEngine({rootPath}));
  await put(second, 'a', 'k2');
  await second.checkpoint();
  copy(rootPath, join(base, 'running'));
  await second.close();
  // As if killed after the checkpoint, then the database put back.
  copy(join(base, 'old-a'), join(base, 'running/databases/a'));
  const third = closing(await openDiskEngine({rootPath: join(base, 'running')}));
  assert.ok(has(third, 'a', 'k1') && has(third, 'a', 'k2'));
  await third.close();
});

test('a database that an interrupted snapshot install left is not served, others are', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await engine.createDatabase('b');
  await put(engine, 'a', 'k1');
  await engine.close();
  const mark = join(rootPath, 'databases/a/.snapshot-pending');
  writeFileSync(mark, '');
  const second = closing(await openDiskEngine({rootPath}));
  assert.throws(() => second.database('a'), /not available: interrupted snapshot install/);
  assert.equal(second.status('a'), 'fenced');
  assert.equal((await put(second, 'b', 'k1')).kind, 'committed');
  await second.close();
  rmSync(mark);
  const third = closing(await openDiskEngine({rootPath}));
  assert.ok(has(third, 'a', 'k1') && has(third, 'b', 'k1'));
  await third.close();
});

test('behind the first retained entry a database is fenced by name, others go on', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await engine.createDatabase('b');
  await put(engine, 'a', 'k1');
  await engine.close();
  copy(join(rootPath, 'databases/a'), join(base, 'older-a'));
  const second = closing(await openDiskEngine({rootPath}));
  for (let number = 0; number < 40; number++) await put(second, 'a', `fill${number}`, 200_000);
  await put(second, 'b', 'k1');
  await second.close();
  copy(join(base, 'older-a'), join(rootPath, 'databases/a'));
  const third = closing(await openDiskEngine({rootPath}));
  assert.equal(third.status('a'), 'fenced');
  assert.throws(() => third.database('a'), /entries \d+ to \d+ are missing/);
  assert.ok(has(third, 'b', 'k1'));
  assert.equal((await put(third, 'b', 'k2')).kind, 'committed');
  await third.close();
});

test('a database ahead of the end of the log refuses the start', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await engine.close();
  copy(join(rootPath, 'raft-storage-one'), join(base, 'old-log'));
  const second = closing(await openDiskEngine({rootPath}));
  await put(second, 'a', 'k1');
  await second.close();
  copy(join(base, 'old-log'), join(rootPath, 'raft-storage-one'));
  await assert.rejects(
    openDiskEngine({rootPath}),
    /database a holds entry \d+, but the log ends at/,
  );
});

test('a directory copied beside the others is attached under an id of its own', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await put(engine, 'a', 'k1');
  await engine.close();
  copy(join(rootPath, 'databases/a'), join(rootPath, 'databases/b'));
  const second = closing(await openDiskEngine({rootPath}));
  assert.deepEqual(second.databases(), ['a', 'b']);
  await put(second, 'b', 'only-b');
  assert.ok(has(second, 'b', 'k1') && has(second, 'b', 'only-b') && !has(second, 'a', 'only-b'));
  assert.notEqual(second.database('a')?.id, second.database('b')?.id);
  await second.close();
});

test('two directories that changed places refuse the start', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await engine.createDatabase('b');
  await engine.close();
  copy(join(rootPath, 'databases/b'), join(rootPath, 'databases/a'));
  await assert.rejects(openDiskEngine({rootPath}), /is not the database that this server knows/);
});

test('a removed raft storage is made anew above all positions, nothing is lost', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await put(engine, 'a', 'k1');
  await engine.putServerDocument('server-users.jsonl', Buffer.from('{"name":"root"}\n'));
  const {appliedIndex} = engine;
  await engine.close();
  rmSync(join(rootPath, 'raft-storage-one/log'), {recursive: true});
  const second = closing(await openDiskEngine({rootPath}));
  assert.ok(has(second, 'a', 'k1'));
  const outcome = await put(second, 'a', 'k2');
  assert.ok(outcome.kind === 'committed' && outcome.index > appliedIndex);
  await second.close();
  const third = closing(await openDiskEngine({rootPath}));
  assert.ok(has(third, 'a', 'k2'));
  assert.equal(third.serverDocument('server-users.jsonl')?.version, 1);
  await third.close();
});

test('an edit by hand of a server document becomes an entry at the next start', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.putServerDocument('server-users.jsonl', Buffer.from('one'));
  await engine.close();
  const file = join(rootPath, 'config/server-users.jsonl');
  writeFileSync(file, 'two');
  const second = closing(await openDiskEngine({rootPath}));
  const document = second.serverDocument('server-users.jsonl');
  assert.deepEqual([document?.version, document?.bytes.toString()], [2, 'two']);
  await assert.rejects(
    second.putServerDocument('server-users.jsonl', Buffer.from('x'), 1),
    /changed/,
  );
  await second.close();
  rmSync(file);
  const third = closing(await openDiskEngine({rootPath}));
  assert.equal(readFileSync(file, 'utf8'), 'two');
  await third.close();
});

test('with relaxed durability a log that lost its end is padded, never reused', async () => {
  const rootPath = newRoot();
  const settings = {walFlush: 1 as const};
  const engine = closing(await openDiskEngine({rootPath, settings}));
  await engine.createDatabase('a');
  await put(engine, 'a', 'k1');
  // A power loss that kept the store's log and lost the end of ours.
  copy(join(rootPath, 'raft-storage-one'), join(base, 'short-log'));
  const lost = await put(engine, 'a', 'k2');
  assert.ok(has(engine, 'a', 'k2'), 'who looks has it written into the store');
  const running = newRoot();
  copy(rootPath, running);
  await engine.close();
  copy(join(base, 'short-log'), join(running, 'raft-storage-one'));
  const events: string[] = [];
  const second = closing(
    await openDiskEngine({
      rootPath: running,
      settings,
      onEvent: event => events.push(event),
    }),
  );
  assert.ok(events.includes('log.entries-lost'));
  assert.ok(has(second, 'a', 'k1') && has(second, 'a', 'k2'));
  const next = await put(second, 'a', 'k3');
  assert.ok(next.kind === 'committed' && lost.kind === 'committed' && next.index > lost.index);
  await second.close();
  const third = closing(await openDiskEngine({rootPath: running, settings}));
  assert.equal(third.status('a'), 'open');
  await third.close();
});

test('remains of an interrupted create or drop are swept away', async () => {
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await engine.close();
  copy(join(rootPath, 'databases/a'), join(rootPath, 'databases/.creating-9'));
  const second = closing(await openDiskEngine({rootPath}));
  assert.ok(!existsSync(join(rootPath, 'databases/.creating-9')));
  assert.deepEqual(readdirSync(join(rootPath, 'databases')), ['a']);
  await second.close();
});

test('a server of another name on the root, and the first again, go on with the data', async () => {
  const rootPath = newRoot();
  const told: string[] = [];
  const start = async (nodeName: string): Promise<Engine> => {
    told.length = 0;
    return closing(await openDiskEngine({rootPath, nodeName, onEvent: event => told.push(event)}));
  };
  const first = await start('na');
  await first.createDatabase('a');
  for (const key of ['k1', 'k2', 'k3']) await put(first, 'a', key);
  await first.close();
  const second = await start('nb');
  assert.ok(told.includes('root.of-another-node'));
  assert.ok(has(second, 'a', 'k3'));
  await put(second, 'a', 'of-nb');
  await second.close();
  const third = await start('na');
  assert.ok(told.includes('database.of-another-server'));
  assert.ok(has(third, 'a', 'k1') && has(third, 'a', 'of-nb'));
  await put(third, 'a', 'k4');
  await third.close();
  for (const name of ['na', 'nb', 'nb', 'na']) {
    const again = await start(name);
    assert.equal(again.status('a'), 'open');
    for (const key of ['k1', 'of-nb', 'k4']) assert.ok(has(again, 'a', key), `${name}: ${key}`);
    assert.equal((await put(again, 'a', name)).kind, 'committed');
    await again.close();
  }
});

test('a copy of another server is not mixed with what only the log holds', async () => {
  const other = closing(await openDiskEngine({rootPath: join(base, 'other'), nodeName: 'other'}));
  await other.createDatabase('a');
  for (let number = 0; number < 9; number++) await put(other, 'a', `other${number}`);
  await other.close();
  const rootPath = newRoot();
  const engine = closing(await openDiskEngine({rootPath}));
  await engine.createDatabase('a');
  await put(engine, 'a', 'k1');
  copy(rootPath, join(base, 'killed'));
  await engine.close();
  copy(join(base, 'other/databases/a'), join(base, 'killed/databases/a'));
  const again = closing(await openDiskEngine({rootPath: join(base, 'killed')}));
  assert.equal(again.status('a'), 'fenced');
  assert.throws(() => again.database('a'), /written by another server.*put back the directory/);
  await again.close();
});
