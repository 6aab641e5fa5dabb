/**
 * What the disk holds follows what the store holds: room of deleted rows comes back by itself, and
 * the settings of memory and background work are those that RocksDB works with.
 */
import assert from 'node:assert/strict';
import {mkdtempSync, readdirSync, rmSync, statSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {after, test} from 'node:test';
import {eventually} from '#server/testing/time/eventually.ts';
import {closing} from '#server/testing/closing.ts';
import {createPackedRows} from '../packed-rows.ts';
import type {WriteBatch, Store} from '../store.ts';
import {openStore} from './open.ts';
import {rocksOption} from './testing-options.ts';

const root = mkdtempSync(join(tmpdir(), 'svc-disk-use-'));
after(() => rmSync(root, {recursive: true}));
const rows = 60_000;

function keyOf(row: number): Buffer {
  return Buffer.from(`row ${String(row).padStart(8, '0')}`);
}

function inBatches(
  store: Store,
  step: number,
  add: (batch: WriteBatch, row: number) => void,
): void {
  const batch = store.batch();
  for (let row = 0; row < rows; row += step) {
    add(batch, row);
    if (batch.operationCount < 1000) continue;
    store.write(batch);
    batch.clear();
  }
  if (batch.operationCount > 0) store.write(batch);
}

/** Bytes of the sorted files in the directory. */
function fileBytes(path: string): number {
  return readdirSync(path)
    .filter(name => name.endsWith('.sst'))
    .reduce(
      (sum, name) => sum + (statSync(join(path, name), {throwIfNoEntry: false})?.size ?? 0),
      0,
    );
}

const deletions: readonly [string, (store: Store) => void][] = [
  ['rows one by one', store => inBatches(store, 1, (batch, row) => batch.delete(keyOf(row)))],
  [
    'a range',
    store => {
      const batch = store.batch();
      batch.deleteRange(keyOf(0), keyOf(rows));
      store.write(batch);
    },
  ],
];

for (const [what, remove] of deletions) {
  test(`room comes back by itself after deleting ${what}`, async () => {
    const path = join(root, what);
    const store = closing(await openStore(path, {engine: 'native'}));
    const value = Buffer.alloc(200, 7);
    inBatches(store, 1, (batch, row) => batch.put(keyOf(row), value));
    store.makeDurable();
    store.compact();
    const before = fileBytes(path);
    assert.ok(before > rows * 200);
    remove(store);
    const told = (): string => `${fileBytes(path)} bytes of ${before}`;
    await eventually('two thirds are free', () => fileBytes(path) <= before / 3, {told});
    assert.equal(store.get(keyOf(5)), undefined);
    store.close();
  });
}

test('much that is written is merged late, until the store rests', async () => {
  const path = join(root, 'late');
  const store = closing(await openStore(path, {engine: 'native', memtableBytes: 64 << 10}));
  const mergedAt = () => rocksOption(path, 'level0_file_num_compaction_trigger');
  assert.equal(mergedAt(), '4');
  await eventually('memtables follow each other fast', () => {
    inBatches(store, 1, (batch, row) => batch.put(keyOf(row), Buffer.alloc(200, 7)));
    return mergedAt() === '36';
  });
  store.rest();
  assert.equal(mergedAt(), '4');
  assert.equal(store.get(keyOf(5))?.length, 200);
  store.close();
});

test('a store that rests keeps no full memtable', async () => {
  const options = {engine: 'native', memtableBytes: 4 << 20} as const;
  const store = closing(await openStore(join(root, 'rests'), options));
  const held = () => store.properties().memtableBytes;
  const batch = store.batch();
  for (let row = 0; row < 100; row++) batch.put(keyOf(row), Buffer.alloc(1000, 7));
  store.write(batch);
  const few = held();
  store.rest();
  assert.ok(held() >= few, 'a few rows stay');
  for (let count = 0; count < 20; count++) store.write(batch);
  const many = held();
  store.rest();
  await eventually('many rows are a file', () => held() < many / 4, {told: () => `${held()}`});
  assert.equal(store.get(keyOf(5))?.length, 1000);
  store.write(batch);
  store.close();
});

test('a write at once leaves to others what takes long', async () => {
  const path = join(root, 'at once');
  const store = closing(await openStore(path, {engine: 'native', memtableBytes: 64 << 10}));
  const batch = store.batch();
  let row = 0;
  const writesOne = (): boolean => {
    batch.clear();
    batch.put(keyOf(row), Buffer.alloc(1000, 7));
    const isTaken = store.takesAtOnce(batch);
    const isDone = store.writeAtOnce(batch);
    assert.equal(isDone, isTaken);
    if (isDone) row += 1;
    return isDone;
  };
  for (let round = 0; round < 3; round++) {
    while (writesOne());
    assert.ok(row > 20 * (round + 1) && row < 65 * (round + 1), `${row} rows fill a memtable`);
    assert.equal(store.get(keyOf(row)), undefined);
    store.write(batch);
    row += 1;
  }
  batch.clear();
  batch.deleteRange(keyOf(0), keyOf(5));
  assert.equal(store.takesAtOnce(batch), false);
  assert.equal(store.writeAtOnce(batch), false);
  batch.clear();
  batch.delete(keyOf(7));
  assert.equal(store.writeAtOnce(batch), true);
  const found = [0, 6, 7, row - 1].map(number => store.get(keyOf(number)) !== undefined);
  assert.deepEqual(found, [true, true, false, true]);
  store.close();
});

test('settings of the store reach RocksDB', async () => {
  const path = join(root, 'settings');
  const options = {engine: 'native', memtableBytes: 3 << 20, backgroundJobs: 5} as const;
  const store = closing(await openStore(path, options));
  // The store changes its memtable itself, at half of what it tells RocksDB.
  assert.equal(rocksOption(path, 'write_buffer_size'), `${6 << 20}`);
  assert.equal(rocksOption(path, 'max_background_jobs'), '5');
  const batch = store.batch();
  for (let row = 0; row < 1000; row++) batch.put(keyOf(row), Buffer.alloc(1000));
  for (let count = 0; count < 5; count++) store.write(batch);
  const {memtableBytes} = store.properties();
  assert.ok(memtableBytes < 8 << 20, `${memtableBytes} bytes of memtables`);
  store.close();
});

test('a scan of once leaves the cache as it is', async () => {
  const store = closing(await openStore(join(root, 'once'), {engine: 'native'}));
  const value = Buffer.alloc(200, 7);
  inBatches(store, 1, (batch, row) => batch.put(keyOf(row), value));
  store.makeDurable();
  const cachedBy = (once: boolean): number => {
    const before = store.properties().blockCacheBytes;
    const scanner = store.scan([{start: keyOf(0)}], {once});
    const into = createPackedRows(64 << 10);
    let seen = 0;
    do seen += scanner.next(into).rowCount;
    while (!into.done);
    scanner.close();
    assert.equal(seen, rows);
    return store.properties().blockCacheBytes - before;
  };
  const once = cachedBy(true);
  const usual = cachedBy(false);
  assert.ok(usual > rows * value.length, `${usual} bytes of blocks are kept`);
  assert.ok(once < usual / 10, `${once} of them behind a scan of once`);
  store.close();
});
