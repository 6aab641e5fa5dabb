/** Requests of users: at once as long as they are few, in fair turns when they are many. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import type {Timers} from '#server/platform/clock.ts';
import {UserTurns} from './user-turns.ts';

/** A clock that stands, and turns that come when they are asked for. */
function world() {
  const waiting: (() => void)[] = [];
  const time = {now: 0};
  const clock = {now: () => time.now, monotonic: () => time.now};
  const timers: Timers = {
    after: () => () => {},
    yield: () => new Promise(resolve => void waiting.push(resolve)),
  };
  const turns = new UserTurns({clock, timers});
  const turn = async (): Promise<void> => {
    waiting.shift()?.();
    await new Promise(resolve => setImmediate(resolve));
  };
  return {turns, time, turn};
}

test('requests that come one at a time never wait', () => {
  const {turns, time} = world();
  for (let count = 0; count < 100; count += 1) {
    assert.equal(turns.next('anna', time.now), undefined);
    time.now += 1.5;
  }
});

test('a user whose requests follow each other for long lets others have their turn', async () => {
  const {turns, time, turn} = world();
  const done: string[] = [];
  const ask = (user: string): void => {
    time.now += 0.1;
    const wait = turns.next(user, time.now);
    if (wait === undefined) done.push(user);
    else void wait.then(() => done.push(user));
  };
  for (let count = 0; count < 50; count += 1) ask('anna');
  const atOnce = done.length;
  assert.ok(atOnce >= 19 && atOnce <= 21, `${atOnce} at once`);
  ask('bert');
  await turn();
  await turn();
  assert.deepEqual(done.slice(atOnce), ['anna', 'bert']);
  for (let count = 0; count < 28; count += 1) await turn();
  assert.equal(done.length, 50);
  ask('anna');
  assert.equal(done.length, 50, 'who comes while others wait comes behind them');
  await turn();
  await turn();
  ask('anna');
  assert.equal(done.length, 53, 'at once again');
});
