/** Which attempts to go on after a full disk count, and when no more are made. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {ResumeAttempts} from './resume-attempts.ts';

const everyMs = 3_000;

/** Fails so many times, a tenth of a second apart; how many it took until the end, if it came. */
function fails(retriesMax: number, hasRoom: (attempt: number) => boolean, count = 2_000): unknown {
  let now = 0;
  const attempts = new ResumeAttempts(
    {retriesMax, everyMs},
    {now: () => now, monotonic: () => now},
  );
  for (let attempt = 1; attempt <= count; attempt += 1) {
    const reason = attempts.failed(() => hasRoom(attempt));
    if (reason !== undefined) return {attempt, reason};
    now += 100;
  }
  return undefined;
}

test('a disk that is full is waited for without end', () => {
  assert.equal(
    fails(0, () => false),
    undefined,
  );
});

test('attempts that fail although there is room are counted once an interval', () => {
  const ended = fails(2, () => true) as {attempt: number; reason: string};
  assert.equal(ended.attempt, 91, 'three intervals of thirty attempts behind the first write');
  assert.match(ended.reason, /room for two segments.*3 attempts.*svc\.ha\.ratisRestartMaxRetries/);
});

test('intervals without room between them count nothing', () => {
  const ended = fails(2, attempt => attempt > 1_000) as {attempt: number};
  assert.ok(ended.attempt > 1_000 + 2 * 30 && ended.attempt <= 1_000 + 3 * 30, `${ended.attempt}`);
});

test('a log that has gone on begins to count anew', () => {
  let now = 0;
  const clock = {now: () => now, monotonic: () => now};
  const attempts = new ResumeAttempts({retriesMax: 1, everyMs}, clock);
  for (let incident = 0; incident < 5; incident += 1) {
    for (let attempt = 0; attempt < 2; attempt += 1) {
      assert.equal(
        attempts.failed(() => true),
        undefined,
      );
      now += everyMs;
    }
    attempts.succeeded();
  }
});
