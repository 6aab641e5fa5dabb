/**
 * Who gives way when memory for snapshots is full: the one not used for longest, never one's own.
 */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {CacheMemory} from './cache-memory.ts';

function memoryOf(bytesMax: number): {
  readonly memory: CacheMemory;
  readonly dropped: string[];
  hold(name: string, bytes: number, run: number): void;
} {
  const memory = new CacheMemory(() => bytesMax);
  const dropped: string[] = [];
  const items = new Map<string, {drop: () => void}>();
  return {
    memory,
    dropped,
    hold(name, bytes, run) {
      const item = items.get(name) ?? {drop: () => void dropped.push(name)};
      items.set(name, item);
      memory.hold(item, bytes, run);
    },
  };
}

test('the one not used for longest goes first, as many as are needed', () => {
  const {memory, dropped, hold} = memoryOf(100);
  const first = memory.beginRun();
  for (const name of ['a', 'b', 'c']) hold(name, 30, first);
  const second = memory.beginRun();
  hold('a', 30, second);
  assert.ok(memory.makeRoom(40, second));
  assert.deepEqual(dropped, ['b']);
  assert.ok(memory.makeRoom(60, second));
  assert.deepEqual(dropped, ['b', 'c']);
  assert.equal(memory.bytes, 30);
});

test('a run displaces nothing of its own, and what never fits nothing at all', () => {
  const {memory, dropped, hold} = memoryOf(100);
  const run = memory.beginRun();
  hold('a', 60, run);
  assert.ok(!memory.makeRoom(50, run));
  assert.ok(!memory.makeRoom(101, memory.beginRun()));
  assert.deepEqual(dropped, []);
  memory.dropAll();
  assert.deepEqual(dropped, ['a']);
  assert.equal(memory.bytes, 0);
});
