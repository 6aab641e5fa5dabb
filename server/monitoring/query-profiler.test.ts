/** States of the profiler, what it groups and forgets, and its runs on disk. */
import assert from 'node:assert/strict';
import {readdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {test} from 'node:test';
import {Refusal} from '#server/base/errors.ts';
import {ManualTimers} from '#server/testing/time/manual-timers.ts';
import {profilerWorld} from '#server/testing/worlds/profiler.ts';
import {QueryGroups, type ProfiledExecution} from './query-groups.ts';

const execution: ProfiledExecution = {
  database: 'd',
  language: 'sql',
  text: 'SELECT 1',
  totalMs: 2,
  deserializationMs: 0.5,
  steps: [{name: 'Scan', costMs: 1}],
};

function world() {
  const time = new ManualTimers();
  return {time, ...profilerWorld({clock: time, timers: time})};
}

test('it records when told to, goes on when told again, and ends when told or by itself', () => {
  const {time, profiler} = world();
  assert.equal(profiler.stop(), undefined);
  assert.equal(profiler.results(), undefined);
  profiler.add(execution);
  assert.equal(profiler.start(5).status, 'started');
  profiler.add(execution);
  time.advance(1_000);
  const again = profiler.start(9);
  assert.deepEqual([again.status, again.timeoutSeconds], ['already_recording', 5]);
  assert.deepEqual([profiler.isRecording, profiler.results()?.totalQueries], [true, 1]);
  time.advance(4_000);
  assert.equal(profiler.isRecording, false);
  const {recording, durationMs, totalQueries} = profiler.results() ?? {};
  assert.deepEqual(
    {recording, durationMs, totalQueries},
    {recording: false, durationMs: 5_000, totalQueries: 1},
  );
  assert.equal(profiler.stop(), undefined);
  assert.equal(profiler.start().timeoutSeconds, 60);
  assert.equal(profiler.stop()?.totalQueries, 0);
});

test('seconds out of range are refused', () => {
  const {profiler} = world();
  for (const seconds of [0, -1, 3_601, 1.5, Number.NaN]) {
    assert.throws(() => profiler.start(seconds), Refusal, String(seconds));
  }
  assert.equal(profiler.isRecording, false);
  assert.equal(profiler.start(3_600).status, 'started');
});

test('executions of one statement are one row, the dearest statement first', () => {
  const groups = new QueryGroups();
  for (const totalMs of [1, 3, 2]) groups.add({...execution, text: 'SELECT\n  1 ', totalMs});
  groups.add({...execution, language: 'cypher', totalMs: 50, steps: undefined});
  groups.add({...execution, database: 'a', totalMs: 0.004});
  const [cypher, sql, other] = groups.toJSON();
  assert.deepEqual([cypher?.language, cypher?.executionCount], ['cypher', 1]);
  assert.deepEqual(
    [sql?.queryText, sql?.executionCount, sql?.totalTimeMs, sql?.minTimeMs, sql?.maxTimeMs],
    ['SELECT 1', 3, 6, 1, 3],
  );
  assert.deepEqual([sql?.avgTimeMs, sql?.p99TimeMs, sql?.['engineTotalTimeMs']], [2, 3, 4.5]);
  assert.deepEqual([sql?.['deserializationAvgTimeMs'], sql?.['serializationMaxTimeMs']], [0.5, 0]);
  assert.deepEqual(sql?.steps, [
    {
      name: 'Scan',
      executionCount: 3,
      measuredCount: 3,
      totalCostMs: 3,
      minCostMs: 1,
      maxCostMs: 1,
      avgCostMs: 1,
      p99CostMs: 1,
    },
  ]);
  assert.equal(other?.database, 'a');
  assert.deepEqual([groups.databases(), groups.isMeasured], [['a', 'd'], false]);
});

test('the last ten thousand executions are kept, and a long text is cut', () => {
  const groups = new QueryGroups();
  groups.add({...execution, text: 'x'.repeat(5_000_000)});
  assert.equal(groups.toJSON()[0]?.queryText.length, 4_096 + '...'.length);
  for (let at = 0; at < 10_000; at++) groups.add({...execution, text: `SELECT ${at % 3}`});
  assert.equal(groups.executions, 10_000);
  assert.deepEqual(
    groups
      .toJSON()
      .map(({queryText}) => queryText)
      .toSorted(),
    ['SELECT 0', 'SELECT 1', 'SELECT 2'],
  );
});

test('the newest fifty runs are kept on disk, under their time, and found again', () => {
  const {time, profiler, directory} = world();
  assert.deepEqual(profiler.list(), []);
  for (let at = 0; at < 52; at++) {
    profiler.start();
    profiler.add({...execution, totalMs: at});
    profiler.stop();
    time.advance(1_000);
  }
  writeFileSync(join(directory, 'notes.txt'), 'not a run');
  const runs = profiler.list();
  assert.deepEqual([runs.length, readdirSync(directory).length], [50, 51]);
  assert.ok(runs.every(({fileName}) => /^profiler-run-19700101-\d{6}\.json$/.test(fileName)));
  assert.ok(runs.every(({size}) => size > 100));
  const saved = profiler.load(runs[0]?.fileName ?? '') as {totalQueries: number};
  assert.equal(saved.totalQueries, 1);
  for (const name of ['../x.json', 'nope.json', 'notes.txt', '', 'profiler-run-1.json']) {
    assert.throws(() => profiler.load(name), Refusal, name);
  }
});

test('two runs of one second do not overwrite each other', () => {
  const {profiler} = world();
  for (const totalMs of [1, 2]) {
    profiler.start();
    profiler.add({...execution, totalMs});
    profiler.stop();
  }
  assert.equal(profiler.list().length, 2);
});

test('a reset forgets what was recorded, and not that it records', () => {
  const {profiler} = world();
  profiler.start();
  profiler.add(execution);
  profiler.reset();
  assert.deepEqual([profiler.isRecording, profiler.results()?.totalQueries], [true, 0]);
  profiler.stop();
  profiler.reset();
  assert.equal(profiler.results(), undefined);
});

test('a run that cannot be kept is answered all the same', () => {
  const {profiler, directory} = world();
  writeFileSync(directory, 'a file where the folder should be');
  profiler.start();
  profiler.add(execution);
  assert.equal(profiler.stop()?.totalQueries, 1);
});
