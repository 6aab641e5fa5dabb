/** Twelve times `kill -9` under load: no acknowledged write is lost, none is doubled. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runCrashes} from './crash.ts';

/** `make crash` goes on for as many as one likes. */
const cycles = 12;

test('twelve kills lose no acknowledged write and double none', {timeout: 180_000}, async t => {
  const seed = Number(process.env['SEED'] || 1);
  const report = await runCrashes({cycles, seed});
  const {acknowledged, lost, doubled, slowestReopenMillis} = report;
  t.diagnostic(
    `cycles ${cycles} acknowledged ${acknowledged} lost ${lost} doubled ${doubled} ` +
      `slowest reopen ${slowestReopenMillis} ms`,
  );
  assert.deepEqual(report.findings, [], `replay: make crash CYCLES=${cycles} SEED=${seed}`);
  assert.deepEqual(report.surprises, []);
  assert(acknowledged > cycles, 'the writers wrote next to nothing: the run proves nothing');
});
