/** Who was turned away lately: counted, bounded, forgotten. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {RecentRejections} from './recent-rejections.ts';

test('the same is one line with a count, the latest first, for ten minutes', () => {
  const clock = new ManualTimers();
  const rejections = new RecentRejections(clock);
  const lines = (): readonly string[] =>
    rejections
      .list()
      .map(({remoteAddress, reason, times}) => `${remoteAddress} ${reason} ${times}`);
  rejections.add('10.0.0.1', 'token');
  rejections.add('10.0.0.2', 'name');
  clock.advance(60_000);
  rejections.add('10.0.0.1', 'token');
  assert.deepEqual(lines(), ['10.0.0.1 token 2', '10.0.0.2 name 1']);
  clock.advance(9 * 60_000);
  assert.deepEqual(lines(), ['10.0.0.1 token 2']);
});

test('a flood of others pushes the oldest out', () => {
  const rejections = new RecentRejections(new ManualTimers());
  for (let number = 0; number < 1_000; number++) rejections.add(`10.0.0.${number}`, 'token');
  assert.equal(rejections.list().length, 20);
  assert.equal(rejections.list()[0]?.remoteAddress, '10.0.0.999');
});
