/** Rates of counters, on a clock and timers that the test turns. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Meters} from './meters.ts';

test('a counter is told with its rate of the last minute and since the last time', () => {
  let now = 0;
  let turn = (): void => assert.fail('no timer is set');
  let cancelled = 0;
  const counts = new Map<string, number>();
  const meters = new Meters({
    clock: {monotonic: () => now},
    timers: {
      after: (ms, run) => {
        assert.equal(ms, 10_000);
        turn = run;
        return () => cancelled++;
      },
    },
    counts: () => new Map(counts),
  });
  const pass = (seconds: number, perSecond: number): void => {
    for (let second = 0; second < seconds; second++) {
      counts.set('http.query', (counts.get('http.query') ?? 0) + perSecond);
      now += 1_000;
      if (now % 10_000 === 0) turn();
    }
  };
  assert.deepEqual(meters.read(), {});
  pass(30, 2);
  const at30 = {count: 60, reqPerMinLastMinute: 120, reqPerMinSinceLastTime: 120};
  assert.deepEqual(meters.read()['http.query'], at30);
  assert.equal(meters.read()['http.query']?.reqPerMinSinceLastTime, 0, 'no time has passed');
  pass(120, 1);
  const at150 = {count: 180, reqPerMinLastMinute: 60, reqPerMinSinceLastTime: 60};
  assert.deepEqual(meters.read()['http.query'], at150);
  pass(60, 0);
  assert.equal(meters.read()['http.query']?.reqPerMinLastMinute, 0);
  meters.end();
  assert.equal(cancelled, 1);
});
