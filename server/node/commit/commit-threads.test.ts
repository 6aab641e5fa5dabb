/**
 * The threaded commit path on a real disk: what many clients commit at once is there, in order,
 * also after a restart; entries larger than the ring pass through too. Holds invariant T8.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {setImmediate as turn} from 'node:timers/promises';
import {openStore, type RocksStoreOptions} from '#server/storage/rocksdb/open.ts';
import {rocksOption} from '#server/storage/rocksdb/testing-options.ts';
import {eventually} from '#server/testing/time/eventually.ts';
import {closing} from '#server/testing/closing.ts';
import {type CommitThreads, startCommitThreads} from './commit-threads.ts';
import {openThreadedEngine} from './testing-engine.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-threads-'));
after(() => rmSync(root, {recursive: true}));

const open = (threads: CommitThreads, directory = 'data', options: RocksStoreOptions = {}) =>
  openThreadedEngine(join(root, directory), threads, options);

const key = (number: number) => Buffer.from(`k${String(number).padStart(6, '0')}`);

test('many clients commit through threads; a restart finds everything', async () => {
  const engine = closing(await open(startCommitThreads({ringBytes: 256 << 10})));
  const database = await engine.createDatabase('db');
  let next = 0;
  let refused = 0;
  const client = async () => {
    while (next < 4000) {
      const number = next++;
      const transaction = database.begin('READ_COMMITTED');
      // Every hundredth is too large for the ring.
      transaction.put(key(number), Buffer.alloc(number % 100 === 0 ? 100_000 : 100, number));
      const outcome = await transaction.commit();
      if (outcome.kind === 'refused') refused++;
      else assert.equal(outcome.kind, 'committed');
    }
  };
  await Promise.all(Array.from({length: 32}, client));
  const other = await engine.createDatabase('other');
  assert.equal(other.begin('READ_COMMITTED').hasWrites, false);
  await engine.dropDatabase('other');
  await engine.close();

  const again = closing(await open(startCommitThreads()));
  const session = again.database('db')?.read();
  let found = 0;
  for (let number = 0; number < 4000; number++) {
    const value = session?.get(key(number));
    if (value === undefined) continue;
    found++;
    assert.equal(value[0], number & 0xff);
  }
  assert.equal(found + refused, 4000);
  session?.close();
  await again.close();
});

test('new databases, checkpoints and large entries lose nothing between threads', async () => {
  const engine = closing(await open(startCommitThreads({ringBytes: 64 << 10}), 'busy'));
  const written = new Map<string, number>();
  const write = async (name: string, count: number) => {
    const database = await engine.createDatabase(name);
    for (let number = 0; number < count; ) {
      const transaction = database.begin('READ_COMMITTED');
      transaction.put(key(number), Buffer.alloc(number % 20 === 0 ? 30_000 : 300, number));
      const outcome = await transaction.commit();
      if (outcome.kind === 'refused' && outcome.code === 'queue-full') continue;
      assert.equal(outcome.kind, 'committed');
      written.set(name, ++number);
    }
  };
  const names = Array.from({length: 8}, (_, number) => `db${number}`);
  const writers = names.map(name => write(name, 150));
  let running = true;
  const checkpoints = (async () => {
    while (running) {
      await engine.checkpoint();
      await turn();
    }
  })();
  await Promise.all(writers);
  running = false;
  await checkpoints;
  await engine.close();

  const again = closing(await open(startCommitThreads(), 'busy'));
  assert.deepEqual(again.databases(), names);
  for (const name of names) {
    const session = again.database(name)?.read();
    for (let number = 0; number < (written.get(name) ?? 0); number++) {
      assert.equal(session?.get(key(number))?.[0], number & 0xff, `${name} ${number}`);
    }
    session?.close();
  }
  await again.close();
});

test('what is read before its application is reported is behind no bookmark', async () => {
  const engine = closing(await open(startCommitThreads(), 'shown'));
  const database = await engine.createDatabase('db');
  for (let number = 0; number < 40; number++) {
    const before = engine.appliedIndex;
    const transaction = database.begin('READ_COMMITTED');
    // Every other one is for the apply thread: it can be read before that has been heard of.
    transaction.put(key(number), Buffer.alloc(number % 2 === 0 ? 100 : 300_000, number));
    const committed = transaction.commit();
    for (let isShown = false; !isShown; ) {
      await turn();
      const snapshot = database.read();
      isShown = snapshot.get(key(number)) !== undefined;
      snapshot.close();
    }
    assert.ok(engine.readableIndex > before, 'the bookmark covers what was read');
    const outcome = await committed;
    assert.ok(outcome.kind === 'committed' && outcome.index <= engine.readableIndex);
  }
  assert.equal(engine.readableIndex, engine.appliedIndex, 'nothing is under way');
  await engine.close();
});

test('a copy of a database is one state of it, while clients commit', async () => {
  const engine = closing(await open(startCommitThreads(), 'copied'));
  const database = await engine.createDatabase('db');
  let running = true;
  let committed = 0;
  // Both keys of a client always hold the same number.
  const client = async (name: string) => {
    for (let number = 1; running; number += 1) {
      const transaction = database.begin('READ_COMMITTED');
      transaction.put(Buffer.from(`a${name}`), Buffer.from(`${number}`));
      transaction.put(Buffer.from(`z${name}`), Buffer.from(`${number}`));
      assert.equal((await transaction.commit()).kind, 'committed');
      committed += 1;
    }
  };
  const names = Array.from({length: 8}, (_, number) => `${number}`);
  const clients = names.map(client);
  const directories = [1, 2, 3].map(number => join(root, `copy${number}`));
  for (const directory of directories) {
    const before = engine.appliedIndex;
    const committedBefore = committed;
    const index = await engine.copyDatabase('db', directory);
    assert.ok(index >= before, 'the copy holds what was committed before it was asked for');
    assert.ok(committed > committedBefore || committed === 0, 'and commits went on');
  }
  await assert.rejects(engine.copyDatabase('db', directories[0] ?? ''), /cannot be copied/);
  await assert.rejects(engine.copyDatabase('none', join(root, 'copy4')), /no database/);
  running = false;
  await Promise.all(clients);
  await engine.close();
  for (const directory of directories) {
    const copy = closing(await openStore(directory, {mustExist: true}));
    for (const name of names) {
      const [a, z] = ['a', 'z'].map(part => copy.get(Buffer.from(part + name))?.toString());
      assert.equal(a, z);
    }
    copy.close();
  }
});

test('stores that gathered files under load merge them when nothing comes any more', async () => {
  const engine = closing(
    await open(startCommitThreads(), 'idle', {
      engine: 'native',
      memtableBytes: 64 << 10,
    }),
  );
  const database = await engine.createDatabase('db');
  const path = join(root, 'idle/databases/db');
  const mergedAt = () => rocksOption(path, 'level0_file_num_compaction_trigger');
  for (let number = 0; mergedAt() !== '36'; number++) {
    const transaction = database.begin('READ_COMMITTED');
    transaction.put(key(number), Buffer.alloc(20_000, number));
    assert.equal((await transaction.commit()).kind, 'committed');
  }
  await eventually('few files are enough again', () => mergedAt() === '4');
  await engine.close();
});
