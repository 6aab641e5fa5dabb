/** Tests for whom the processor is kept awake. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {IdleSpin} from './idle-spin.ts';

/** Which of ten commits that come every `ms` keep the processor awake, and for how long. */
function kept(ms: number): number[] {
  let now = 1_000;
  const micros: number[] = [];
  const awake = new IdleSpin({now: () => now, monotonic: () => now}, span => micros.push(span));
  for (let commit = 0; commit < 10; commit++) {
    awake.commits();
    now += ms;
  }
  return micros;
}

test('it stays awake from one quick commit to the next', () => {
  assert.deepEqual(kept(0.25), Array(9).fill(500));
});

test('it goes to sleep where a commit takes longer than waking up counts', () => {
  assert.deepEqual(kept(1), []);
});
