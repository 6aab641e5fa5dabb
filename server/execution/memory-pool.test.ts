/** When what is kept, or the heap, is so full that the next statement waits for its turn. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Refusal} from '#server/base/errors.ts';
import {MemoryPool} from './budget.ts';

const megabyte = 1 << 20;

test('the heap counts from a refusal on, until there is room again', () => {
  const machine = {
    processors: 2,
    heapBytes: 190 * megabyte,
    heapBytesMax: 216 * megabyte,
    collectGarbage: () => {},
  };
  const pool = new MemoryPool(() => 72 * megabyte, machine);
  // It may be garbage alone.
  assert.equal(pool.isShort(0.8), false);
  assert.throws(
    () => pool.checkHeap(),
    (error: Refusal) => error.code === 'query.memory-total',
  );
  assert.equal(pool.isShort(0.8), true);
  machine.heapBytes = 130 * megabyte;
  assert.equal(pool.isShort(0.8), true);
  machine.heapBytes = 100 * megabyte;
  assert.equal(pool.isShort(0.8), false);
  machine.heapBytes = 130 * megabyte;
  assert.equal(pool.isShort(0.8), false);
});

test('what is kept counts always', () => {
  const machine = {processors: 2, heapBytes: 0, heapBytesMax: 1e9, collectGarbage: () => {}};
  const pool = new MemoryPool(() => 10 * megabyte, machine);
  pool.keep(9 * megabyte);
  assert.equal(pool.isShort(0.8), true);
  pool.release(2 * megabyte);
  assert.equal(pool.isShort(0.8), false);
});

test('near the end of the container what keeps more is refused, however small the heap', () => {
  const small = {
    processors: 2,
    heapBytes: 50 * megabyte,
    heapBytesMax: 192 * megabyte,
    isNearLimit: true,
    collectGarbage: () => {},
  };
  const pool = new MemoryPool(() => 64 * megabyte, small);
  pool.keep(megabyte / 2);
  assert.throws(() => pool.keep(megabyte), {code: 'query.memory-total'});
  assert.ok(pool.isShort(0.9), 'others wait meanwhile');
  small.isNearLimit = false;
  assert.ok(!pool.isShort(0.9));
  pool.keep(megabyte);
});
