/** Refusals that come late are told one behind the other. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {LateTurns} from './late-turns.ts';

test('those of one moment are kept apart, one that comes alone has its own delay', async () => {
  let now = 1_000;
  const told: number[] = [];
  const turns = new LateTurns({
    clock: {now: () => now, monotonic: () => now},
    timers: {
      after: (delayMs, task) => {
        told.push(now + delayMs);
        task();
        return () => {};
      },
      yield: () => Promise.resolve(),
    },
  });
  for (let count = 0; count < 3; count += 1) await turns.after(500);
  assert.deepEqual(told.splice(0), [1_500, 1_505, 1_510]);
  now = 1_012;
  await turns.after(500);
  assert.deepEqual(told.splice(0), [1_515], 'behind those that wait still');
  now = 2_000;
  await turns.after(500);
  assert.deepEqual(told, [2_500]);
});
