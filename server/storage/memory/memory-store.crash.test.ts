/**
 * The twin's power losses: what was promised survives, what was not may be lost only from the end,
 * and the whole range of outcomes does occur.
 * Holds invariant D1.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {createSeeded} from '#server/testing/property/random-history.ts';
import type {Store} from '../store.ts';
import {createMemoryStore, type MemoryStorePoint} from './memory-store.ts';
import {InMemoryDisk} from './shelf.ts';

test('a power loss keeps a prefix of the batches since the last durable point', () => {
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 60; seed++) {
    const store = createMemoryStore();
    put(store, 'a');
    put(store, 'b', true);
    put(store, 'c');
    store.makeDurable();
    for (const key of ['d', 'e', 'f']) put(store, key);
    store.crash(createSeeded(seed));
    assert.throws(() => store.get(Buffer.from('a')), /closed/);
    outcomes.add(keysOf(store.reopen()));
  }
  assert.deepEqual([...outcomes].sort(), ['abc', 'abcd', 'abcde', 'abcdef']);
});

test('a power loss inside a call leaves what the call had not promised yet open', () => {
  const outcomes: Record<MemoryStorePoint, Set<string>> = {
    write: new Set(),
    sync: new Set(),
    checkpoint: new Set(),
  };
  for (let seed = 1; seed <= 40; seed++) {
    for (const struck of ['write', 'sync', 'checkpoint'] as const) {
      const shelf = new InMemoryDisk();
      let armed = false;
      const store = createMemoryStore({
        shelf,
        onPoint: point => {
          if (armed && point === struck) throw new Error('power loss');
        },
      });
      put(store, 'a', true);
      armed = true;
      assert.throws(() => {
        put(store, 'b');
        store.checkpoint('/copy');
        put(store, 'd', true);
      }, /power loss/);
      shelf.crash(createSeeded(seed));
      outcomes[struck].add(keysOf(createMemoryStore({shelf, mustExist: true})));
      assert.equal(shelf.exists('/copy'), struck === 'sync');
    }
  }
  const listed = (point: MemoryStorePoint) => [...outcomes[point]].sort().join(' ');
  assert.equal(listed('write'), 'a ab');
  assert.equal(listed('checkpoint'), 'a ab');
  assert.equal(listed('sync'), 'a ab abd');
});

test('a killed process loses nothing, and what it left is durable after reopening', () => {
  const store = createMemoryStore();
  put(store, 'a');
  store.kill();
  const again = store.reopen();
  again.crash(createSeeded(3));
  assert.equal(keysOf(again.reopen()), 'a');
});

test('a checkpoint survives on its own', () => {
  const shelf = new InMemoryDisk();
  const store = createMemoryStore({shelf, path: '/source'});
  put(store, 'a');
  store.checkpoint('/copy');
  shelf.crash({u32: () => 0, fill: () => {}});
  assert.equal(keysOf(createMemoryStore({shelf, path: '/copy', mustExist: true})), 'a');
  assert.equal(keysOf(createMemoryStore({shelf, path: '/source', mustExist: true})), '');
});

function put(store: Store, key: string, sync = false): void {
  const batch = store.batch();
  batch.put(Buffer.from(key), Buffer.from('value'));
  store.write(batch, {sync});
}

function keysOf(store: Store): string {
  const into = {buffer: Buffer.alloc(4096), byteLength: 0, rowCount: 0, done: false};
  store.scan([{start: Buffer.alloc(0)}], {keysOnly: true}).next(into);
  let keys = '';
  for (let offset = 0; offset < into.byteLength; offset += 9)
    keys += String.fromCharCode(into.buffer[offset + 8] ?? 0);
  return keys;
}
