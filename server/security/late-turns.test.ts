/** Refusals that come late are told one behind the other. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {LateTurns} from './late-turns.ts';

/** Asks at 0 for each of them, and answers when they are told, in that order. */
async function toldAt(delayMs: number, askers: readonly string[]): Promise<readonly number[]> {
  const timers = new ManualTimers();
  const turns = new LateTurns({clock: timers, timers});
  const told: number[] = [];
  let left = askers.length;
  for (const [place, asker] of askers.entries()) {
    void turns.after(delayMs, asker).then(() => {
      told[place] = timers.now();
      left -= 1;
    });
  }
  while (left > 0) {
    await new Promise(resolve => setImmediate(resolve));
    timers.advance(1);
  }
  return told;
}

test('those of one moment are kept apart, one that comes alone has its own delay', async () => {
  assert.deepEqual(await toldAt(500, ['a']), [500]);
  assert.deepEqual(await toldAt(500, ['', 'a', 'b']), [500, 505, 510]);
});

test('who asks much is told seldom, and nobody waits for him', async () => {
  assert.deepEqual(await toldAt(500, ['a', 'a', 'a', 'b']), [500, 600, 700, 505]);
});

test('however many ask, none of them waits for more than some seconds and its turn', async () => {
  const told = await toldAt(
    500,
    Array.from({length: 60}, () => 'a'),
  );
  assert.equal(told[45], 5_000);
  assert.deepEqual(told.slice(46, 49), [5_005, 5_010, 5_015]);
});
