/** Refusals that come late are told one behind the other. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {LateTurns} from './late-turns.ts';

const pace = {gapMs: 5, gapOfAskerMs: 100, waitMsMax: 5_000};

/** Asks at 0 for each of them, and answers when they are told, in that order. */
async function toldAt(
  delayMs: number,
  askers: readonly string[],
  endAt?: number,
): Promise<readonly number[]> {
  const timers = new ManualTimers();
  const turns = new LateTurns({clock: timers, timers, pace});
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
    if (timers.now() === endAt) turns.end();
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
  const ofAll = await toldAt(
    500,
    Array.from({length: 1_100}, (_, at) => String(at)),
  );
  assert.equal(ofAll[1_000], 5_500);
  assert.equal(ofAll[1_099], 5_500);
});

test('who goes away waits no more, and is still counted', async () => {
  const timers = new ManualTimers();
  const turns = new LateTurns({clock: timers, timers, pace});
  const told: unknown[] = [];
  const connection = new AbortController();
  const waits = [
    turns.after(500, 'a', connection.signal).then(() => told.push('gone')),
    turns.after(500, 'a').then(() => told.push(`second at ${timers.now()}`)),
  ];
  connection.abort();
  await turns.after(500, 'a', connection.signal);
  assert.deepEqual(told, ['gone']);
  waits.push(turns.after(500, 'a').then(() => told.push(`fourth at ${timers.now()}`)));
  for (let ms = 0; ms < 800; ms += 1) {
    timers.advance(1);
    await new Promise(resolve => setImmediate(resolve));
  }
  await Promise.all(waits);
  assert.deepEqual(told, ['gone', 'second at 600', 'fourth at 800']);
});

test('who waits when it ends is told at once, and who comes behind that', async () => {
  assert.deepEqual(await toldAt(500, ['a', 'a', 'b'], 505), [500, 505, 505]);
  const timers = new ManualTimers();
  const turns = new LateTurns({clock: timers, timers, pace});
  turns.end();
  await turns.after(500, 'a');
  await turns.after(500, 'a');
});
