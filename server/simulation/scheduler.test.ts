/** Simulated time passes, in the order of the tasks, and is seen to stand still. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Machine} from './machine.ts';
import {Scheduler} from './scheduler.ts';
import {createSeededRandom} from './seeded-random.ts';

function newScheduler(): Scheduler {
  return new Scheduler(createSeededRandom(1), new Machine());
}

test('tasks run in the order of their times, whatever order they came in', async () => {
  const scheduler = newScheduler();
  const random = createSeededRandom(2);
  const seen: number[] = [];
  for (let count = 0; count < 1_000; count++) {
    const at = random.u32() % 500;
    scheduler.after(at, 'task', () => seen.push(at));
  }
  await scheduler.run(() => false);
  assert.deepEqual(
    seen,
    seen.toSorted((left, right) => left - right),
  );
  assert.equal(scheduler.nowMs, seen.at(-1));
});

test('a world in which time passes goes on for as long as it is wanted', () => {
  const scheduler = newScheduler();
  const again = (): void => scheduler.after(0.001, 'step', again);
  again();
  for (let count = 0; count < 1_200_000; count++) assert.ok(scheduler.runNext());
});

test('a world that stands still ends by the name of what it does', () => {
  const scheduler = newScheduler();
  const again = (): void => scheduler.after(0, 'asks again', again);
  again();
  assert.throws(() => {
    while (scheduler.runNext());
  }, /stands still at 0 ms, the next task is 'asks again'/);
});
