/** When the log of a member is shortened, and what stays. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {LogPurge, type LogPurgeOptions} from './log-purge.ts';

const options: LogPurgeOptions = {
  entriesMax: 1_000,
  intervalMs: 60_000,
  entriesMin: 64,
  gapEntries: 100,
  passesLaggards: true,
  bytesMax: 1_000_000,
};

function figures(applied: number, bytes = 0): Parameters<LogPurge['isDue']>[1] {
  return {base: 0, applied, bytes, slowest: 50};
}

const cases = [
  // applied  bytes       at ms   due     because
  [1_099, 0, 1, false, 'what stays anyway does not count'],
  [1_100, 0, 1, true, 'there are too many entries'],
  [200, 2_000_000, 1, true, 'a few large entries fill the disk too'],
  [100, 2_000_000, 1, false, 'nothing of it could go'],
  [200, 0, 60_000, true, 'the time has come'],
  [120, 0, 60_000, false, 'the time has come, for too few'],
] as const;

for (const [applied, bytes, now, expected, because] of cases) {
  test(`${applied} entries of ${bytes} bytes at ${now} ms: ${because}`, () => {
    assert.equal(new LogPurge(options, 0).isDue(now, figures(applied, bytes)), expected);
  });
}

test('entries behind a snapshot that somebody takes stay', () => {
  const purge = new LogPurge(options, 0);
  assert.equal(purge.through(800, {...figures(1_000), snapshot: 300}), 300);
  assert.equal(purge.through(800, {...figures(1_000), snapshot: 790}), 700);
  assert.equal(purge.through(800, {...figures(1_000), base: 400, snapshot: 300}), 400);
});

test('the interval begins anew with each time that it ended', () => {
  const purge = new LogPurge(options, 0);
  assert.equal(purge.isDue(60_000, figures(10)), false);
  assert.equal(purge.isDue(60_001, figures(500)), false);
  assert.equal(purge.isDue(120_000, figures(500)), true);
});

test('what is not durable, the gap, and where it is wished a laggard’s entries stay', () => {
  assert.equal(new LogPurge(options, 0).through(800, figures(1_000)), 700);
  assert.equal(new LogPurge(options, 0).through(80, figures(1_000)), 0);
  const waits = new LogPurge({...options, passesLaggards: false}, 0);
  assert.equal(waits.through(800, figures(1_000)), 50);
  assert.equal(waits.through(800, {...figures(1_000), slowest: undefined}), 700);
});
