/** Delays grow by their factor to their bound, and jitter stays within what it promises. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {type Chance, jitteredDelayMs, retryDelayMs} from './retry-delay.ts';

const delays = (policy: Parameters<typeof retryDelayMs>[0], count: number): readonly number[] =>
  Array.from({length: count}, (_, failures) => retryDelayMs(policy, failures));

test('a delay doubles, or grows by its factor, up to its bound', () => {
  assert.deepEqual(delays({firstMs: 5, mostMs: 50}, 6), [5, 10, 20, 40, 50, 50]);
  assert.deepEqual(delays({firstMs: 1, mostMs: 1_000, factor: 10}, 5), [1, 10, 100, 1_000, 1_000]);
  assert.deepEqual(delays({firstMs: 7, mostMs: 7}, 2), [7, 7]);
});

test('any number of failures has a delay', () => {
  for (const failures of [1_023, 1_024, 1e6, Number.MAX_SAFE_INTEGER]) {
    assert.equal(retryDelayMs({firstMs: 10_000, mostMs: 600_000}, failures), 600_000);
  }
});

test('full jitter lies from nothing to the delay, the other one around it', () => {
  const policy = {firstMs: 8, mostMs: 100};
  const told = (word: number, jitter: 'full' | 'around'): number => {
    const random: Chance = {u32: () => word};
    return jitteredDelayMs(policy, 1, {jitter, random});
  };
  assert.deepEqual([told(0, 'full'), told(2 ** 31, 'full')], [0, 8]);
  assert.deepEqual([told(0, 'around'), told(2 ** 31, 'around')], [8, 16]);
  const most = 2 ** 32 - 1;
  assert.ok(told(most, 'full') < 16 && told(most, 'full') > 15.9);
  assert.ok(told(most, 'around') < 24 && told(most, 'around') > 23.9);
});
