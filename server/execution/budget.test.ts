/** How long a run holds the network thread: five milliseconds at first, one when it is long. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {SteppingClock} from '#server/testing/time/stepping-clock.ts';
import {Budget, sliceMs} from './budget.ts';
import {ThreadNeeded} from './missing-prerequisites.ts';

test('H3: the slices of a long run are short, those of a short one are not', () => {
  const clock = new SteppingClock();
  const budget = new Budget(clock, {});
  clock.stepMs = 0.25;
  const lengths = Array.from({length: 30}, () => {
    let looks = 1;
    while (!budget.look()) looks += 1;
    budget.resume();
    return looks * clock.stepMs;
  });
  assert.ok(
    lengths.slice(0, 10).every(length => length >= sliceMs - 0.5 && length <= sliceMs + 0.5),
    lengths.join(),
  );
  assert.ok(
    lengths.slice(10).every(length => length <= 1.5),
    lengths.join(),
  );
});

test('H3: a run that turns out to be long begins again elsewhere while it may', () => {
  const clock = new SteppingClock();
  const budget = new Budget(clock, {});
  clock.stepMs = 0.25;
  let isFree = false;
  budget.moves = () => isFree;
  let slices = 0;
  const run = (): void => {
    for (; slices < 30; slices += 1) {
      isFree = slices === 20;
      while (!budget.look()) continue;
      budget.resume();
    }
  };
  assert.throws(run, ThreadNeeded);
  assert.equal(slices, 20, 'as soon as there is room elsewhere');
  budget.moves = undefined;
  run();
});

test('H3: a step that cannot pause ends a run that may move', () => {
  const clock = new SteppingClock();
  const budget = new Budget(clock, {});
  budget.moves = () => true;
  clock.stepMs = 3 * sliceMs;
  assert.throws(() => budget.look(), ThreadNeeded);
});

test('a run that waits for a processor does not begin again elsewhere', () => {
  let now = 0;
  let worked = 0;
  const budget = new Budget({now: () => now, monotonic: () => now, worked: () => worked}, {});
  budget.moves = () => true;
  for (let looks = 0; looks < 9; looks += 1) {
    now += 3 * sliceMs;
    worked += 0.5;
    assert.equal(budget.look(), true);
  }
  worked += sliceMs;
  assert.throws(() => budget.look(), ThreadNeeded);
});
