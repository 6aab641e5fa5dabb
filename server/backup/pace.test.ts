/** What an archive takes beside a server at work, by the steps of its pace. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {Pace} from './pace.ts';

const pieceCpuMs = 13;

/** Makes pieces for a second, as one thread does; returns the processors that it took of it. */
function taken(processors: number, busyShare: number): number {
  const pace = new Pace(processors, {ms: 0, cpuMs: 0});
  let [ms, cpuMs] = [0, 0];
  while (ms < 1_000) {
    const pauseMs = pace.pauseAt({ms, cpuMs, busyShare});
    assert.ok(pauseMs >= 0 && pauseMs <= 100);
    ms += pauseMs;
    if (pauseMs > 0) continue;
    ms += pieceCpuMs;
    cpuMs += pieceCpuMs;
  }
  return cpuMs / ms;
}

test('beside a busy server it takes an eighth of the processors, on an idle one all it can', () => {
  const near = (found: number, expected: number): void =>
    assert.ok(Math.abs(found - expected) < 0.05, `${found} and not ${expected}`);
  for (const busyShare of [1, 0.8, 0.5]) near(taken(2, busyShare), 0.25);
  for (const [processors, busyShare, expected] of [
    [2, 0.4, 0.4],
    [1, 0.25, 0.5],
    [2, 0, 1],
    [1, 0, 1],
    [16, 1, 1],
  ] as const) {
    near(taken(processors, busyShare), expected);
  }
});

test('of what it did not take it keeps 50 ms, and what it took before is waited for', () => {
  const pace = new Pace(2, {ms: 0, cpuMs: 0});
  assert.equal(pace.pauseAt({ms: 60_000, cpuMs: 10, busyShare: 0}), 0);
  // 200 ms at once, of which 150 are still to be waited for, in pauses of 100.
  let ms = 60_000;
  for (; pace.pauseAt({ms, cpuMs: 210, busyShare: 1}) > 0; ms += 100);
  assert.equal(ms, 60_600);
});

test('on an idle server pieces that end together hold nothing up', () => {
  const pace = new Pace(2, {ms: 0, cpuMs: 0});
  let cpuMs = 0;
  for (let ms = 15; ms < 1_000; ms += 15) {
    for (const later of [0, 0.1]) {
      cpuMs += 14;
      assert.equal(pace.pauseAt({ms: ms + later, cpuMs, busyShare: 0}), 0);
    }
  }
});

test('it goes on at once when nobody is served any more', () => {
  const pace = new Pace(2, {ms: 0, cpuMs: 0});
  assert.equal(pace.pauseAt({ms: 0, cpuMs: 200, busyShare: 1}), 100);
  assert.equal(pace.pauseAt({ms: 100, cpuMs: 200, busyShare: 0}), 0);
});
