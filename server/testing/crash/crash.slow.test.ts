/** Twenty times `kill -9` under load: no acknowledged write is lost, none is doubled. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runCrashes} from './crash.ts';

test('twenty kills lose no acknowledged write and double none', {timeout: 180_000}, async t => {
  const seed = Number(process.env['SEED'] || 1);
  const report = await runCrashes({cycles: 20, seed});
  const {acknowledged, lost, doubled, slowestReopenMillis} = report;
  t.diagnostic(
    `cycles 20 acknowledged ${acknowledged} lost ${lost} doubled ${doubled} ` +
      `slowest reopen ${slowestReopenMillis} ms`,
  );
  assert.deepEqual(report.findings, [], `replay: make crash CYCLES=20 SEED=${seed}`);
  assert.deepEqual(report.surprises, []);
  assert(acknowledged > 20, 'the writers wrote next to nothing: the run proves nothing');
});
