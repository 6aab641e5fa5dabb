/** Five `kill -9` amid backups, restores and imports: everything is whole, nothing is left. */
import assert from 'node:assert/strict';
import {test} from 'node:test';
import {runBackupCrashes} from './backup-crash.ts';

test('five kills leave whole databases and no litter', {timeout: 240_000}, async t => {
  const seed = Number(process.env['SEED'] || 1);
  const report = await runBackupCrashes({cycles: 5, seed});
  const {backups, restores, imports, acknowledged} = report;
  t.diagnostic(
    `backups ${backups} restores ${restores} imports ${imports} acknowledged ${acknowledged}`,
  );
  assert.deepEqual(report.findings, [], `replay: make crash PROFILE=backup CYCLES=5 SEED=${seed}`);
  assert.ok(acknowledged > 5, 'hardly anything was written: the run proves nothing');
});
